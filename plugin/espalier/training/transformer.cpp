#include "espalier/training/transformer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {
namespace {

struct NamedShape {
  std::string_view name;
  std::int64_t layers, width, heads, sequence, vocabulary;
};
constexpr std::array kNamed = {NamedShape{"gpt2", 12, 768, 12, 1024, 50257},
                               NamedShape{"gpt2-medium", 24, 1024, 16, 1024, 50257},
                               NamedShape{"gpt2-large", 36, 1280, 20, 1024, 50257},
                               NamedShape{"gpt2-xl", 48, 1600, 25, 1024, 50257},
                               NamedShape{"tiny", 2, 64, 4, 32, 256}};

void check(const TransformerShape& shape) {
  for (const auto& [what, value] :
       {std::pair("layers", shape.layers), std::pair("width", shape.width),
        std::pair("heads", shape.heads), std::pair("sequence", shape.sequence),
        std::pair("vocabulary", shape.vocabulary), std::pair("batch", shape.batch)}) {
    if (value < 1)
      throw InvalidInput(
          fmt::format("a transformer's {}: {} is not 1 or more", what, value));
  }
  if (shape.width % shape.heads != 0)
    throw InvalidInput(
        fmt::format("a transformer whose width {} is no multiple of its "
                    "heads {}",
                    shape.width, shape.heads));
  if (!(shape.dropout >= 0 && shape.dropout < 1))
    throw InvalidInput(fmt::format("a transformer's dropout is from 0 to below 1, not {}",
                                   shape.dropout));
}

class Builder {
 public:
  explicit Builder(const TransformerShape& shape)
      : s_(shape), rows_(checked_mul(shape.batch, shape.sequence)) {}

  OperatorGraph build() {
    const std::int64_t d = s_.width;
    const TensorId embedding = parameter("embedding", {s_.vocabulary, d});
    const TensorId tokens = out_.add_tensor({.name = "tokens",
                                             .type = ElementType::kInt64,
                                             .shape = {s_.batch, s_.sequence},
                                             .role = TensorRole::kInput});
    const Shape wide = {s_.batch, s_.sequence, d};
    TensorId x = op("Gather", "embed", {embedding, tokens}, wide);
    x = op("Add", "place", {x, parameter("positions", {s_.sequence, d})}, wide);
    x = reshape("rows", x, {rows_, d});
    for (std::int64_t i = 0; i < s_.layers; ++i) x = block(fmt::format("block{}/", i), x);
    x = normalise("final/", x);
    x = op("Gemm", "scores", {x, embedding}, {rows_, s_.vocabulary},
           {{"transB", std::int64_t{1}}});
    out_.keep(x);
    return std::move(out_).build();
  }

 private:
  using Attributes = std::map<std::string, AttributeValue, std::less<>>;

  TensorId parameter(const std::string& name, Shape shape) {
    return out_.add_tensor({.name = name,
                            .type = s_.type,
                            .shape = std::move(shape),
                            .role = TensorRole::kParameter,
                            .kept = true});
  }

  TensorId op(const std::string& type, const std::string& name,
              const std::vector<TensorId>& inputs, Shape shape,
              Attributes attributes = {}) {
    const TensorId y = out_.add_tensor(
        {.name = name + "/y", .type = s_.type, .shape = std::move(shape)});
    Operator added{.name = name, .type = type, .outputs = {y}};
    added.inputs.assign(inputs.begin(), inputs.end());
    added.attributes = std::move(attributes);
    (void)out_.add_operator(std::move(added));
    return y;
  }

  TensorId reshape(const std::string& name, TensorId x, Shape shape) {
    const TensorId target =
        out_.add_tensor({.name = name + "/shape",
                         .type = ElementType::kInt64,
                         .shape = {static_cast<std::int64_t>(shape.size())},
                         .role = TensorRole::kConstant,
                         .kept = true,
                         .value = TensorValue::of(shape)});
    return op("Reshape", name, {x, target}, std::move(shape));
  }

  TensorId normalise(const std::string& at, TensorId x) {
    const TensorId scale = parameter(at + "norm/scale", {s_.width});
    const TensorId bias = parameter(at + "norm/bias", {s_.width});
    return op("LayerNormalization", at + "norm", {x, scale, bias}, {rows_, s_.width},
              {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5}});
  }

  TensorId linear(const std::string& name, TensorId x, std::int64_t from,
                  std::int64_t to) {
    const TensorId weight = parameter(name + "/weight", {from, to});
    const TensorId bias = parameter(name + "/bias", {to});
    return op("Gemm", name, {x, weight, bias}, {rows_, to});
  }

  TensorId dropout(const std::string& name, TensorId x, const Shape& shape) {
    if (s_.dropout == 0) return x;
    return op("Dropout", name, {x}, shape, {{"ratio", s_.dropout}});
  }

