// Parts of a solve by MA97 and MA57: one after the other they are the solve. Both of
// them: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "common/session.h"
#include "hsl/ma57.h"
#include "hsl/ma97.h"

namespace TEST_SOURCE {

/// A saddle point by columns of its lower triangle, from 1, with a badly scaled row:
/// (H B^T; B 0) with n unknowns and n / 2 constraints.
struct Saddle {
  explicit Saddle(int half) : order(3 * half) {
    for (int j = 0; j < 2 * half; ++j) {
      add(j, j, j == 1 ? 4e6 : 2 + j % 3);
      if (j + 1 < 2 * half) add(j + 1, j, 0.5);
      add(2 * half + j / 2, j, j % 2 == 0 ? 1 : -2);
      start.push_back(static_cast<int>(row.size()) + 1);
    }
    for (int j = 2 * half; j < order; ++j) {
      add(j, j, 0);
      start.push_back(static_cast<int>(row.size()) + 1);
    }
  }
  void add(int i, int j, double entry) {
    row.push_back(i + 1);
    column.push_back(j + 1);
    value.push_back(entry);
  }
  [[nodiscard]] std::vector<double> times_ones() const {
    std::vector<double> sum(static_cast<std::size_t>(order), 0.0);
    for (std::size_t k = 0; k < row.size(); ++k) {
      sum[static_cast<std::size_t>(row[k]) - 1] += value[k];
      if (row[k] != column[k]) sum[static_cast<std::size_t>(column[k]) - 1] += value[k];
    }
    return sum;
  }
  int order;
  std::vector<int> start = {1}, row, column;
  std::vector<double> value;
};

void expect_ones(const std::vector<double>& x) {
  for (const double each : x) EXPECT_NEAR(each, 1, 1e-9);
}

class Ma97 : public testing::Test {
 protected:
  Ma97() {
    ma97_default_control_d(&control_);
    control_.f_arrays = 1;
    control_.print_level = -1;
    ma97_analyse_d(0, matrix_.order, matrix_.start.data(), matrix_.row.data(), nullptr,
                   &akeep_, &control_, &info_, nullptr);
    factorise();
    EXPECT_EQ(info_.flag, 0);
    EXPECT_EQ(info_.num_neg, matrix_.order / 3);
  }
  ~Ma97() override { ma97_finalise_d(&akeep_, &fkeep_); }
  void factorise() {
    ma97_factor_d(4, matrix_.start.data(), matrix_.row.data(), matrix_.value.data(),
                  &akeep_, &fkeep_, &control_, &info_, nullptr);
  }
  void solve(int job, std::vector<double>& x) {
    ma97_solve_d(job, 1, x.data(), matrix_.order, &akeep_, &fkeep_, &control_, &info_);
  }

  Saddle matrix_{20};
  ma97_control_d control_{};
  ma97_info_d info_{};
  void *akeep_ = nullptr, *fkeep_ = nullptr;
};

TEST_F(Ma97, SaysThatNothingWasAnalysed) {
  ma97_finalise_d(&akeep_, &fkeep_);
  control_.print_level = 0;
  testing::internal::CaptureStderr();
  factorise();
  EXPECT_EQ(info_.flag, -12);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("was not analysed"),
            std::string::npos);
}

TEST_F(Ma97, JobsOneToThreeAreASolve) {
  std::vector<double> x = matrix_.times_ones();
  for (const int job : {1, 2, 3}) {
    solve(job, x);
    EXPECT_EQ(info_.flag, 0) << job;
  }
  expect_ones(x);
}

TEST_F(Ma97, JobsOneAndFourAreASolve) {
  std::vector<double> x = matrix_.times_ones();
  for (const int job : {1, 4}) {
    solve(job, x);
    EXPECT_EQ(info_.flag, 0) << job;
  }
  expect_ones(x);
}

// Places from 1, last variables first; then one place twice.
TEST_F(Ma97, EliminatesInTheHostsOrder) {
  ma97_finalise_d(&akeep_, &fkeep_);
  control_.ordering = 0;
  std::vector<int> place(static_cast<std::size_t>(matrix_.order));
  for (int i = 0; i < matrix_.order; ++i) place[i] = matrix_.order - i;
  const auto analyse = [&] {
    ma97_analyse_d(0, matrix_.order, matrix_.start.data(), matrix_.row.data(), nullptr,
                   &akeep_, &control_, &info_, place.data());
    factorise();
  };
  analyse();
  EXPECT_EQ(info_.flag, 0);
  std::vector<double> x = matrix_.times_ones();
  solve(0, x);
  expect_ones(x);
  ma97_finalise_d(&akeep_, &fkeep_);
  place[1] = place[0];
  analyse();
  EXPECT_LT(info_.flag, 0);
}

