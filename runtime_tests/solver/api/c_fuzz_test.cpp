// Sequences of calls of the C interface with good and bad arguments, seeded: none ends
// the process, every refusal has a text, and what is said to be solved is.
//
// 6000 calls, under sanitizers 2000; 10^5 of them under the address and
// undefined-behaviour sanitizers:
//   cmake --preset asan && cmake --build build/asan --target solver_c_fuzz_test
//   STARPU_NCPU=2 ESPALIER_FUZZ_CALLS=100000 build/asan/tests/solver_c_fuzz_test
//
// A function for each part of the interface: over 300 lines.

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/sanitized.h"
#include "support/temporary_directory.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr int kCalls = support::kSanitized ? 2000 : 6000;

/// A small matrix in any form, some of it wrong now and then. There are values enough for
/// complex ones, and for elements that are not symmetric.
struct Case {
  std::vector<std::int64_t> starts, rows, columns;
  std::vector<double> values;
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  std::array<std::vector<std::int32_t>, 3> narrow;  // of indices of 32 bits

  void point_to_arrays() {
    input.values = values.data();
    const void** const to[] = {&input.starts, &input.rows, &input.columns};
    const std::vector<std::int64_t>* const wide[] = {&starts, &rows, &columns};
    for (std::size_t k = 0; k < narrow.size(); ++k) {
      narrow[k].assign(wide[k]->begin(), wide[k]->end());
      *to[k] = input.index_bits == 32 ? static_cast<const void*>(narrow[k].data())
                                      : wide[k]->data();
    }
  }

  [[nodiscard]] bool is_complex() const {
    return input.scalar == ESPALIER_SOLVER_COMPLEX;
  }
  // What factorise_values() wants of it.
  [[nodiscard]] std::int64_t count() const {
    if (input.format == ESPALIER_SOLVER_TRIPLETS) return input.entries;
    if (input.format != ESPALIER_SOLVER_ELEMENTS) {
      // A spoilt one may have no such column.
      if (input.order < 0 || input.order >= std::ssize(starts)) return 0;
      return starts[static_cast<std::size_t>(input.order)] - input.index_base;
    }
    const bool packed = input.symmetry == ESPALIER_SOLVER_SYMMETRIC ||
                        input.symmetry == ESPALIER_SOLVER_HERMITIAN;
    std::int64_t sum = 0;
    for (std::size_t e = 1; e < starts.size(); ++e) {
      const std::int64_t k = starts[e] - starts[e - 1];
      sum += packed ? k * (k + 1) / 2 : k * k;
    }
    return sum;
  }
};

/// The same numbers in the form of espalier_solver_create().
struct ColumnCase {
  std::vector<std::int64_t> starts = {0};
  std::vector<std::int32_t> rows;
  std::vector<double> values;
  espalier_solver_matrix matrix{};

  void point_to_arrays() {
    matrix.column_start = starts.data();
    matrix.rows = rows.data();
    matrix.values = values.data();
  }
};

class Fuzz {
 public:
  explicit Fuzz(unsigned seed) : random_(seed) {}
  ~Fuzz() {
    for (espalier_solver* solver : solvers_) espalier_solver_destroy(solver);
  }
  Fuzz(const Fuzz&) = delete;
  Fuzz& operator=(const Fuzz&) = delete;

  void step() {
    espalier_solver*& solver = solvers_[below(3)];
    std::size_t& place = pattern_[static_cast<std::size_t>(&solver - solvers_.data())];
    switch (below(16)) {
      case 0:
      case 1:
        espalier_solver_destroy(solver);
        place = cases_.size();
        cases_.push_back(make_case());
        return analyse(solver, cases_.back());
      case 13:
        espalier_solver_destroy(solver);
        place = SIZE_MAX;
        return create(solver);
      case 14:
        return refactorise(solver);
      case 15:
        return save_and_load(solver, place);
      case 2:
        return see(espalier_solver_plan(solver, bound()), {"bound"});
      case 3:
        return see(espalier_solver_factorise(solver));
      case 4:
        return factor_values(solver, place);
      case 5:
      case 6:
        return solve(solver);
      case 7:
        return read(solver);
      case 8:
        return set(solver);
      case 9:
        return results(solver);
      case 10:
        return parts(solver);
      case 11:
        return budgets();
      default:
        return other(solver);
    }
  }