  // Heads apart: (b, h, s, d/h), or (b, h, d/h, s).
  TensorId heads(const std::string& name, TensorId x, bool transposed) {
    const std::int64_t each = s_.width / s_.heads;
    x = reshape(name + "/apart", x, {s_.batch, s_.sequence, s_.heads, each});
    if (transposed)
      return op("Transpose", name, {x}, {s_.batch, s_.heads, each, s_.sequence},
                {{"perm", std::vector<std::int64_t>{0, 2, 3, 1}}});
    return op("Transpose", name, {x}, {s_.batch, s_.heads, s_.sequence, each},
              {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  }

  // Queries, keys and values, each (b s, d).
  std::vector<TensorId> split(const std::string& at, TensorId x) {
    std::vector<TensorId> parts;
    Operator added{.name = at + "split", .type = "Split", .inputs = {x}};
    for (const char* part : {"q", "k", "v"}) {
      parts.push_back(out_.add_tensor(
          {.name = at + part, .type = s_.type, .shape = {rows_, s_.width}}));
      added.outputs.emplace_back(parts.back());
    }
    added.attributes["axis"] = std::int64_t{1};
    (void)out_.add_operator(std::move(added));
    return parts;
  }

  TensorId attention(const std::string& at, TensorId x) {
    const std::int64_t each = s_.width / s_.heads;
    const double scale = 1 / std::sqrt(static_cast<double>(each));
    const Shape values = {s_.batch, s_.heads, s_.sequence, each};
    const Shape scores = {s_.batch, s_.heads, s_.sequence, s_.sequence};
    const auto parts = split(at, linear(at + "qkv", x, s_.width, 3 * s_.width));
    const TensorId q = heads(at + "queries", parts[0], false);
    const TensorId k = heads(at + "keys", parts[1], !s_.fused_attention);
    const TensorId v = heads(at + "values", parts[2], false);
    TensorId y{};
    if (s_.fused_attention) {
      y = op("Attention", at + "attention", {q, k, v}, values,
             {{"scale", scale}, {"causal", std::int64_t{1}}});
    } else {
      y = op("MatMul", at + "products", {q, k}, scores);
      y = op("CausalSoftmax", at + "softmax", {y}, scores, {{"scale", scale}});
      y = dropout(at + "drop_scores", y, scores);
      y = op("MatMul", at + "mix", {y, v}, values);
    }
    y = op("Transpose", at + "together", {y}, {s_.batch, s_.sequence, s_.heads, each},
           {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    y = reshape(at + "joined", y, {rows_, s_.width});
    return linear(at + "project", y, s_.width, s_.width);
  }

  TensorId block(const std::string& at, TensorId x) {
    const std::int64_t d = s_.width;
    const Shape shape = {rows_, d};
    TensorId y = attention(at, normalise(at + "attention_", x));
    x = op("Add", at + "attended", {x, dropout(at + "drop_attention", y, shape)}, shape);
    y = linear(at + "widen", normalise(at + "mlp_", x), d, 4 * d);
    y = op("Gelu", at + "gelu", {y}, {rows_, 4 * d});
    y = linear(at + "narrow", y, 4 * d, d);
    return op("Add", at + "out", {x, dropout(at + "drop_mlp", y, shape)}, shape);
  }

  const TransformerShape& s_;
  std::int64_t rows_;
  OperatorGraphBuilder out_;
};

template <class Number>
bool parse(std::string_view text, Number& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end;
}

[[noreturn]] void refuse(std::string_view item) {
  throw InvalidInput(
      fmt::format("'{}' is neither the name of a transformer (gpt2, gpt2-medium, "
                  "gpt2-large, gpt2-xl, tiny) nor NAME=N",
                  item));
}

// item: NAME=N
void set(TransformerShape& shape, std::string_view item) {
  const std::size_t equals = item.find('=');
  if (equals == std::string_view::npos) refuse(item);
  const std::string_view name = item.substr(0, equals), value = item.substr(equals + 1);
  if (name == "dropout") {
    if (!parse(value, shape.dropout))
      throw InvalidInput(
          fmt::format("a transformer's dropout: '{}' is not a number", value));
    return;
  }
  for (const auto& [known, member] :
       {std::pair("layers", &TransformerShape::layers),
        std::pair("width", &TransformerShape::width),
        std::pair("heads", &TransformerShape::heads),
        std::pair("sequence", &TransformerShape::sequence),
        std::pair("vocabulary", &TransformerShape::vocabulary)}) {
    if (name != known) continue;
    if (!parse(value, shape.*member))
      throw InvalidInput(
          fmt::format("a transformer's {}: '{}' is not a whole number", name, value));
    return;
  }
  throw InvalidInput(
      fmt::format("a transformer has no '{}'; it has layers, width, "
                  "heads, sequence, vocabulary and dropout",
                  name));
}

}  // namespace

TransformerShape transformer_shape(std::string_view text) {
  TransformerShape shape;
  for (const NamedShape& each : kNamed) {
    if (each.name != text) continue;
    shape.layers = each.layers, shape.width = each.width, shape.heads = each.heads;
    shape.sequence = each.sequence, shape.vocabulary = each.vocabulary;
    return shape;
  }
  std::vector<std::string_view> names;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    set(shape, item);
    const std::string_view name = item.substr(0, item.find('='));
    if (std::ranges::find(names, name) != names.end())
      throw InvalidInput(fmt::format("a transformer's '{}' is given twice", name));
    names.push_back(name);
  }
  check(shape);
  return shape;
}

OperatorGraph transformer(const TransformerShape& shape) {
  check(shape);
  return Builder(shape).build();
}

}  // namespace espalier
