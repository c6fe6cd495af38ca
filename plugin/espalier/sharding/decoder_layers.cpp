#include "espalier/sharding/decoder_layers.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/model/error.h"

namespace espalier {

namespace {

constexpr Bytes kTokenBytes = 8;
/// Writes a layer: tensors by name, operators with what they read and write.
class LayerWriter {
 public:
  LayerWriter(std::string name, std::int64_t parameters) {
    layer_.name = std::move(name);
    layer_.parameters = parameters;
    layer_.tensors.resize(kInputGradient + 1);
    layer_.tensors[kInput].name = "input";
    layer_.tensors[kOutput].name = "output";
    layer_.tensors[kOutputGradient].name = "gradient of output";
    layer_.tensors[kInputGradient].name = "gradient of input";
  }
  void states(Bytes input, Bytes output, Bytes input_gradient, Bytes output_gradient) {
    layer_.tensors[kInput].size = input;
    layer_.tensors[kOutput].size = output;
    layer_.tensors[kInputGradient].size = input_gradient;
    layer_.tensors[kOutputGradient].size = output_gradient;
  }
  std::int32_t tensor(std::string name, Bytes size) {
    layer_.tensors.push_back({std::move(name), size});
    return static_cast<std::int32_t>(layer_.tensors.size()) - 1;
  }
  using Tensors = std::vector<std::int32_t>;
  LayerOperator& forward(std::string name, Tensors reads, Tensors writes, Flops flops = 0,
                         Bytes parameters = 0) {
    return layer_.forward.emplace_back(LayerOperator{
        std::move(name), std::move(reads), std::move(writes), flops, parameters, 0, 0});
  }
  LayerOperator& backward(std::string name, Tensors reads, Tensors writes,
                          Flops flops = 0, Bytes parameters = 0) {
    return layer_.backward.emplace_back(LayerOperator{
        std::move(name), std::move(reads), std::move(writes), flops, parameters, 0, 0});
  }
  /// A product with a weight: its gradient, and that of its input.
  LayerOperator& backward_product(const std::string& name, std::int32_t input,
                                  std::int32_t gradient, std::int32_t input_gradient,
                                  Flops flops, Bytes weight) {
    backward(name + ": weight", {input, gradient}, {}, flops, 2 * weight);
    return backward(name + ": input", {gradient}, {input_gradient}, flops, weight);
  }
  [[nodiscard]] Layer take() { return std::move(layer_); }

 private:
  Layer layer_;
};

/// Sizes that all layers are made of.
class Decoder {
 public:
  Decoder(const TransformerShape& shape, const DecoderSplit& split)
      : shape_(shape),
        t_(split.tensor),
        e_(split.element),
        tokens_(checked_mul(split.micro_batch, shape.sequence)),
        sequences_(split.micro_batch),
        h_(shape.width),
        state_(checked_mul(checked_mul(tokens_, h_), e_)),
        words_(shape.vocabulary / t_ + (shape.vocabulary % t_ != 0 ? 1 : 0)) {}

  [[nodiscard]] std::int64_t words() const { return words_; }

  [[nodiscard]] Layer embedding() const {
    const std::int64_t parameters =
        checked_add(checked_mul(words_, h_), checked_mul(shape_.sequence, h_));
    LayerWriter layer("embedding", parameters);
    layer.states(tokens_ * kTokenBytes, state_, 0, state_);
    layer.forward("embed", {kInput}, {kOutput}, 0, 2 * state_).reduced = reduced();
    layer.backward("embed: weight", {kInput, kOutputGradient}, {}, 0, 2 * state_);
    return layer.take();
  }

