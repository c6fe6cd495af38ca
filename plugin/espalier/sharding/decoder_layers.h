#pragma once

#include <cstdint>
#include <string>

#include "espalier/sharding/layer.h"
#include "espalier/training/transformer.h"

namespace espalier {

/// 12 d^2 + 13 d a block; (vocabulary + sequence) d for the embeddings, the first of
/// which is the head's, too, and 2 d for the last normalisation. gpt2-xl: 1 557 611 200.
/// @throws InvalidInput for a size below 1 and heads that do not divide the width
[[nodiscard]] std::int64_t parameters_of(const TransformerShape& shape);

/// How a process of a tensor group runs it.
struct DecoderSplit {
  std::int32_t tensor = 1;       ///< processes of the group
  std::int64_t micro_batch = 1;  ///< sequences
  Bytes element = 2;             ///< of a parameter and of an activation
};

/// Why the tensor group cannot divide the shape; empty where it can: it has to divide the
/// heads.
[[nodiscard]] std::string why_not_split(const TransformerShape& shape,
                                        std::int32_t tensor);

/// The layers of one process [Shoeybi19]: the first product of attention and of the
/// perceptron has its columns divided, the second its rows, with an all-reduce of
/// sequence x width after the second in forward and after the first in backward; heads
/// go with their columns; the token embedding and the head are divided by tokens, of
/// which there are as many as a multiple of the group has. Normalisations, their inputs
/// and the states between layers are in every process.
///
/// Tokens and labels are 8 bytes each. Dropout, and what a normalisation or a softmax
/// saves beside its result, are left out; `batch` and `type` are the split's.
/// @pre why_not_split() is empty
[[nodiscard]] LayeredModel decoder_layers(const TransformerShape& shape,
                                          const DecoderSplit& split);

}  // namespace espalier
