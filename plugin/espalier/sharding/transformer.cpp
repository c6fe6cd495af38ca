#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sharding/shard_model.h"
#include "espalier/training/transformer.h"

namespace espalier {
namespace {

// Those that are large enough for a mesh.
constexpr std::array<std::string_view, 4> kKnown = {"gpt2", "gpt2-medium", "gpt2-large",
                                                    "gpt2-xl"};

void check(std::int64_t value, const char* what) {
  constexpr std::int64_t kMost = 1 << 24;
  if (value < 1 || value > kMost)
    throw InvalidInput(fmt::format("{} {} are not from 1 to {}", value, what, kMost));
}

}  // namespace

Transformer transformer_named(std::string_view name) {
  std::string names;
  for (const std::string_view known : kKnown) {
    if (known == name) {
      const TransformerShape shape = transformer_shape(name);
      return {shape.layers, shape.width, shape.heads, shape.vocabulary, shape.sequence};
    }
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
  }
  throw InvalidInput(fmt::format("the transformer '{}' is none of {}", name, names));
}

ShardedModel sharded_transformer(const Transformer& transformer,
                                 ShardingSetting setting) {
  check(transformer.layers, "layers");
  check(transformer.width, "features");
  check(transformer.heads, "heads");
  check(transformer.vocabulary, "words");
  check(transformer.tokens_a_sequence, "tokens a sequence");
  check(setting.sequences, "sequences");
  setting.tokens_a_sequence = transformer.tokens_a_sequence;
  ShardedModel model;
  model.setting = setting;
  const std::int64_t h = transformer.width;
  const double tokens = double(setting.sequences) * double(setting.tokens_a_sequence);
  const auto norm = [&] {
    return local_operator(setting, "norm", h, 0, 24 * tokens * double(h));
  };
  // Scores and their product with the values, forwards and twice backwards.
  const double attention = 12 * tokens * double(setting.tokens_a_sequence) * double(h);
  model.parts = {
      {{norm(), linear_operator(setting, "qkv", h, 3 * h),
        local_operator(setting, "attention", 3 * h, transformer.heads, attention),
        linear_operator(setting, "projection", h, h)},
       true},
      {{norm(), linear_operator(setting, "expand", h, 4 * h),
        linear_operator(setting, "contract", 4 * h, h)},
       true},
      {{norm(), linear_operator(setting, "vocabulary", h, transformer.vocabulary)},
       false}};
  for (std::int64_t layer = 0; layer < transformer.layers; ++layer) {
    model.sequence.push_back(0);
    model.sequence.push_back(1);
  }
  model.sequence.push_back(2);
  model.out_width = transformer.vocabulary;
  return model;
}

}  // namespace espalier