  [[nodiscard]] Layer head() const {
    const Bytes weight = checked_mul(checked_mul(words_, h_), e_);
    const Flops flops = 2.0 * static_cast<double>(tokens_) * static_cast<double>(h_) *
                        static_cast<double>(words_);
    LayerWriter layer("head", checked_add(checked_mul(words_, h_), 2 * h_));
    layer.states(state_, 0, state_, 0);
    const Bytes scores = checked_mul(checked_mul(tokens_, words_), e_);
    const auto labels = layer.tensor("labels", tokens_ * kTokenBytes);
    const auto normal = layer.tensor("normalised", state_);
    const auto logits = layer.tensor("logits", scores);
    const auto d_logits = layer.tensor("gradient of logits", scores);
    const auto d_normal = layer.tensor("gradient of normalised", state_);
    layer.forward("labels", {}, {labels});
    layer.forward("normalise", {kInput}, {normal}, 0, 2 * h_ * e_);
    layer.forward("logits", {normal}, {logits}, flops, weight);
    layer.forward("loss", {logits, labels}, {kOutput}).reduced =
        t_ > 1 ? 3 * 4 * tokens_ : 0;
    layer.backward("loss", {logits, labels}, {d_logits});
    layer.backward_product("logits", normal, d_logits, d_normal, flops, weight).reduced =
        reduced();
    layer.backward("normalise", {kInput, d_normal}, {kInputGradient}, 0, 6 * h_ * e_);
    return layer.take();
  }

  [[nodiscard]] Layer block() const;

 private:
  [[nodiscard]] Bytes reduced() const { return t_ > 1 ? state_ : 0; }

