// What is written and what is read stand side by side: over 300 lines.

#include "solver/save/save_system.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "espalier/model/error.h"
#include "solver/symbolic/check_symbolic.h"

namespace espalier::solver {
namespace {

// Places in the section "facts".
enum Fact : std::uint8_t {
  kAskedKind,  // -1: none
  kKind,
  kPrecision,
  kWorkers,
  kPreparedKind,
  kStructuralRank,
  kPatternRank,
  kSize,
  kFactorEntries,
  kNullSpace,
  kPerturbed,  // whether kPerturbedPivots is not 0: for earlier versions
  kDoubtful,
  kNullVector,
  kProcesses,
  kProcess,
  kSave,
  kComplex,  // 0: real
  kOfTransposed,
  kFrontGrids,
  kDelayed,
  kPerturbedPivots,
  kNegative,
  kTwoByTwo,
  kNotDelayed,
  kZerosOfBlocks,
  kFacts
};
enum Figure : std::uint8_t {
  kThreshold,
  kLargestEntry,
  kSmallestPivot,
  kFactorFlops,
  kFigures
};

constexpr std::int64_t kMostWorkers = 1 << 20;
// ComplexSymmetry is counted from here on; below are the forms of earlier versions.
constexpr std::int64_t kFirstSymmetry = 4;

// Arrays whose contents are used as offsets or indices, before anything relies on them.
class Checks {
 public:
  explicit Checks(const SectionReader& file) : file_(file) {}

  void require(bool holds, const char* what) const {
    if (!holds) file_.fail(fmt::format("has impossible {}", what));
  }

  // Starts of so many ranges: from 0 to `end`, never falling.
  template <class V>
  void offsets(const std::vector<V>& start, std::size_t ranges, std::int64_t end,
               const char* what) const {
    require(start.size() == ranges + 1 && start.front() == 0 && start.back() == end,
            what);
    for (std::size_t k = 0; k < ranges; ++k) require(start[k] <= start[k + 1], what);
  }

  // Rows of each column from the diagonal on, increasing.
  void matrix(const SquareMatrix& matrix) const {
    const SymmetricMatrix& lower = matrix.lower;
    offsets(lower.column_start, static_cast<std::size_t>(lower.size),
            std::ssize(lower.row), "columns of the matrix");
    require(lower.value.size() == lower.row.size() &&
                (matrix.upper.empty() || matrix.upper.size() == lower.row.size()),
            "values of the matrix");
    for (std::int32_t j = 0; j < lower.size; ++j) {
      std::int32_t last = j - 1;
      for (auto k = lower.column_start[j]; k < lower.column_start[j + 1]; ++k) {
        require(lower.row[k] > last && lower.row[k] < lower.size, "rows of the matrix");
        last = lower.row[k];
      }
    }
  }

  void permutation(const std::vector<std::int32_t>& order, std::int32_t size,
                   const char* what) const {
    require(order.empty() || std::ssize(order) == size, what);
    std::vector<bool> seen(order.size(), false);
    for (const std::int32_t i : order) {
      require(i >= 0 && i < size && !seen[i], what);
      seen[i] = true;
    }
  }

  void scale(const std::vector<double>& scale, std::int32_t size) const {
    require(scale.empty() || std::ssize(scale) == size, "scaling");
    for (const double value : scale)
      require(value > 0 && std::isfinite(value), "scaling");
  }

