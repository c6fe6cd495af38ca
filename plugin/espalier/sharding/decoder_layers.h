#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "espalier/sharding/layer.h"

namespace espalier {

/// A decoder-only transformer: an embedding of tokens and places, blocks of attention and
/// a two-layer perceptron of four times the width (normalised before each), and a head
/// that shares the token embedding.
struct DecoderShape {
  std::string name;
  std::int64_t layers = 1, width = 1, heads = 1, vocabulary = 1, sequence = 1;
  /// Attention in one operator that stores no matrix of sequence x sequence.
  bool fused_attention = false;

  /// 12 h^2 + 13 h a block; (vocabulary + sequence) h for the embeddings and 2 h for the
  /// last normalisation. gpt2-xl: 1 557 611 200.
  [[nodiscard]] std::int64_t parameters() const;
};

/// "gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "gpt3", or
/// "layers=24,width=1024,heads=16[,vocabulary=50257][,sequence=1024]".
/// @throws InvalidInput naming the key and the value; for heads that do not divide the width
[[nodiscard]] DecoderShape decoder_shape(std::string_view text);

/// How a process of a tensor group runs it.
struct DecoderSplit {
  std::int32_t tensor = 1;       ///< processes of the group
  std::int64_t micro_batch = 1;  ///< sequences
  Bytes element = 2;             ///< of a parameter and of an activation
};

/// Why the tensor group cannot divide the shape; empty where it can: it has to divide the
/// heads.
[[nodiscard]] std::string why_not_split(const DecoderShape& shape, std::int32_t tensor);

/// The layers of one process [Shoeybi19]: the first product of attention and of the
/// perceptron has its columns divided, the second its rows, with an all-reduce of
/// sequence x width after the second in forward and after the first in backward; heads
/// go with their columns; the token embedding and the head are divided by tokens, of
/// which there are as many as a multiple of the group has. Normalisations, their inputs
/// and the states between layers are in every process.
///
/// Tokens and labels are 8 bytes each; what a normalisation or a softmax saves beside its
/// result is left out.
/// @pre why_not_split() is empty
[[nodiscard]] LayeredModel decoder_layers(const DecoderShape& shape,
                                          const DecoderSplit& split);

}  // namespace espalier
