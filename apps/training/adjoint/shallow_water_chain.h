#pragma once

#include <starpu.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "espalier/model/units.h"
#include "solver/memory/page_buffer.h"
#include "training/adjoint/shallow_water.h"
#include "training/chain/chain.h"
#include "training/chain/gradient_chain.h"
#include "training/chain/submit_task.h"

namespace espalier::training {

/// The gradient of the misfit after `steps` steps with respect to the initial state and
/// the drag, as a chain whose steps are tasks on bands of rows.
///
/// Beside the states of the chain there are three buffers of a state's size for the
/// stages of a step, the adjoint state and the gradient by drag. While StarPU runs.
class ShallowWaterChain final : public GradientChain {
 public:
  /// @param test   outlives this
  /// @param bands  >= 1: of rows, of nearly equal height; at most one a row
  ShallowWaterChain(const ShallowWaterCase& test, std::int64_t steps, std::int32_t bands,
                    std::int32_t workers, FirstError& errors);
  ~ShallowWaterChain() override;
  ShallowWaterChain(const ShallowWaterChain&) = delete;
  ShallowWaterChain& operator=(const ShallowWaterChain&) = delete;

  [[nodiscard]] const Chain& chain() const override { return chain_; }
  [[nodiscard]] ChainCallbacks callbacks() override;
  [[nodiscard]] double misfit() const override;
  [[nodiscard]] std::span<const double> initial_gradient() const override;
  /// By the drag, nx * ny.
  [[nodiscard]] std::span<const double> parameter_gradient() const override;

  /// How a run of that many bands is made up, before anything is allocated.
  [[nodiscard]] static Chain chain_of(const Basin& basin, std::int64_t steps,
                                      std::int32_t bands);
  /// Bytes beside the buffers of the chain. While StarPU runs. @throws OverflowError
  [[nodiscard]] static Bytes workspace_bytes(const Basin& basin, std::int32_t bands,
                                             std::int32_t workers);
  /// Enough for the workers to overlap one stage with the next, and tall enough that the
  /// rows computed twice at the edges of bands do not matter.
  [[nodiscard]] static std::int32_t default_bands(const Basin& basin,
                                                  std::int32_t workers);

 private:
  struct Task;
  static void run_task(void** buffers, void* arguments) noexcept;
  void compute(const Task& task);

  // A field of the model in one piece of memory, with a handle for each band.
  struct Field {
    double* data = nullptr;
    std::vector<starpu_data_handle_t> parts;
    [[nodiscard]] StateBuffer buffer() const {
      return {reinterpret_cast<std::byte*>(data), parts};
    }
  };
  Field make_field(std::size_t row_size);
  // each(band, the same as an index)
  void for_bands(const std::function<void(std::int32_t, std::size_t)>& each);
  void start(const StateBuffer& to);
  void advance(const StateBuffer& from, const StateBuffer& to);
  void begin_backward(const StateBuffer& at);
  void backward(std::int64_t step, const StateBuffer& at);
  void stages(const StateBuffer& from);
  void submit(const Task& task, std::int32_t band, std::vector<Access> own,
              std::initializer_list<std::span<const starpu_data_handle_t>> wide);

  const ShallowWaterCase& test_;
  FirstError& errors_;
  Chain chain_;
  std::vector<RowBand> bands_;
  std::vector<Lines> lines_;  // by worker
  solver::PageBuffer memory_;
  std::byte* unused_ = nullptr;  // of memory_
  Field first_, second_, third_, adjoint_, drag_;
  std::vector<double> row_sums_;
};

}  // namespace espalier::training