  int done = 0, refused = 0;

 private:
  static int stop(void* context, double) {
    return static_cast<Fuzz*>(context)->below(2) == 0;
  }
  std::int64_t below(std::int64_t n) {
    return static_cast<std::int64_t>(random_() % static_cast<unsigned>(n));
  }
  void set(espalier_solver* solver) {
    if (below(2) == 0)
      return see(espalier_solver_set_progress(solver, odd() ? &stop : nullptr, this));
    see(espalier_solver_set_refinement(solver,
                                       static_cast<std::int32_t>(below(odd() ? 4 : 3)),
                                       static_cast<std::int32_t>(below(odd() ? 3 : 2))),
        {"options"});
  }
  bool odd() { return below(12) == 0; }  // a wrong argument
  std::int64_t bound() {
    constexpr std::array<std::int64_t, 7> kBounds = {
        0, -1, INT64_MAX, 1, std::int64_t{1} << 40, INT64_MIN, -2};
    return kBounds[static_cast<std::size_t>(below(odd() ? 7 : 3))];
  }

  // Every code is one of the header; a refusal names an argument of the call, or what has
  // to come before it.
  using Names = std::initializer_list<const char*>;
  void see(int status, Names names = {}) {
    if (status == 0) {
      ++done;
      return;
    }
    ++refused;
    EXPECT_TRUE(status == -EINVAL || status == -ENOMEM || status == -EDOM ||
                status == -ECANCELED || status == -EOVERFLOW || status == -EIO)
        << status;
    const std::string text = espalier_solver_last_error();
    EXPECT_FALSE(text.empty());
    if (status != -EINVAL) return;
    constexpr std::array<const char*, 4> kAlways = {"solver is NULL", "plan first",
                                                    "factorise first", "fit"};
    const auto found = [&](const char* name) {
      return text.find(name) != std::string::npos;
    };
    EXPECT_TRUE(std::ranges::any_of(names, found) || std::ranges::any_of(kAlways, found))
        << text;
  }

  Case make_case() {
    Case made;
    const std::int64_t n = below(9);
    made.input.order = n;
    made.input.format = static_cast<std::int32_t>(below(4));
    made.input.scalar = below(3) == 0 ? ESPALIER_SOLVER_COMPLEX : ESPALIER_SOLVER_REAL;
    made.input.symmetry = static_cast<std::int32_t>(below(made.is_complex() ? 5 : 4));
    made.input.index_bits = below(2) == 0 ? 32 : 64;
    made.input.index_base = static_cast<std::int32_t>(below(2));
    if (made.input.format == ESPALIER_SOLVER_ELEMENTS)
      fill_elements(made);
    else
      fill_entries(made);
    return made;
  }

  void fill_elements(Case& made) {
    const std::int64_t n = made.input.order, base = made.input.index_base;
    made.input.entries = n == 0 ? 0 : below(6);
    made.starts = {base};
    for (std::int64_t e = 0; e < made.input.entries; ++e) {
      const std::int64_t k = below(n + 1), first = below(n);
      for (std::int64_t i = 0; i < k; ++i) made.rows.push_back((first + i) % n + base);
      for (std::int64_t i = 0; i < 2 * k * k; ++i)
        made.values.push_back(i % (k + 1) == 0 ? 10 : static_cast<double>(below(5)) - 2);
      made.starts.push_back(std::ssize(made.rows) + base);
    }
  }