 private:
  const SectionReader& file_;
};

FactorKind kind_from(std::int64_t value, const Checks& checks) {
  checks.require(value >= 0 && value <= static_cast<std::int64_t>(FactorKind::kLu),
                 "kind of factorisation");
  return static_cast<FactorKind>(value);
}

std::optional<ComplexSymmetry> complex_from(std::int64_t value, const SectionReader& file,
                                            const Checks& checks) {
  if (value == 0) return {};
  if (value > 0 && value < kFirstSymmetry)
    file.fail("has a complex matrix as a real one of twice the order: save it anew");
  value -= kFirstSymmetry;
  checks.require(
      value >= 0 && value <= static_cast<std::int64_t>(ComplexSymmetry::kHermitian),
      "symmetry of a complex matrix");
  return static_cast<ComplexSymmetry>(value);
}

PivotStatistics pivots_from(const std::vector<std::int64_t>& facts,
                            const Checks& checks) {
  for (const Fact each : {kDelayed, kPerturbedPivots, kNotDelayed})
    checks.require(facts[each] >= 0, "counts of pivots");
  for (const Fact each : {kNullSpace, kNegative, kTwoByTwo})
    checks.require(facts[each] >= 0 && facts[each] <= facts[kSize], "counts of pivots");
  return {.delayed = facts[kDelayed],
          .perturbed = facts[kPerturbedPivots],
          .null_space = facts[kNullSpace],
          .negative = facts[kNegative],
          .two_by_two = facts[kTwoByTwo],
          .not_delayed = facts[kNotDelayed]};
}

SystemFacts facts_from(const std::vector<std::int64_t>& facts,
                       const std::vector<double>& figures, const Checks& checks) {
  SystemFacts result;
  if (facts[kAskedKind] != -1) result.asked_kind = kind_from(facts[kAskedKind], checks);
  result.kind = kind_from(facts[kKind], checks);
  checks.require(facts[kPrecision] == 0 || facts[kPrecision] == 1, "precision");
  result.precision = static_cast<Precision>(facts[kPrecision]);
  checks.require(facts[kWorkers] >= 0 && facts[kWorkers] <= kMostWorkers, "workers");
  result.workers = static_cast<std::int32_t>(facts[kWorkers]);
  checks.require(figures[kThreshold] >= 0 && figures[kLargestEntry] >= 0,
                 "pivot threshold");
  checks.require(figures[kSmallestPivot] >= 0, "least pivot");
  result.pivots = pivots_from(facts, checks);
  result.pivots.smallest = figures[kSmallestPivot];
  result.doubtful = facts[kDoubtful] != 0;
  result.null_vector = facts[kNullVector] != 0;
  checks.require(facts[kZerosOfBlocks] >= 0 && facts[kZerosOfBlocks] <= 2 * facts[kSize],
                 "counts of pivots");
  result.zeros_of_blocks = facts[kZerosOfBlocks];
  checks.require(facts[kProcesses] >= 1 && facts[kProcesses] <= kMostWorkers &&
                     facts[kProcess] >= 0 && facts[kProcess] < facts[kProcesses],
                 "number of processes");
  result.processes = static_cast<std::int32_t>(facts[kProcesses]);
  result.process = static_cast<std::int32_t>(facts[kProcess]);
  result.save = facts[kSave];
  checks.require(facts[kOfTransposed] == 0 || facts[kOfTransposed] == 1, "transposition");
  result.of_transposed = facts[kOfTransposed] != 0;
  checks.require(facts[kFrontGrids] >= 0 &&
                     facts[kFrontGrids] <= static_cast<std::int64_t>(FrontGrids::kAlways),
                 "grids of processes");
  result.front_grids = static_cast<FrontGrids>(facts[kFrontGrids]);
  result.pivot_threshold = figures[kThreshold];
  result.largest_entry = figures[kLargestEntry];
  return result;
}

// The order of the system is in system.analysis.symbolic.size.
void load_prepared(SectionReader& file, const Checks& checks, SavedSystem& system) {
  PreparedMatrix& prepared = system.prepared;
  const std::int32_t size = system.analysis.symbolic.size;
  prepared.row_scale = file.take<double>("rowscale");
  prepared.column_scale = file.take<double>("colscale");
  prepared.row_of = file.take<std::int32_t>("row_of");
  prepared.partner = file.take<std::int32_t>("partner");
  checks.scale(prepared.row_scale, size);
  checks.scale(prepared.column_scale, size);
  checks.require(prepared.row_scale.size() == prepared.column_scale.size(), "scaling");
  checks.permutation(prepared.row_of, size, "order of rows");
  checks.permutation(prepared.partner, size, "partners");
}

void load_symbolic(SectionReader& file, const Checks& checks, Symbolic& symbolic) {
  symbolic.permutation = file.take<std::int32_t>("permute", symbolic.size);
  symbolic.parent = file.take<std::int32_t>("parent");
  const std::size_t fronts = symbolic.parent.size();
  symbolic.first_column = file.take<std::int32_t>("firstcol", fronts + 1);
  symbolic.row_start = file.take<std::int64_t>("rowstart", fronts + 1);
  symbolic.rows = file.take<std::int32_t, LeavesUnset<std::int32_t>>("rows");
  checks.offsets(symbolic.first_column, fronts, symbolic.size, "columns of fronts");
  checks.offsets(symbolic.row_start, fronts, std::ssize(symbolic.rows), "rows of fronts");
  for (const std::int32_t parent : symbolic.parent)
    checks.require(parent >= -1 && parent < symbolic.fronts(), "parents of fronts");
}

void load_matrix(SectionReader& file, const Checks& checks, std::int32_t size,
                 SquareMatrix& matrix) {
  matrix.lower.size = size;
  matrix.lower.column_start =
      file.take<std::int64_t>("colstart", static_cast<std::uint64_t>(size) + 1);
  matrix.lower.row = file.take<std::int32_t>("row");
  matrix.lower.value = file.take<double>("lower", matrix.lower.row.size());
  matrix.upper = file.take<double>("upper");
  if (matrix.complex) {
    matrix.lower_imaginary = file.take<double>("lower i", matrix.lower.row.size());
    matrix.upper_imaginary = file.take<double>("upper i", matrix.upper.size());
  }
  checks.matrix(matrix);
}

void load_form(SectionReader& file, const Checks& checks, Analysis& analysis) {
  const std::int32_t size = analysis.symbolic.size;
  Coupling coupling;
  coupling.column_start = file.take<std::int64_t>("coupcol");
  coupling.row = file.take<std::int32_t>("couprow");
  coupling.value = file.take<double>("coupval", coupling.row.size());
  const bool none = coupling.column_start.empty();
  if (analysis.permuted.complex && !none)
    coupling.imaginary = file.take<double>("coupvali", coupling.row.size());
  coupling.unmatched = file.take<std::int32_t>("coupout");
  std::int32_t least = 0;
  for (const std::int32_t each : coupling.unmatched) {
    checks.require(each >= least && each < size, "unmatched variables");
    least = each + 1;
  }
  if (none) {
    checks.require(coupling.row.empty() && coupling.unmatched.empty(), "coupling");
    return;
  }
  coupling.size = size;
  checks.offsets(coupling.column_start, static_cast<std::size_t>(size),
                 std::ssize(coupling.row), "coupling");
  for (const std::int32_t row : coupling.row)
    checks.require(row >= 0 && row < size, "coupling");
  try {
    analysis.form = block_form(analysis.symbolic, std::move(coupling));
  } catch (const FileError&) {
    throw;
  } catch (const InvalidInput& error) {
    file.fail(fmt::format("has an impossible coupling: {}", error.what()));
  }
}

// Inside the processes, and the children's inside their parents' (restored by the solver,
// which has the tree).
std::vector<WorkerRange> load_groups(SectionReader& file, const Checks& checks,
                                     std::int32_t processes) {
  const auto first = file.take<std::int32_t>("groupat");
  const auto count = file.take<std::int32_t>("groupof", first.size());
  std::vector<WorkerRange> groups;
  for (std::size_t k = 0; k < first.size(); ++k) {
    checks.require(first[k] >= 0 && count[k] >= 1 && count[k] <= processes - first[k],
                   "processes of a node");
    groups.push_back({first[k], count[k]});
  }
  return groups;
}

std::vector<std::int64_t> counts_of(const SystemFacts& facts,
                                    const PreparedMatrix& prepared,
                                    const Symbolic& symbolic,
                                    std::optional<ComplexSymmetry> complex) {
  std::vector<std::int64_t> counts(kFacts);
  counts[kAskedKind] =
      facts.asked_kind ? static_cast<std::int64_t>(*facts.asked_kind) : -1;
  counts[kKind] = static_cast<std::int64_t>(facts.kind);
  counts[kPrecision] = static_cast<std::int64_t>(facts.precision);
  counts[kWorkers] = facts.workers;
  counts[kPreparedKind] = static_cast<std::int64_t>(prepared.kind);
  counts[kStructuralRank] = prepared.structural_rank;
  counts[kPatternRank] = prepared.pattern_rank;
  counts[kSize] = symbolic.size;
  counts[kFactorEntries] = symbolic.factor_entries;
  counts[kNullSpace] = facts.pivots.null_space;
  counts[kPerturbed] = facts.pivots.perturbed > 0 ? 1 : 0;
  counts[kDoubtful] = facts.doubtful ? 1 : 0;
  counts[kNullVector] = facts.null_vector ? 1 : 0;
  counts[kDelayed] = facts.pivots.delayed;
  counts[kPerturbedPivots] = facts.pivots.perturbed;
  counts[kNegative] = facts.pivots.negative;
  counts[kTwoByTwo] = facts.pivots.two_by_two;
  counts[kNotDelayed] = facts.pivots.not_delayed;
  counts[kZerosOfBlocks] = facts.zeros_of_blocks;
  counts[kProcesses] = facts.processes;
  counts[kProcess] = facts.process;
  counts[kSave] = facts.save;
  counts[kOfTransposed] = facts.of_transposed ? 1 : 0;
  counts[kFrontGrids] = static_cast<std::int64_t>(facts.front_grids);
  if (complex) counts[kComplex] = kFirstSymmetry + static_cast<std::int64_t>(*complex);
  return counts;
}

void save_groups(std::span<const WorkerRange> group, SectionWriter& file) {
  std::vector<std::int32_t> first, count;
  for (const WorkerRange& each : group) {
    first.push_back(each.first);
    count.push_back(each.count);
  }
  file.put("groupat", first);
  file.put("groupof", count);
}

}  // namespace

void save_system(const SystemFacts& facts, const PreparedMatrix& prepared,
                 const Analysis& analysis, const AssemblyTree& tree, SectionWriter& file,
                 std::span<const WorkerRange> group) {
  const Symbolic& symbolic = analysis.symbolic;
  file.put("facts", counts_of(facts, prepared, symbolic, analysis.permuted.complex));
  const std::vector<double> figures = {facts.pivot_threshold, facts.largest_entry,
                                       facts.pivots.smallest, symbolic.factor_flops};
  file.put("figures", figures);
  file.put("rowscale", prepared.row_scale);
  file.put("colscale", prepared.column_scale);
  file.put("row_of", prepared.row_of);
  file.put("partner", prepared.partner);
  file.put("permute", symbolic.permutation);
  file.put("parent", symbolic.parent);
  file.put("firstcol", symbolic.first_column);
  file.put("rowstart", symbolic.row_start);
  file.put("rows", symbolic.rows);
  file.put("colstart", analysis.permuted.lower.column_start);
  file.put("row", analysis.permuted.lower.row);
  file.put("lower", analysis.permuted.lower.value);
  file.put("upper", analysis.permuted.upper);
  if (analysis.permuted.complex) {
    file.put("lower i", analysis.permuted.lower_imaginary);
    file.put("upper i", analysis.permuted.upper_imaginary);
  }
  file.put("coupcol", analysis.form.coupling.column_start);
  file.put("couprow", analysis.form.coupling.row);
  file.put("coupval", analysis.form.coupling.value);
  if (analysis.permuted.complex && !analysis.form.empty())
    file.put("coupvali", analysis.form.coupling.imaginary);
  file.put("coupout", analysis.form.coupling.unmatched);
  file.put("widths", std::span<const std::int32_t>(tree.block_width));
  save_groups(group, file);
}

SavedSystem load_system(SectionReader& file) {
  const Checks checks(file);
  SavedSystem system;
  const auto counts = file.take<std::int64_t>("facts", kFacts);
  const auto figures = file.take<double>("figures", kFigures);
  system.facts = facts_from(counts, figures, checks);
  system.prepared.kind = kind_from(counts[kPreparedKind], checks);
  Symbolic& symbolic = system.analysis.symbolic;
  checks.require(counts[kSize] >= 0 && counts[kSize] < std::int64_t{1} << 31, "order");
  symbolic.size = static_cast<std::int32_t>(counts[kSize]);
  checks.require(counts[kStructuralRank] >= 0 &&
                     counts[kStructuralRank] <= counts[kPatternRank] &&
                     counts[kPatternRank] <= counts[kSize],
                 "structural rank");
  system.prepared.structural_rank = static_cast<std::int32_t>(counts[kStructuralRank]);
  system.prepared.pattern_rank = static_cast<std::int32_t>(counts[kPatternRank]);
  symbolic.factor_entries = counts[kFactorEntries];
  symbolic.factor_flops = figures[kFactorFlops];
  load_prepared(file, checks, system);
  load_symbolic(file, checks, symbolic);
  SquareMatrix& permuted = system.analysis.permuted;
  permuted.complex = complex_from(counts[kComplex], file, checks);
  load_matrix(file, checks, symbolic.size, permuted);
  load_form(file, checks, system.analysis);
  system.block_width = file.take<std::int32_t>("widths", symbolic.parent.size());
  system.group = load_groups(file, checks, system.facts.processes);
  checks.require((system.facts.kind != FactorKind::kLu && permuted.upper.empty()) ||
                     (system.facts.kind == FactorKind::kLu &&
                      permuted.upper.size() == permuted.lower.row.size()),
                 "values of the matrix");
  try {
    check_symbolic(symbolic, permuted.lower);
  } catch (const FileError&) {
    throw;
  } catch (const InvalidInput& error) {
    file.fail(fmt::format("has an impossible structure: {}", error.what()));
  }
  return system;
}

}  // namespace espalier::solver