// Places are told from where indices begin, and are those of the factor.
class Ma97Order : public Ma97, public testing::WithParamInterface<int> {
 protected:
  void analyse(std::vector<int>& place, double* val = nullptr) {
    ma97_finalise_d(&akeep_, &fkeep_);
    ma97_analyse_d(0, matrix_.order, matrix_.start.data(), matrix_.row.data(), val,
                   &akeep_, &control_, &info_, place.data());
    EXPECT_EQ(info_.flag, 0);
    std::vector<int> sorted = place, all(place.size());
    std::ranges::sort(sorted);
    std::iota(all.begin(), all.end(), 1);
    EXPECT_EQ(sorted, all);
  }
  void expect_of_factor(const std::vector<int>& place) const {
    std::vector<int> taken;
    static_cast<espalier::adapters::Session*>(akeep_)->read_order(taken);
    EXPECT_EQ(taken, place);
  }
  void expect_solves() {
    factorise();
    EXPECT_EQ(info_.flag, 0);
    std::vector<double> x = matrix_.times_ones();
    solve(0, x);
    expect_ones(x);
  }
};

TEST_P(Ma97Order, IsToldByTheAnalysis) {
  control_.ordering = GetParam();
  const auto n = static_cast<std::size_t>(matrix_.order);
  std::vector<int> place(n, -1);
  analyse(place);
  expect_solves();
  // With the values that the order has to suit.
  analyse(place, matrix_.value.data());
  expect_solves();
  expect_of_factor(place);
  // The same by coordinates from 0.
  ma97_finalise_d(&akeep_, &fkeep_);
  std::vector<int> row = matrix_.row, column = matrix_.column, from_0(n, -1);
  for (int& each : row) --each;
  for (int& each : column) --each;
  control_.f_arrays = 0;
  ma97_analyse_coord_d(matrix_.order, static_cast<int>(row.size()), row.data(),
                       column.data(), matrix_.value.data(), &akeep_, &control_, &info_,
                       from_0.data());
  for (int& each : from_0) ++each;
  EXPECT_EQ(from_0, place);
}

// Of a matrix that needs no pairs, by its pattern alone; then it is the host's.
TEST_P(Ma97Order, IsKeptWhereNothingWantsAPartner) {
  control_.ordering = GetParam();
  for (std::size_t k = 0; k < matrix_.row.size(); ++k)
    if (matrix_.row[k] == matrix_.column[k]) matrix_.value[k] = 9;
  std::vector<int> place(static_cast<std::size_t>(matrix_.order), -1);
  analyse(place);
  expect_solves();
  expect_of_factor(place);
  control_.ordering = 0;
  analyse(place);
  expect_solves();
  expect_of_factor(place);
}

INSTANTIATE_TEST_SUITE_P(Orderings, Ma97Order, testing::Values(1, 3, 5));

// By hand: of a star of four no order but with its middle last has no fill.
TEST(Ma97OrderOfTheHost, KeepsItsFill) {
  const int start[] = {0, 4, 5, 6, 7}, row[] = {0, 1, 2, 3, 1, 2, 3};
  ma97_control_d control;
  ma97_info_d info;
  ma97_default_control_d(&control);
  control.ordering = 0;
  void* akeep = nullptr;
  int place[] = {3, 1, 0, 2};
  ma97_analyse_d(0, 4, start, row, nullptr, &akeep, &control, &info, place);
  EXPECT_EQ(info.flag, 0);
  EXPECT_EQ(place[0], 3);
  EXPECT_EQ(place[1] + place[2] + place[3], 0 + 1 + 2);
  ma97_free_akeep_d(&akeep);
  control.print_level = -1;
  int twice[] = {0, 2, 2, 1};
  ma97_analyse_d(0, 4, start, row, nullptr, &akeep, &control, &info, twice);
  EXPECT_EQ(info.flag, -2);
  EXPECT_EQ(akeep, nullptr);
}

