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
        words_(shape.vocabulary / t_ + (shape.vocabulary % t_ != 0 ? 1 : 0)) {
    (void)checked_mul(state_, 8);  // what is a few times as large is a number, too
  }

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

  [[nodiscard]] std::int64_t width() const { return h_; }
  [[nodiscard]] std::int64_t columns() const { return h_ / t_; }
  [[nodiscard]] Bytes state() const { return state_; }
  [[nodiscard]] Bytes part() const { return state_ / h_ * columns(); }
  [[nodiscard]] Bytes square() const {
    return checked_mul(h_, checked_mul(columns(), e_));
  }
  [[nodiscard]] Bytes normalisation() const { return 2 * h_ * e_; }
  [[nodiscard]] Flops product_flops() const {
    return 2.0 * static_cast<double>(tokens_) * static_cast<double>(h_) *
           static_cast<double>(columns());
  }
  /// Of tokens with all tokens of their sequence.
  [[nodiscard]] Flops mixing_flops() const {
    return 2.0 * static_cast<double>(tokens_) * static_cast<double>(shape_.sequence) *
           static_cast<double>(columns());
  }
  [[nodiscard]] Bytes attention_matrix() const {
    return checked_mul(checked_mul(sequences_ * (shape_.heads / t_), e_),
                       checked_mul(shape_.sequence, shape_.sequence));
  }
  /// A 32-bit number for each token and head.
  [[nodiscard]] Bytes attention_sums() const { return tokens_ * (shape_.heads / t_) * 4; }
  /// Of a state over the tensor group.
  [[nodiscard]] Bytes reduced() const { return t_ > 1 ? state_ : 0; }

 private:
  const TransformerShape& shape_;
  std::int64_t t_;
  Bytes e_;
  std::int64_t tokens_, sequences_, h_;
  Bytes state_;  ///< of all tokens
  std::int64_t words_;
};

/// A block, operator by operator. Of the width d a process has w columns in attention and
/// 4 w in the perceptron.
class BlockWriter {
 public:
  BlockWriter(const Decoder& sizes, bool fused)
      : sizes_(sizes),
        fused_(fused),
        layer_("block", checked_add(checked_mul(12 * sizes.width(), sizes.columns()),
                                    7 * sizes.columns() + 6 * sizes.width())) {
    const Bytes state = sizes.state(), part = sizes.part();
    layer_.states(state, state, state, state);
    n1_ = layer_.tensor("normalised 1", state);
    qkv_ = layer_.tensor("queries, keys, values", 3 * part);
    context_ = layer_.tensor("context", part);
    attended_ = layer_.tensor("attention", state);
    middle_ = layer_.tensor("middle", state);
    n2_ = layer_.tensor("normalised 2", state);
    wide1_ = layer_.tensor("perceptron 1", 4 * part);
    active_ = layer_.tensor("activated", 4 * part);
    wide2_ = layer_.tensor("perceptron 2", state);
    d_context_ = layer_.tensor("gradient of context", part);
    d_qkv_ = layer_.tensor("gradient of queries, keys, values", 3 * part);
    const Bytes weights = fused ? sizes.attention_sums() : sizes.attention_matrix();
    probabilities_ = layer_.tensor("probabilities", weights);
  }

  Layer write() {
    forward();
    backward();
    return layer_.take();
  }

 private:
  void forward() {
    layer_.forward("normalise 1", {kInput}, {n1_}, 0, norm_);
    layer_.forward("queries, keys, values", {n1_}, {qkv_}, 3 * product_, 3 * square_);
    attend();
    layer_.forward("project", {context_}, {attended_}, product_, square_).reduced =
        sizes_.reduced();
    layer_.forward("add 1", {kInput, attended_}, {middle_});
    layer_.forward("normalise 2", {middle_}, {n2_}, 0, norm_);
    layer_.forward("perceptron 1", {n2_}, {wide1_}, 4 * product_, 4 * square_);
    layer_.forward("activate", {wide1_}, {active_});
    layer_.forward("perceptron 2", {active_}, {wide2_}, 4 * product_, 4 * square_)
        .reduced = sizes_.reduced();
    layer_.forward("add 2", {middle_, wide2_}, {kOutput});
  }

  void attend() {
    if (fused_) {
      layer_.forward("attend", {qkv_}, {context_, probabilities_}, 2 * mixing_);
      return;
    }
    const auto scores = layer_.tensor("scores", sizes_.attention_matrix());
    layer_.forward("scores", {qkv_}, {scores}, mixing_);
    layer_.forward("softmax", {scores}, {probabilities_});
    layer_.forward("mix", {probabilities_, qkv_}, {context_}, mixing_);
  }

  void backward() {
    const Bytes state = sizes_.state(), part = sizes_.part();
    const auto d_active = layer_.tensor("gradient of activated", 4 * part);
    const auto d_wide1 = layer_.tensor("gradient of perceptron 1", 4 * part);
    const auto d_n2 = layer_.tensor("gradient of normalised 2", state);
    const auto d_middle = layer_.tensor("gradient of middle", state);
    const auto d_n1 = layer_.tensor("gradient of normalised 1", state);
    layer_.backward_product("perceptron 2", active_, kOutputGradient, d_active,
                            4 * product_, 4 * square_);
    layer_.backward("activate", {wide1_, d_active}, {d_wide1});
    layer_.backward_product("perceptron 1", n2_, d_wide1, d_n2, 4 * product_, 4 * square_)
        .reduced = sizes_.reduced();
    layer_.backward("normalise 2, add 2", {middle_, d_n2, kOutputGradient}, {d_middle}, 0,
                    3 * norm_);
    layer_.backward_product("project", context_, d_middle, d_context_, product_, square_);
    attend_backward();
    layer_
        .backward_product("queries, keys, values", n1_, d_qkv_, d_n1, 3 * product_,
                          3 * square_)
        .reduced = sizes_.reduced();
    layer_.backward("normalise 1, add 1", {kInput, d_n1, d_middle}, {kInputGradient}, 0,
                    3 * norm_);
  }

  void attend_backward() {
    if (fused_) {
      layer_.backward("attend", {qkv_, context_, probabilities_, d_context_}, {d_qkv_},
                      5 * mixing_);
      return;
    }
    const Bytes matrix = sizes_.attention_matrix();
    const auto d_probabilities = layer_.tensor("gradient of probabilities", matrix);
    const auto d_scores = layer_.tensor("gradient of scores", matrix);
    layer_.backward("mix: probabilities", {qkv_, d_context_}, {d_probabilities}, mixing_);
    layer_.backward("softmax", {probabilities_, d_probabilities}, {d_scores});
    layer_.backward("mix: values, scores", {qkv_, probabilities_, d_context_, d_scores},
                    {d_qkv_}, 3 * mixing_);
  }

  const Decoder& sizes_;
  bool fused_;
  LayerWriter layer_;
  Flops product_ = sizes_.product_flops();  ///< of d columns by w
  Flops mixing_ = sizes_.mixing_flops();
  Bytes square_ = sizes_.square();       ///< of a weight of d x w
  Bytes norm_ = sizes_.normalisation();  ///< scale and bias
  std::int32_t n1_, qkv_, context_, attended_, middle_, n2_, wide1_, active_, wide2_;
  std::int32_t d_context_, d_qkv_, probabilities_;
};

Layer Decoder::block() const {
  return BlockWriter(*this, shape_.fused_attention).write();
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