  const TransformerShape& shape_;
  std::int64_t t_;
  Bytes e_;
  std::int64_t tokens_, sequences_, h_;
  Bytes state_;  ///< of all tokens
  std::int64_t words_;
};

Layer Decoder::block() const {
  const std::int64_t wide = h_ / t_;  // columns of attention; the perceptron has 4 times
  const Bytes part = state_ / h_ * wide;
  const Bytes square = checked_mul(h_, checked_mul(wide, e_));
  const auto flops_of = [&](double columns) {
    return 2.0 * static_cast<double>(tokens_) * static_cast<double>(h_) * columns;
  };
  const auto w = static_cast<double>(wide);
  const Flops mixing =
      2.0 * static_cast<double>(tokens_) * static_cast<double>(shape_.sequence) * w;
  LayerWriter layer("block", checked_add(checked_mul(12 * h_, wide), 7 * wide + 6 * h_));
  layer.states(state_, state_, state_, state_);
  const Bytes norm = 2 * h_ * e_;

  const auto n1 = layer.tensor("normalised 1", state_);
  const auto qkv = layer.tensor("queries, keys, values", 3 * part);
  const auto context = layer.tensor("context", part);
  const auto attended = layer.tensor("attention", state_);
  const auto middle = layer.tensor("middle", state_);
  const auto n2 = layer.tensor("normalised 2", state_);
  const auto wide1 = layer.tensor("perceptron 1", 4 * part);
  const auto active = layer.tensor("activated", 4 * part);
  const auto wide2 = layer.tensor("perceptron 2", state_);
  const auto d_active = layer.tensor("gradient of activated", 4 * part);
  const auto d_wide1 = layer.tensor("gradient of perceptron 1", 4 * part);
  const auto d_n2 = layer.tensor("gradient of normalised 2", state_);
  const auto d_middle = layer.tensor("gradient of middle", state_);
  const auto d_context = layer.tensor("gradient of context", part);
  const auto d_qkv = layer.tensor("gradient of queries, keys, values", 3 * part);
  const auto d_n1 = layer.tensor("gradient of normalised 1", state_);

  layer.forward("normalise 1", {kInput}, {n1}, 0, norm);
  layer.forward("queries, keys, values", {n1}, {qkv}, flops_of(3 * w), 3 * square);
  std::int32_t probabilities = 0, d_probabilities = 0, d_scores = 0;
  if (shape_.fused_attention) {
    probabilities = layer.tensor("sums of attention", tokens_ * shape_.heads / t_ * 4);
    layer.forward("attend", {qkv}, {context, probabilities}, 2 * mixing);
  } else {
    const Bytes matrix = checked_mul(checked_mul(sequences_ * (shape_.heads / t_), e_),
                                     checked_mul(shape_.sequence, shape_.sequence));
    const auto scores = layer.tensor("scores", matrix);
    probabilities = layer.tensor("probabilities", matrix);
    d_probabilities = layer.tensor("gradient of probabilities", matrix);
    d_scores = layer.tensor("gradient of scores", matrix);
    layer.forward("scores", {qkv}, {scores}, mixing);
    layer.forward("softmax", {scores}, {probabilities});
    layer.forward("mix", {probabilities, qkv}, {context}, mixing);
  }
  layer.forward("project", {context}, {attended}, flops_of(w), square).reduced =
      reduced();
  layer.forward("add 1", {kInput, attended}, {middle});
  layer.forward("normalise 2", {middle}, {n2}, 0, norm);
  layer.forward("perceptron 1", {n2}, {wide1}, flops_of(4 * w), 4 * square);
  layer.forward("activate", {wide1}, {active});
  layer.forward("perceptron 2", {active}, {wide2}, flops_of(4 * w), 4 * square).reduced =
      reduced();
  layer.forward("add 2", {middle, wide2}, {kOutput});

  layer.backward_product("perceptron 2", active, kOutputGradient, d_active,
                         flops_of(4 * w), 4 * square);
  layer.backward("activate", {wide1, d_active}, {d_wide1});
  layer.backward_product("perceptron 1", n2, d_wide1, d_n2, flops_of(4 * w), 4 * square)
      .reduced = reduced();
  layer.backward("normalise 2, add 2", {middle, d_n2, kOutputGradient}, {d_middle}, 0,
                 3 * norm);
  layer.backward_product("project", context, d_middle, d_context, flops_of(w), square);
  if (shape_.fused_attention) {
    layer.backward("attend", {qkv, context, probabilities, d_context}, {d_qkv},
                   5 * mixing);
  } else {
    layer.backward("mix: probabilities", {qkv, d_context}, {d_probabilities}, mixing);
    layer.backward("softmax", {probabilities, d_probabilities}, {d_scores});
    layer.backward("mix: values, scores", {qkv, probabilities, d_context, d_scores},
                   {d_qkv}, 3 * mixing);
  }
  layer
      .backward_product("queries, keys, values", n1, d_qkv, d_n1, flops_of(3 * w),
                        3 * square)
      .reduced = reduced();
  layer.backward("normalise 1, add 1", {kInput, d_n1, d_middle}, {kInputGradient}, 0,
                 3 * norm);
  return layer.take();
}

}  // namespace

std::int64_t parameters_of(const TransformerShape& shape) {
  for (const auto& [what, value] :
       {std::pair("layers", shape.layers), std::pair("width", shape.width),
        std::pair("heads", shape.heads), std::pair("sequence", shape.sequence),
        std::pair("vocabulary", shape.vocabulary)})
    if (value < 1) throw InvalidInput(fmt::format("{} = {}", what, value));
  if (shape.width % shape.heads != 0)
    throw InvalidInput(
        fmt::format("{} heads do not divide a width of {}", shape.heads, shape.width));
  const std::int64_t d = shape.width;
  const std::int64_t block =
      checked_add(checked_mul(12, checked_mul(d, d)), checked_mul(13, d));
  const std::int64_t embedded =
      checked_mul(checked_add(checked_add(shape.vocabulary, shape.sequence), 2), d);
  return checked_add(checked_mul(shape.layers, block), embedded);
}

std::string why_not_split(const TransformerShape& shape, std::int32_t tensor) {
  if (shape.heads % tensor == 0) return {};
  return fmt::format("{} processes do not divide {} heads", tensor, shape.heads);
}

LayeredModel decoder_layers(const TransformerShape& shape, const DecoderSplit& split) {
  const Decoder decoder(shape, split);
  LayeredModel model;
  model.kinds = {decoder.embedding(), decoder.block(), decoder.head()};
  model.layers.assign(static_cast<std::size_t>(shape.layers) + 2, 1);
  model.layers.front() = 0;
  model.layers.back() = 2;
  model.ties = {{0, model.size() - 1, checked_mul(decoder.words(), shape.width)}};
  check(model);
  return model;
}

}  // namespace espalier