  void fill_entries(Case& made) {
    const std::int64_t n = made.input.order, base = made.input.index_base;
    made.starts.assign(static_cast<std::size_t>(n) + 1, base);
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t l = 0; l < n; ++l) {
        if (k != l && below(3) != 0) continue;
        made.rows.push_back((made.input.format == ESPALIER_SOLVER_ROWS ? k : l) + base);
        made.columns.push_back((made.input.format == ESPALIER_SOLVER_ROWS ? l : k) +
                               base);
        made.values.push_back(k == l ? 10 : static_cast<double>(below(5)) - 2);
      }
      made.starts[static_cast<std::size_t>(k) + 1] =
          static_cast<std::int64_t>(made.rows.size()) + base;
    }
    made.input.entries = std::ssize(made.values);
    if (!made.is_complex()) return;
    std::vector<double> both;
    for (const double value : made.values) {
      both.push_back(value);
      both.push_back(value == 10 ? 0 : static_cast<double>(below(3)) - 1);
    }
    made.values = both;
  }

  void analyse(espalier_solver*& solver, Case& given) {
    given.point_to_arrays();
    espalier_solver_options options = some_options(given.input.order);
    std::array<std::int32_t, 3> kept{};
    if (below(4) == 0) {
      for (std::int32_t& each : kept)
        each = static_cast<std::int32_t>(below(odd() ? 12 : 9)) - (odd() ? 1 : 0);
      options.schur = odd() ? nullptr : kept.data();
      options.schur_count = below(4) - (odd() ? 1 : 0);
    }
    const std::int64_t order = given.input.order;
    if (odd()) spoil(given, options);
    if (given.input.order > order) options.order = nullptr;  // it would be read beyond
    solver = nullptr;
    see(espalier_solver_analyse(&solver, odd() && odd() ? nullptr : &given.input,
                                odd() ? nullptr : &options),
        {"input", "options", "schur", "entry", "values", "column", "symmetric",
         "Hermitian", "triangle"});
  }

  // Some of them on StarPU, and some of those out of core.
  espalier_solver_options some_options(std::int64_t order) {
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.kind = static_cast<std::int32_t>(below(4));
    options.precision = static_cast<std::int32_t>(below(2));
    options.scaling = static_cast<std::int32_t>(below(4));
    options.no_refinement = static_cast<std::int32_t>(below(3));
    options.factor_parts = static_cast<std::int32_t>(below(odd() ? 3 : 2));
    options.workers = 2;
    if (odd()) options.low_rank = static_cast<double>(below(3)) - 0.5;
    if (odd()) options.ordering = static_cast<std::int32_t>(below(9)) - 1;
    if (odd()) options.front_grids = static_cast<std::int32_t>(below(4));
    if (odd()) options.progress = &stop;
    options.progress_context = this;
    if (below(6) == 0) {
      order_.resize(static_cast<std::size_t>(std::max<std::int64_t>(order, 0)));
      std::iota(order_.rbegin(), order_.rend(), odd() ? 1 : 0);
      options.order = order_.data();
    }
    if (below(60) != 0) return options;
    options.runtime = ESPALIER_SOLVER_RUNTIME_STARPU;
    if (below(2) == 0) options.out_of_core = odd() ? "/nowhere" : folder_.path().c_str();
    return options;
  }

  ColumnCase make_columns(std::int32_t order) {
    ColumnCase made;
    made.matrix.order = order;
    made.matrix.storage = static_cast<std::int32_t>(below(2));
    for (std::int32_t j = 0; j < order; ++j) {
      for (std::int32_t i = made.matrix.storage == 1 ? j : 0; i < order; ++i) {
        if (i != j && below(3) != 0) continue;
        made.rows.push_back(i);
        made.values.push_back(i == j ? 10 : static_cast<double>(below(5)) - 2);
      }
      made.starts.push_back(std::ssize(made.rows));
    }
    made.point_to_arrays();
    if (odd()) spoil(made);
    return made;
  }

  void spoil(ColumnCase& given) {
    const auto any = static_cast<std::int32_t>(below(100)) - 50;
    switch (below(6)) {
      case 0:
        given.matrix.order = std::min(any, given.matrix.order);
        break;
      case 1:
        given.matrix.storage = any;
        break;
      case 2:
        given.matrix.rows = nullptr;
        break;
      case 3:
        given.matrix.column_start = nullptr;
        break;
      case 4:
        if (!given.rows.empty()) given.rows.back() = any;
        break;
      default:
        given.starts.back() = any % (std::ssize(given.rows) + 1);
    }
  }

  static constexpr Names kOfColumns = {"matrix", "options", "entry",    "column",
                                       "values", "order",   "symmetric"};

  void create(espalier_solver*& solver) {
    const ColumnCase given = make_columns(static_cast<std::int32_t>(below(9)));
    const espalier_solver_options options = some_options(given.matrix.order);
    solver = nullptr;
    see(espalier_solver_create(odd() ? nullptr : &solver, odd() ? nullptr : &given.matrix,
                               odd() ? nullptr : &options),
        kOfColumns);
  }

  void refactorise(espalier_solver* solver) {
    std::int32_t order = static_cast<std::int32_t>(below(9));
    espalier_solver_statistics facts{};
    facts.size = sizeof facts;
    if (!odd() && espalier_solver_read_statistics(solver, &facts) == 0)
      order = facts.order;
    const ColumnCase given = make_columns(order);
    see(espalier_solver_refactorise(solver, odd() ? nullptr : &given.matrix), kOfColumns);
  }

  void save_and_load(espalier_solver*& solver, std::size_t& place) {
    const std::string path = folder_.path() + "/factor";
    const int status = espalier_solver_save(solver, odd() ? nullptr : path.c_str());
    see(status, {"path", "schur", "low rank"});
    if (status != 0) return;
    const espalier_solver_options options = some_options(-1);
    espalier_solver* loaded = nullptr;
    see(espalier_solver_load(&loaded, path.c_str(), odd() ? nullptr : &options),
        {"options", "schur"});
    if (loaded == nullptr) return;
    espalier_solver_destroy(solver);
    solver = loaded;
    place = SIZE_MAX;
  }

  void spoil(Case& given, espalier_solver_options& options) {
    const auto any = static_cast<std::int32_t>(below(100)) - 50;
    if (!given.rows.empty() && below(2) == 0) {
      const auto at = static_cast<std::size_t>(below(std::ssize(given.rows)));
      given.rows[at] = any;
      if (at < given.columns.size()) given.columns[at] = -any;
      if (below(3) == 0 && at < given.values.size()) given.values[at] = std::nan("");
    }
    switch (below(9)) {
      case 0:
        given.input.order = any;
        // What is read of it must be there: orders beyond the arrays are not tried.
        given.input.order = std::min<std::int64_t>(any, std::ssize(given.starts) - 1);
        break;
      case 1:  // another form would read beyond the arrays of this one
        given.input.format = any >= 0 && any <= ESPALIER_SOLVER_ELEMENTS ? -1 : any;
        break;
      case 2:
        given.input.symmetry = any;
        break;
      case 3:
        given.input.index_base = any;
        break;
      case 4:
        given.input.starts = nullptr;
        break;
      case 5:
        given.input.size = static_cast<std::size_t>(std::abs(any));
        break;
      case 6:
        given.starts.back() = given.input.format == ESPALIER_SOLVER_ELEMENTS
                                  ? -1
                                  : any % (std::ssize(given.rows) + 1);
        break;
      case 7:
        options.kind = any;
        break;
      default:
        options.pivot_threshold = any;
    }
  }

  void factor_values(espalier_solver* solver, std::size_t place) {
    if (place >= cases_.size()) return;
    Case& given = cases_[place];
    std::vector<double> values = given.values;
    for (double& value : values) value *= 1 + static_cast<double>(below(3));
    if (odd() && !values.empty()) values[0] = HUGE_VAL;
    see(espalier_solver_factorise_values(solver, odd() ? nullptr : values.data(),
                                         given.count() - (odd() ? 1 : 0)),
        {"values", "entries", "entry", "analyse", "symmetric", "triangle"});
  }

  void solve(espalier_solver* solver) {
    const auto nrhs = static_cast<std::int32_t>(below(odd() ? 4 : 3)) - (odd() ? 1 : 0);
    std::vector<double> b(128, 1.0), x(128);
    if (odd()) b[0] = std::nan("");
    const std::int64_t ldb = odd() ? below(10) - 2 : 9, ldx = odd() ? below(12) - 2 : 10;
    const int status = espalier_solver_solve_block(
        solver, static_cast<std::int32_t>(below(odd() ? 3 : 2)), nrhs,
        odd() ? nullptr : b.data(), ldb, odd() ? nullptr : x.data(), ldx);
    see(status, {"transposed", "right-hand side", "nrhs", "b is", "x is", "ldb", "ldx"});
    if (below(4) == 0)
      see(espalier_solver_solve(solver, 0, nrhs, odd() ? nullptr : b.data()),
          {"vectors", "right-hand side", "nrhs"});
  }

  void results(espalier_solver* solver) {
    double mantissa = 0;
    std::int64_t exponent = 0;
    see(espalier_solver_read_determinant(solver, odd() ? nullptr : &mantissa,
                                         odd() ? nullptr : &exponent),
        {"mantissa", "exponent", "complex"});
    double argument = 0;
    see(espalier_solver_read_complex_determinant(
            solver, &mantissa, odd() ? nullptr : &exponent, odd() ? nullptr : &argument),
        {"exponent", "argument", "real"});
    std::array<double, 256> block{};
    const std::int64_t leading = odd() ? below(12) - 2 : 9;
    see(espalier_solver_read_schur(solver, odd() ? nullptr : block.data(), leading),
        {"block", "leading", "schur"});
    see(espalier_solver_read_null_space(solver,
                                        static_cast<std::int32_t>(below(odd() ? 3 : 2)),
                                        odd() ? nullptr : block.data(), leading),
        {"transposed", "basis", "leading", "perturbed"});
  }

  void parts(espalier_solver* solver) {
    std::vector<double> b(128, 1.0);
    see(espalier_solver_solve_part(solver,
                                   static_cast<std::int32_t>(below(odd() ? 5 : 4)),
                                   static_cast<std::int32_t>(below(odd() ? 4 : 2)), 1,
                                   odd() ? nullptr : b.data(), 9, b.data(), 9),
        {"part", "transposed", "b is"});
    std::array<std::int32_t, 4> rows{}, columns{};
    for (std::size_t k = 0; k < rows.size(); ++k) {
      rows[k] = static_cast<std::int32_t>(below(odd() ? 12 : 3)) - (odd() ? 1 : 0);
      columns[k] = static_cast<std::int32_t>(below(odd() ? 12 : 3));
    }
    see(espalier_solver_read_inverse(solver, odd() ? -1 : below(5),
                                     odd() ? nullptr : rows.data(),
                                     odd() ? nullptr : columns.data(), b.data()),
        {"count", "rows", "columns", "singular"});
  }

  void budgets() {
    espalier_solver_budget* budget = nullptr;
    see(espalier_solver_budget_create(odd() ? nullptr : &budget, bound()),
        {"budget", "bytes"});
    std::int64_t left = 0;
    see(espalier_solver_budget_read(budget, nullptr, nullptr, odd() ? nullptr : &left),
        {"budget"});
    espalier_solver_budget_destroy(budget);
  }

  void read(espalier_solver* solver) {
    espalier_solver_statistics facts{};
    facts.size = odd() ? static_cast<std::size_t>(below(400)) : sizeof facts;
    if (facts.size > sizeof facts) facts.size = sizeof facts;
    see(espalier_solver_read_statistics(solver, odd() ? nullptr : &facts),
        {"statistics"});
    std::array<std::int32_t, 16> order{};
    see(espalier_solver_read_order(solver, odd() ? nullptr : order.data()), {"order"});
    std::int64_t least = 0;
    see(espalier_solver_least(solver, odd() ? nullptr : &least, nullptr), {"in_core"});
  }

  void other(espalier_solver* solver) {
    std::int64_t parsed = 0;
    std::string text = "auto12GiBmin";
    text = text.substr(static_cast<std::size_t>(below(8)),
                       static_cast<std::size_t>(below(6)));
    see(espalier_solver_parse_memory(odd() ? nullptr : text.c_str(), &parsed),
        {"text", text.empty() ? "size" : text.c_str(), "size"});
    see(espalier_solver_save(solver, "/nowhere/factor"), {"/nowhere", "schur"});
    espalier_solver* loaded = nullptr;
    see(espalier_solver_load(&loaded, odd() ? nullptr : "/dev/null", nullptr), {"path"});
    EXPECT_EQ(loaded, nullptr);
  }

  support::TemporaryDirectory folder_;
  std::vector<std::int32_t> order_;
  std::mt19937 random_;
  std::array<espalier_solver*, 3> solvers_{};
  std::array<std::size_t, 3> pattern_{SIZE_MAX, SIZE_MAX, SIZE_MAX};
  std::vector<Case> cases_;
};

TEST(CInterfaceFuzz, NoSequenceOfCallsEndsTheProcess) {
  const char* const given = std::getenv("ESPALIER_FUZZ_CALLS");
  const int calls = given != nullptr ? std::atoi(given) : kCalls;
  int done = 0, refused = 0;
  for (unsigned seed = 0; done + refused < calls; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Fuzz fuzz(seed);
    for (int step = 0; step < 60; ++step) fuzz.step();
    done += fuzz.done;
    refused += fuzz.refused;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(done, calls / 10);
  EXPECT_GT(refused, calls / 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
