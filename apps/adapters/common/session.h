#pragma once

// What the adapters share: one matrix pattern, factored again and again through the C
// interface of the solver.

#include <espalier_solver.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace espalier::adapters {

/// Pivot thresholds that are taken as they are given; others are cut to these.
inline constexpr double kLeastThreshold = 1e-8, kMostThreshold = 0.5;

/// Whether all numbers are finite.
[[nodiscard]] bool all_finite(const double* numbers, std::int64_t count);

/// A matrix whose values come later than its pattern, and come again. It is analysed when
/// the first values are there, since scaling and matching look at them.
class Session {
 public:
  /// Copies the pattern, without its values, and what the options point to.
  /// ESPALIER_SOLVER_WORKERS, where it is set, takes the place of the options' workers.
  /// @param adapter  its name in the report
  /// @param input    with 32-bit indices
  /// @throws std::invalid_argument where that is no number
  Session(const char* adapter, const espalier_solver_input& input,
          const espalier_solver_options& options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  /// Appends a line to the file that ESPALIER_SOLVER_REPORT names, if it names one: a
  /// JSON object with the adapter, the order, how often was analysed, factored and
  /// solved, the most memory that the process had resident, and why the last
  /// factorisation was refused, if it was. So a host that knows nothing of us can be
  /// asked whether it was us, and what it does not tell.
  ~Session();

  /// Takes the place of the options' from the next factorisation on, which analyses again
  /// where it is another one.
  void set_pivot_threshold(double threshold);

  /// The directory for what does not fit, likewise; empty: none.
  void set_out_of_core(const std::string& directory);

  /// As espalier_solver_set_refinement(), of all solves from now on.
  void set_refinement(std::int32_t no_refinement, std::int32_t estimate_errors);

  /// A bound as espalier_solver_parse_memory() reads it, for where the environment has
  /// none; empty: unbounded. Another one plans again with the next factorisation.
  void set_bound(const std::string& text);

  /// What the bound "auto" stands for where processes solve together, which the C
  /// interface refuses: it knows no hosts.
  void set_auto(std::int64_t bytes) { auto_ = bytes; }

  /// Factors, inside the bound that ESPALIER_SOLVER_MEMORY says ("2GiB", "min", "auto";
  /// none: unbounded). Analyses again where the last factorisation replaced or delayed so
  /// many pivots that the first values can no longer have been like those, and where a
  /// matrix that might be general is symmetric no longer.
  /// Values of one process that are not all finite end nothing: as after
  /// take_not_finite().
  /// @return as espalier_solver_factorise()
  [[nodiscard]] int factorise(const double* values);

  /// In place of factorise() where some value of the matrix is no finite number: nothing
  /// is factored, solutions are NaN until the next factorise(), and what is told of the
  /// factor is that of a matrix of full rank without negative eigenvalues.
  void take_not_finite();
  [[nodiscard]] bool is_finite() const { return finite_; }

  /// Where a right-hand side is not finite, or the matrix was not, the solution is NaN.
  /// @return as espalier_solver_solve_block()
  [[nodiscard]] int solve(bool transposed, std::int32_t nrhs, const double* b,
                          std::int64_t ldb, double* x, std::int64_t ldx);

  /// In place, likewise: a solve with one part of the factor.
  /// @param part  ESPALIER_SOLVER_PART_…, of a session with options.factor_parts
  /// @return as espalier_solver_solve_part()
  [[nodiscard]] int solve_part(std::int32_t part, bool transposed, std::int32_t nrhs,
                               double* x, std::int64_t ldx);

  [[nodiscard]] std::int32_t order() const {
    return static_cast<std::int32_t>(input_.order);
  }
  [[nodiscard]] std::int64_t entries() const { return entries_; }
  /// place[i]: as which index i is eliminated, from 1; empty before a factorisation.
  void read_order(std::vector<std::int32_t>& place) const;

  /// Before any factorisation: analyses, once or twice, for the order of elimination,
  /// which all of them then keep where the pairs of their pivots leave it.
  /// @param values  null, or not all finite: the pattern decides
  /// @param place   as of read_order()
  /// @return as espalier_solver_analyse()
  [[nodiscard]] int settle_order(const double* values, std::vector<std::int32_t>& place);

  /// For what is asked of the factor alone; null before the first factorisation.
  [[nodiscard]] espalier_solver* solver() const { return solver_.get(); }

  /// Of the last factorisation; zeros before.
  [[nodiscard]] espalier_solver_statistics statistics() const;

 private:
  template <class Solve>
  [[nodiscard]] int solve_finite(std::int32_t nrhs, const double* b, std::int64_t ldb,
                                 double* x, std::int64_t ldx, Solve solve) const;
  struct Destroy {
    void operator()(espalier_solver* solver) const { espalier_solver_destroy(solver); }
  };
  using Solver = std::unique_ptr<espalier_solver, Destroy>;
  [[nodiscard]] static int order_of(const espalier_solver_input& input,
                                    const espalier_solver_options& options,
                                    std::vector<std::int32_t>& order);
  [[nodiscard]] int analyse(const double* values);
  [[nodiscard]] int factorise_finite(const double* values);
  [[nodiscard]] int plan() const;
  [[nodiscard]] bool is_worn() const;

  std::string adapter_, bound_, out_of_core_;
  espalier_solver_input input_;
  espalier_solver_options options_;
  std::int64_t entries_ = 0;
  std::int64_t auto_ = ESPALIER_SOLVER_MEMORY_AUTO;
  bool finite_ = true;  // the last values
  std::vector<std::int32_t> starts_, rows_, columns_;
  Solver solver_;
  std::vector<std::int32_t> elimination_;  // the options' order, if there is one
  std::vector<std::int32_t> schur_;        // and variables that are kept
  std::int64_t delayed_at_first_ = 0;
  std::int64_t analyses_ = 0, factorisations_ = 0, solves_ = 0;
  std::string refusal_;  // of the last factorisation; empty: it was none
};

}  // namespace espalier::adapters
