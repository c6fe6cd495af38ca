#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/parallel/make_plan.h"
#include "solver/analyse.h"
#include "solver/factorise.h"
#include "solver/refine.h"

struct espalier_plan;

namespace espalier::solver {

struct JobOptions {
  std::int32_t workers = 1;
  std::string scheduler = "espalier";
  AnalyseOptions analysis;
  OrderKind order = OrderKind::kLiu;
  MappingKind mapping = MappingKind::kMemoryAware;
};

/// What the bound on the process is made of. The bound covers everything that is
/// resident, so what is there before the first front, and what the runtime will need
/// beside the fronts, is taken off before the tree is planned.
struct MemoryAccount {
  Bytes analysis_peak = 0;  ///< VmHWM up to the start of the factorisation
  Bytes baseline = 0;       ///< resident then: program, runtime, matrix, structures
  Bytes reserve = 0;        ///< kept for heap and system beside the fronts
  Bytes tree_least = 0;     ///< least bound of the assembly tree (see JobOptions::order)
  Bytes solve = 0;          ///< factor and vectors: resident while solving

  /// What this process needs: a smaller bound is refused.
  [[nodiscard]] Bytes needed() const;
  /// What users are told: needed() and 2 MiB, since two runs on the same input differ by
  /// pages here and there, and what one prints as the least must do for the next.
  [[nodiscard]] Bytes least() const;
  /// What an accepted bound on the process leaves for the tree: tree_least at least.
  [[nodiscard]] Bytes tree_bound(Bytes bound) const { return bound - baseline - reserve; }
};

struct Solution {
  Refinement refinement;
  Seconds seconds = 0;         ///< forward and backward substitution
  Seconds refine_seconds = 0;  ///< residuals, error estimates, further substitutions
};

/// One symmetric positive definite system, from the matrix to the solution, inside a
/// bound on the resident set of the process.
class BoundedJob {
 public:
  /// Analyses the matrix, starts the runtime and measures what is resident.
  /// @param step  told what is being done; may be empty
  /// @throws InvalidInput as Runtime and analyse() do, Error
  BoundedJob(SymmetricMatrix&& matrix, const JobOptions& options,
             const std::function<void(std::string_view)>& step = {});
  ~BoundedJob();

  [[nodiscard]] const MemoryAccount& memory() const { return memory_; }
  [[nodiscard]] const Analysis& analysis() const { return analysis_; }
  [[nodiscard]] const AssemblyTree& tree() const { return tree_; }
  [[nodiscard]] Seconds analyse_seconds() const { return analyse_seconds_; }

  /// Plans for a bound on the process; nothing has been computed yet.
  /// @param bound  no value: unbounded
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound);

  /// After plan(). BadPivot::column is a column of the matrix as it was read, 0-based.
  [[nodiscard]] tl::expected<FactorReport, BadPivot> factorise(
      const std::function<void(double)>& progress = {});

  /// b := A^-1 b, after factorise(); in the order of the matrix as it was read.
  [[nodiscard]] Solution solve(std::span<double> b);
  /// A times the vector of ones: a right-hand side whose solution is known.
  [[nodiscard]] std::vector<double> row_sums() const;

  /// Growth of the resident set during factorise(): its peak less the baseline.
  [[nodiscard]] Bytes factor_growth() const { return factor_growth_; }
  /// VmHWM of the process from its start, over all phases.
  [[nodiscard]] Bytes peak_resident() const;

 private:
  Analysis analysis_;
  Seconds analyse_seconds_ = 0;
  AssemblyTree tree_;
  JobOptions options_;
  std::optional<Runtime> runtime_;
  std::unique_ptr<espalier_plan, void (*)(espalier_plan*)> plan_;
  MemoryAccount memory_;
  Factor factor_;
  Bytes factor_growth_ = 0, peak_resident_ = 0;
};

}  // namespace espalier::solver