TEST_F(Ma97, SaysEachTimeThatABoundIsTooSmall) {
  ma97_finalise_d(&akeep_, &fkeep_);
  setenv("ESPALIER_SOLVER_MEMORY", "1MiB", 1);
  ma97_analyse_d(0, matrix_.order, matrix_.start.data(), matrix_.row.data(), nullptr,
                 &akeep_, &control_, &info_, nullptr);
  for (int time = 0; time < 2; ++time) {
    factorise();
    EXPECT_EQ(info_.flag, -1) << time;
  }
  unsetenv("ESPALIER_SOLVER_MEMORY");
  factorise();
  EXPECT_EQ(info_.flag, 0);
}

TEST_F(Ma97, EmptyVariablesAreNoneAtAll) {
  ma97_finalise_d(&akeep_, &fkeep_);
  for (const char* name : {"ESPALIER_SOLVER_MEMORY", "ESPALIER_SOLVER_WORKERS"})
    setenv(name, "", 1);
  ma97_analyse_d(0, matrix_.order, matrix_.start.data(), matrix_.row.data(), nullptr,
                 &akeep_, &control_, &info_, nullptr);
  factorise();
  EXPECT_EQ(info_.flag, 0);
  for (const char* name : {"ESPALIER_SOLVER_MEMORY", "ESPALIER_SOLVER_WORKERS"})
    unsetenv(name);
}

TEST_F(Ma97, RefusesOtherJobs) {
  std::vector<double> x = matrix_.times_ones();
  for (const int job : {-1, 5}) {
    solve(job, x);
    EXPECT_EQ(info_.flag, -11) << job;
  }
}

TEST_F(Ma97, RefusesWhatIsNotDefiniteWhereThatIsAskedFor) {
  const auto factor = [&] {
    ma97_factor_d(3, nullptr, nullptr, matrix_.value.data(), &akeep_, &fkeep_, &control_,
                  &info_, nullptr);
    return info_.flag;
  };
  EXPECT_EQ(factor(), -8);
  for (std::size_t k = 0; k < matrix_.value.size(); ++k)
    matrix_.value[k] = matrix_.row[k] == matrix_.column[k] ? 1 : 0;
  EXPECT_EQ(factor(), 0);
  matrix_.value[0] = 0;
  EXPECT_EQ(factor(), -8);
}

TEST_F(Ma97, TellsASingularMatrixWhereANumberIsNotFinite) {
  const double before = matrix_.value[4];
  matrix_.value[4] = std::numeric_limits<double>::quiet_NaN();
  factorise();
  EXPECT_EQ(info_.flag, 7);
  std::vector<double> x = matrix_.times_ones();
  matrix_.value[4] = before;
  x = matrix_.times_ones();
  solve(0, x);
  EXPECT_TRUE(std::isnan(x[0]));
  factorise();
  EXPECT_EQ(info_.flag, 0);
  x = matrix_.times_ones();
  solve(0, x);
  expect_ones(x);
}

TEST(Environment, IsNamedWhereItSaysNoNumberOfThreads) {
  const Saddle matrix(2);
  ma97_control_d control{};
  ma97_default_control_d(&control);
  control.f_arrays = 1;
  ma97_info_d info{};
  void* analysis = nullptr;
  setenv("ESPALIER_SOLVER_WORKERS", "two", 1);
  testing::internal::CaptureStderr();
  ma97_analyse_d(0, matrix.order, matrix.start.data(), matrix.row.data(), nullptr,
                 &analysis, &control, &info, nullptr);
  unsetenv("ESPALIER_SOLVER_WORKERS");
  EXPECT_LT(info.flag, 0);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "ESPALIER_SOLVER_WORKERS is 'two': not a number of threads"),
            std::string::npos);
}

// Diagonal matrices by MA57 with ICNTL(7). @return INFO(1)
int factor_diagonal(const std::vector<double>& diagonal, int pivoting) {
  const int n = static_cast<int>(diagonal.size());
  std::vector<int> places(diagonal.size());
  std::iota(places.begin(), places.end(), 1);
  double cntl[5], rinfo[20], fact[8];
  int icntl[20], info[40], keep[1000] = {}, ifact[8], integers[1000];
  const int lengths[] = {8, 1000};
  ma57id_(cntl, icntl);
  icntl[6] = pivoting;
  ma57ad_(&n, &n, places.data(), places.data(), &lengths[1], keep, integers, icntl, info,
          rinfo);
  EXPECT_EQ(info[0], 0);
  ma57bd_(&n, &n, diagonal.data(), fact, &lengths[0], ifact, &lengths[0], &lengths[1],
          keep, integers, icntl, cntl, info, rinfo);
  return info[0];
}

