#pragma once

#include <memory>
#include <vector>

#include "solver/memory/page_buffer.h"
#include "training/adjoint/ice_sheet.h"
#include "training/chain/gradient_chain.h"

namespace espalier::training {

/// Turns of the viscosity iteration that each step needs: one run forwards, in which
/// nothing is stored. @throws Error where the iteration leaves the numbers
[[nodiscard]] std::vector<std::int32_t> sound_ice_sheet(const IceSheetCase& test,
                                                        IceSheet& sheet,
                                                        std::int64_t steps,
                                                        double tolerance);

/// The gradient of the misfit of the last surface with respect to the initial thickness
/// and the rate factor. A step is one task, with as many factorisations as it has turns.
class IceSheetChain final : public GradientChain {
 public:
  /// @param test   outlives this
  /// @param sheet  likewise; nobody else uses it
  /// @param turns  of each step, each at least 1
  IceSheetChain(const IceSheetCase& test, IceSheet& sheet,
                std::vector<std::int32_t> turns, FirstError& errors);
  ~IceSheetChain() override;

  [[nodiscard]] const Chain& chain() const override { return chain_; }
  [[nodiscard]] ChainCallbacks callbacks() override;
  [[nodiscard]] double misfit() const override { return misfit_; }
  [[nodiscard]] std::span<const double> initial_gradient() const override;
  [[nodiscard]] std::span<const double> parameter_gradient() const override;

  [[nodiscard]] static Chain chain_of(const IceSheetCase& test, std::int64_t steps);
  /// Bytes beside the buffers of the chain and the sheet. While StarPU runs.
  [[nodiscard]] static Bytes workspace_bytes(const IceSheetCase& test,
                                             const IceSheet& sheet);

 private:
  struct Task;
  static void run_task(void** buffers, void* arguments) noexcept;
  void compute(const Task& task);
  void submit(const Task& task, const StateBuffer& from, const StateBuffer* to);

  const IceSheetCase& test_;
  FirstError& errors_;
  std::vector<std::int32_t> turns_;
  Chain chain_;
  IceSheet& sheet_;
  solver::PageBuffer memory_;
  std::span<double> adjoint_, rate_adjoint_, last_;
  starpu_data_handle_t working_ = nullptr;  // the sheet's and the adjoint's memory
  double misfit_ = 0;
};

}  // namespace espalier::training
