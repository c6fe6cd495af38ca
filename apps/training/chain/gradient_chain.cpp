#include "training/chain/gradient_chain.h"

#include <bit>

namespace espalier::training {

std::uint64_t gradient_checksum(const GradientChain& chain) {
  constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
  std::uint64_t sum = kBasis;
  for (const auto gradient : {chain.initial_gradient(), chain.parameter_gradient()})
    for (const double value : gradient) {
      sum = (sum ^ std::bit_cast<std::uint64_t>(value)) * kPrime;
      sum ^= sum >> 32;
    }
  return sum;
}

}  // namespace espalier::training
