#pragma once

#include <cstdint>
#include <span>

#include "training/chain/chain.h"

namespace espalier::training {

/// A chain whose backward steps make the gradient of a misfit with respect to the initial
/// state and to a parameter. It holds the adjoint; the states are the run's.
class GradientChain {
 public:
  GradientChain() = default;
  GradientChain(const GradientChain&) = delete;
  GradientChain& operator=(const GradientChain&) = delete;
  virtual ~GradientChain() = default;

  [[nodiscard]] virtual const Chain& chain() const = 0;
  [[nodiscard]] virtual ChainCallbacks callbacks() = 0;

  // After the run, when its tasks have ended.
  [[nodiscard]] virtual double misfit() const = 0;
  [[nodiscard]] virtual std::span<const double> initial_gradient() const = 0;
  [[nodiscard]] virtual std::span<const double> parameter_gradient() const = 0;
};

/// Of the bits of both gradients: equal for equal gradients, and for others hardly ever.
/// (64 bits, FNV-1a over words.)
[[nodiscard]] std::uint64_t gradient_checksum(const GradientChain& chain);

}  // namespace espalier::training