TEST(Ma57, LooksAtPivotsWhereThatIsAskedFor) {
  for (const int pivoting : {1, 2, 3}) {
    EXPECT_EQ(factor_diagonal({1, 2, 3}, pivoting), 0);
    EXPECT_EQ(factor_diagonal({-1, -2, -3}, pivoting), 0);
    EXPECT_EQ(factor_diagonal({1, -2, 3}, pivoting), pivoting == 2 ? -6 : 0);
    EXPECT_EQ(factor_diagonal({1, 0, 3}, pivoting), pivoting == 1 ? 4 : -5);
  }
  testing::internal::CaptureStderr();
  EXPECT_EQ(factor_diagonal({1, 2, 3}, 4), -1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("ICNTL(7) is 4"),
            std::string::npos);
}

/// A diagonal of twos, as MA57's hosts have it.
struct Doubled {
  Doubled() {
    ma57id_(cntl, icntl);
    ma57ad_(&n, &n, places, places, &lengths[1], keep, integers, icntl, info, rinfo);
  }
  int factor() {
    const double twos[] = {2, 2, 2};
    ma57bd_(&n, &n, twos, fact, &lengths[0], ifact, &lengths[0], &lengths[1], keep,
            integers, icntl, cntl, info, rinfo);
    return info[0];
  }
  /// @return x of 2 x = 8, 0 where it is refused
  double solve() {
    double x[] = {8, 8, 8};
    ma57cd_(&one, &n, fact, &lengths[0], ifact, &lengths[0], &one, x, &n, work,
            &lengths[2], integers, icntl, info);
    return info[0] == 0 ? x[2] : 0;
  }
  int n = 3, one = 1, places[3] = {1, 2, 3}, lengths[3] = {8, 100, 100};
  double cntl[5], rinfo[20], fact[8], work[100];
  int icntl[20], info[40], keep[100] = {}, ifact[8] = {}, integers[100];
};

TEST(Ma57, EveryThreadKeepsItsMatrices) {
  std::barrier all(20);
  std::vector<std::thread> threads;
  std::atomic<int> right = 0;
  for (int k = 0; k < 20; ++k)
    threads.emplace_back([&] {
      Doubled matrix;
      all.arrive_and_wait();
      const bool factored = matrix.factor() == 0;
      all.arrive_and_wait();
      right += factored && matrix.solve() == 4 ? 1 : 0;
    });
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(right, 20);
}

TEST(Ma57, AnotherThreadGoesOnWithAMatrix) {
  Doubled matrix;
  std::thread([&] { EXPECT_EQ(matrix.factor(), 0); }).join();
  std::vector<Doubled> others(7);
  EXPECT_EQ(matrix.solve(), 4);
}

TEST(Ma57, SaysThatAMatrixWasGivenUp) {
  std::vector<Doubled> matrices(9);
  for (std::size_t k = 1; k < 9; ++k) EXPECT_EQ(matrices[k].factor(), 0);
  testing::internal::CaptureStderr();
  EXPECT_EQ(matrices[0].factor(), -1);
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "this matrix was given up: of a thread the 8 that it used last stay"),
            std::string::npos);
}

TEST(Ma57, JobsTwoToFourAreASolve) {
  const Saddle matrix(20);
  const int n = matrix.order, entries = static_cast<int>(matrix.row.size());
  double cntl[5], rinfo[20], fact[8], work[100];
  int icntl[20], info[40], keep[1000] = {}, ifact[8], integers[1000];
  const int lengths[] = {8, 1000, 100}, one = 1;
  ma57id_(cntl, icntl);
  ma57ad_(&n, &entries, matrix.row.data(), matrix.column.data(), &lengths[1], keep,
          integers, icntl, info, rinfo);
  ASSERT_EQ(info[0], 0);
  ma57bd_(&n, &entries, matrix.value.data(), fact, &lengths[0], ifact, &lengths[0],
          &lengths[1], keep, integers, icntl, cntl, info, rinfo);
  ASSERT_EQ(info[0], 0);
  std::vector<double> x = matrix.times_ones();
  for (const int job : {2, 3, 4}) {
    ma57cd_(&job, &n, fact, &lengths[0], ifact, &lengths[0], &one, x.data(), &n, work,
            &lengths[2], integers, icntl, info);
    EXPECT_EQ(info[0], 0) << job;
  }
  expect_ones(x);
}

}  // namespace TEST_SOURCE
