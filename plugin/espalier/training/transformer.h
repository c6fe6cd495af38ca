#pragma once

#include <cstdint>
#include <string_view>

#include "espalier/model/operator_graph.h"

namespace espalier {

/// A decoder of L blocks, as GPT-2's.
struct TransformerShape {
  std::int64_t layers = 12, width = 768, heads = 12, sequence = 1024, vocabulary = 50257;
  std::int64_t batch = 1;
  ElementType type = ElementType::kFloat32;
  double dropout = 0.1;  ///< 0: no such operators
  /// One operator Attention that never holds scores, instead of the product of queries
  /// and keys, CausalSoftmax, Dropout and the product with the values.
  bool fused_attention = false;
};

/// A shape by name: "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "tiny"; or a list, of
/// what differs from gpt2, "layers=6,width=512,heads=8,sequence=128,vocabulary=1000", or
/// from what there is to drop: "dropout=0".
/// @throws InvalidInput for anything else
[[nodiscard]] TransformerShape transformer_shape(std::string_view text);

/// The forward graph, its parameters without values:
///
///   x = Gather(embedding, tokens) + positions             tokens (b, s), x (b s, d)
///   L times  x += Dropout(Gemm(attention(Gemm(LayerNorm(x), d -> 3 d)), d -> d))
///            x += Dropout(Gemm(Gelu(Gemm(LayerNorm(x), d -> 4 d)), 4 d -> d))
///   scores = LayerNorm(x) embeddingᵀ                       (b s, v)
///
/// with L (12 d² + 13 d) + v d + s d + 2 d parameters.
/// @throws InvalidInput for a size below 1 and a width that the heads do not divide
[[nodiscard]] OperatorGraph transformer(const TransformerShape& shape);

}  // namespace espalier
