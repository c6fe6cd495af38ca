#pragma once

#include <memory>
#include <utility>

#include "training/operators/kernel.h"

namespace espalier::training {

/// Loops over fewer elements are not divided among threads.
inline constexpr std::int64_t kWorthThreads = 16384;

/// A kernel that is one function of the call.
template <class Function>
class FunctionKernel final : public Kernel {
 public:
  FunctionKernel(Function function, Bytes scratch)
      : function_(std::move(function)), scratch_(scratch) {}
  [[nodiscard]] Bytes scratch_bytes() const override { return scratch_; }
  void run(const KernelCall& call) override { function_(call); }

 private:
  Function function_;
  Bytes scratch_;
};

template <class Function>
[[nodiscard]] std::unique_ptr<Kernel> kernel_of(Function function, Bytes scratch = 0) {
  return std::make_unique<FunctionKernel<Function>>(std::move(function), scratch);
}

template <class T>
[[nodiscard]] const T* read(const KernelCall& call, std::size_t i) {
  return reinterpret_cast<const T*>(call.inputs[i]);
}
/// An input that is changed in place.
template <class T>
[[nodiscard]] T* change(const KernelCall& call, std::size_t i) {
  return reinterpret_cast<T*>(call.inputs[i]);
}
template <class T>
[[nodiscard]] T* write(const KernelCall& call, std::size_t i) {
  return reinterpret_cast<T*>(call.outputs[i]);
}

}  // namespace espalier::training
