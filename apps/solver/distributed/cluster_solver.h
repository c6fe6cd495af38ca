#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "solver/api/solver.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/shares.h"
#include "solver/distributed/transport.h"

namespace espalier::solver {

/// A Solver on the processes of a job, each inside a bound on its own resident set. Calls
/// are collective; options are the same everywhere, those of one process: workers, bound.
///
/// Process 0 analyses the matrix. All processes then have the structure of the factor,
/// the permutation and the vectors; of the matrix, the fronts and the factor each has its
/// part. The task tree is mapped onto processes when the bound is known (plan()), since a
/// process has less of it the more of it is shared.
///
/// What a Solver tells of memory is this process's; least() is the least bound with which
/// no process has too little.
class ClusterSolver : public Solver {
 public:
  /// @param matrix  at process 0; none elsewhere
  /// @throws InvalidInput as Solver, at process 0 only: the job must be ended then. At
  ///         every process for an option that needs one process alone: out of core.
  ClusterSolver(Communicator& communicator, std::optional<InputMatrix>&& matrix,
                const SolverOptions& options,
                const std::function<void(std::string_view)>& step = {});
  ~ClusterSolver() override;

  /// Once: the matrix is distributed for the plan.
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound) override;
  /// @throws InvalidInput: not on several processes
  void save(const std::string& path) const override;
  /// After plan(). @param matrix  read at process 0
  void replace_values(const InputMatrix& matrix) override;

  [[nodiscard]] Bytes least() const override { return least_; }
  [[nodiscard]] const Shares& shares() const { return shares_; }
  /// Peak of the plan's order on this process's part of the tree: exact.
  [[nodiscard]] Bytes predicted_peak() const { return predicted_peak_; }
  /// Data that this process sent while factorising.
  [[nodiscard]] Transport::Counters sent() const { return transport_->sent(); }
  /// Least bound of the whole tree in the memory of one process.
  [[nodiscard]] Bytes sequential_least() const { return sequential_least_; }

 private:
  /// One way to map the tree.
  struct Candidate {
    std::vector<WorkerRange> group;
    std::vector<TaskId> witness;
    MemoryAccount account = {};  ///< of this process; `elsewhere` is of all
    Seconds seconds = 0;         ///< about: of the process that takes longest
    Bytes largest_peak = 0;      ///< of fronts, of the process that needs most
  };

  [[nodiscard]] MatrixPart matrix() const override;
  [[nodiscard]] std::int32_t agree(std::int32_t value) const override;
  void share_analysis(std::optional<InputMatrix>&& matrix);
  void start();
  void end_the_job() noexcept;
  void list_candidates();
  Candidate evaluate(std::vector<WorkerRange> group, std::vector<TaskId> witness);
  [[nodiscard]] static double cost(const Candidate& candidate);
  [[nodiscard]] const Candidate* choose(std::optional<Bytes> bound) const;
  void take(const Candidate& candidate);
  [[nodiscard]] Seconds estimate_seconds() const;
  void foresee_baselines();
  [[nodiscard]] Bytes matrix_bytes() const;
  [[nodiscard]] Bytes entry_bytes() const;

  Communicator& communicator_;
  std::unique_ptr<Transport> transport_;
  AssemblyTree whole_;
  Shares shares_;
  std::vector<std::int64_t> entries_before_;  // of the matrix, by columns, at process 0
  std::vector<Candidate> candidates_;
  Traffic received_;  // under the shares at hand
  Bytes least_ = 0, predicted_peak_ = 0, sequential_least_ = 0;
};

}  // namespace espalier::solver
