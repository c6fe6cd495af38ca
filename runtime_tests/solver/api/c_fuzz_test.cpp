// Sequences of calls of the C interface with good and bad arguments, seeded: none ends
// the process, every refusal has a text, and what is said to be solved is.
//
// 6000 calls, under sanitizers 2000; 10^5 of them under the address and
// undefined-behaviour sanitizers:
//   cmake --preset asan && cmake --build build/asan --target solver_c_fuzz_test
//   STARPU_NCPU=2 ESPALIER_FUZZ_CALLS=100000 build/asan/tests/solver_c_fuzz_test

#include <espalier_solver.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace espalier::solver {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kCalls = 2000;
#else
constexpr int kCalls = 6000;
#endif

/// A small matrix as triplets or compressed, some of it wrong now and then.
struct Case {
  std::vector<std::int64_t> starts, rows, columns;
  std::vector<double> values;
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
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
    switch (below(11)) {
      case 0:
      case 1:
        espalier_solver_destroy(solver);
        place = cases_.size();
        cases_.push_back(make_case());
        return analyse(solver, cases_.back());
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
        return see(espalier_solver_set_progress(solver, odd() ? &stop : nullptr, this));
      case 9:
        return results(solver);
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
    const std::int32_t base = static_cast<std::int32_t>(below(2));
    made.input.order = n;
    made.input.format = static_cast<std::int32_t>(below(3));
    made.input.symmetry = static_cast<std::int32_t>(below(4));
    made.input.index_bits = 64;
    made.input.index_base = base;
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
    return made;
  }

  void analyse(espalier_solver*& solver, Case& given) {
    given.input.starts = given.starts.data();
    given.input.rows = given.rows.data();
    given.input.columns = given.columns.data();
    given.input.values = given.values.data();
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.kind = static_cast<std::int32_t>(below(4));
    options.precision = static_cast<std::int32_t>(below(2));
    options.scaling = static_cast<std::int32_t>(below(4));
    options.no_refinement = static_cast<std::int32_t>(below(3));
    std::array<std::int32_t, 3> kept{};
    if (below(4) == 0) {
      for (std::int32_t& each : kept)
        each = static_cast<std::int32_t>(below(odd() ? 12 : 9)) - (odd() ? 1 : 0);
      options.schur = odd() ? nullptr : kept.data();
      options.schur_count = below(4) - (odd() ? 1 : 0);
    }
    if (odd()) spoil(given, options);
    see(espalier_solver_analyse(&solver, odd() && odd() ? nullptr : &given.input,
                                odd() ? nullptr : &options),
        {"input", "options", "schur", "entry", "values", "column", "symmetric",
         "triangle"});
  }

  void spoil(Case& given, espalier_solver_options& options) {
    const auto any = static_cast<std::int32_t>(below(100)) - 50;
    if (!given.rows.empty() && below(2) == 0) {
      const auto at = static_cast<std::size_t>(below(std::ssize(given.rows)));
      given.rows[at] = any;
      given.columns[at] = -any;
      if (below(3) == 0) given.values[at] = std::nan("");
    }
    switch (below(9)) {
      case 0:
        given.input.order = any;
        // What is read of it must be there: orders beyond the arrays are not tried.
        given.input.order = std::min<std::int64_t>(any, std::ssize(given.starts) - 1);
        break;
      case 1:
        given.input.format = any;
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
        given.starts.back() = any % (std::ssize(given.rows) + 1);
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
    const std::int64_t count = std::ssize(values) - (odd() ? 1 : 0);
    see(espalier_solver_factorise_values(solver, odd() ? nullptr : values.data(), count),
        {"values", "entries", "entry", "analyse", "symmetric", "triangle"});
  }

  void solve(espalier_solver* solver) {
    const auto nrhs = static_cast<std::int32_t>(below(odd() ? 4 : 3)) - (odd() ? 1 : 0);
    std::vector<double> b(64, 1.0), x(64);
    if (odd()) b[0] = std::nan("");
    const std::int64_t ldb = odd() ? below(10) - 2 : 9, ldx = odd() ? below(12) - 2 : 10;
    const int status = espalier_solver_solve_block(
        solver, static_cast<std::int32_t>(below(odd() ? 3 : 2)), nrhs,
        odd() ? nullptr : b.data(), ldb, odd() ? nullptr : x.data(), ldx);
    see(status, {"transposed", "right-hand side", "b is", "x is", "ldb", "ldx"});
    if (below(4) == 0)
      see(espalier_solver_solve(solver, 0, nrhs, odd() ? nullptr : b.data()),
          {"vectors", "right-hand side"});
  }

  void results(espalier_solver* solver) {
    double mantissa = 0;
    std::int64_t exponent = 0;
    see(espalier_solver_read_determinant(solver, odd() ? nullptr : &mantissa,
                                         odd() ? nullptr : &exponent),
        {"mantissa", "exponent"});
    std::array<double, 128> block{};
    const std::int64_t leading = odd() ? below(12) - 2 : 9;
    see(espalier_solver_read_schur(solver, odd() ? nullptr : block.data(), leading),
        {"block", "leading", "schur"});
    see(espalier_solver_read_null_space(solver,
                                        static_cast<std::int32_t>(below(odd() ? 3 : 2)),
                                        odd() ? nullptr : block.data(), leading),
        {"transposed", "basis", "leading", "perturbed"});
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

}  // namespace
}  // namespace espalier::solver
