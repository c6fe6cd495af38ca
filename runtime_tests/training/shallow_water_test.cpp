#include "training/adjoint/shallow_water.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "training/shallow_water_steps.h"
#include "training/taylor.h"

namespace espalier::training {
namespace TEST_SOURCE {

double dot(const Field& a, const Field& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}
double norm(const Field& a) { return std::sqrt(dot(a, a)); }

// A flowing state away from symmetry, on a basin that is not square.
struct Flow {
  ShallowWaterCase test = shallow_water_case(14, 11);
  std::mt19937_64 engine{7};
  Field x;
  Flow() {
    x = random_state(test.basin, 0.3, engine);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += test.initial[i];
    for (double& each : test.drag) each *= 20;
  }
  Field random_drag(double size) {
    std::uniform_real_distribution<double> number(-size, size);
    Field drag(test.basin.cells());
    for (double& each : drag) each = number(engine);
    return drag;
  }
};

Field sum(const Field& a, double factor, const Field& b) {
  Field result = a;
  for (std::size_t i = 0; i < a.size(); ++i) result[i] += factor * b[i];
  return result;
}

TEST(ShallowWater, TangentIsTheLimitOfDifferences) {
  Flow flow;
  const Basin& basin = flow.test.basin;
  const Field dx = random_state(basin, 1, flow.engine), dc = flow.random_drag(0.01);
  const Field tangent = step_tangent(basin, flow.test.drag, dc, flow.x, dx);
  const auto error = [&](double e) {
    const Field up = step(basin, sum(flow.test.drag, e, dc), sum(flow.x, e, dx));
    const Field down = step(basin, sum(flow.test.drag, -e, dc), sum(flow.x, -e, dx));
    return norm(sum(sum(up, -1, down), -2 * e, tangent)) / (2 * e * norm(tangent));
  };
  EXPECT_LT(error(1e-5), 1e-8);
  EXPECT_NEAR(error(2e-2) / error(1e-2), 4, 0.2);
}

TEST(ShallowWater, AdjointIsTheTransposeOfTheTangent) {
  Flow flow;
  const Basin& basin = flow.test.basin;
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Field dx = random_state(basin, 1, flow.engine), dc = flow.random_drag(0.01);
    const Field bar = random_state(basin, 1, flow.engine);
    Field drag_bar(basin.cells());
    const Field x_bar = step_adjoint(basin, flow.test.drag, flow.x, bar, drag_bar);
    const Field tangent = step_tangent(basin, flow.test.drag, dc, flow.x, dx);
    const double forward = dot(tangent, bar);
    const double backward = dot(dx, x_bar) + dot(dc, drag_bar);
    EXPECT_NEAR(forward, backward, 1e-12 * norm(tangent) * norm(bar));
  }
}

TEST(ShallowWater, AdjointHandsFrictionBackByItself) {
  Flow flow;
  const Basin& basin = flow.test.basin;
  const Field dc = flow.random_drag(1), none(basin.state_size());
  const Field bar = random_state(basin, 1, flow.engine);
  Field drag_bar(basin.cells());
  static_cast<void>(step_adjoint(basin, flow.test.drag, flow.x, bar, drag_bar));
  const Field tangent = step_tangent(basin, flow.test.drag, dc, flow.x, none);
  EXPECT_GT(std::abs(dot(tangent, bar)), 0);
  EXPECT_NEAR(dot(tangent, bar), dot(dc, drag_bar), 1e-12 * norm(tangent) * norm(bar));
}

TEST(ShallowWater, TaylorRemainderFallsByFourAHalving) {
  ShallowWaterCase test = shallow_water_case(16, 12);
  constexpr std::int64_t kSteps = 40;
  const Gradient gradient = store_all_gradient(test, kSteps);
  std::mt19937_64 engine(3);
  const Field dx = random_state(test.basin, 1, engine);
  Field dc(test.basin.cells());
  std::uniform_real_distribution<double> number(-0.01, 0.01);
  for (double& each : dc) each = number(engine);
  const double slope = dot(gradient.initial, dx) + dot(gradient.drag, dc);
  const auto remainder = [&](double e) {
    Field x = sum(test.initial, e, dx);
    const Field drag = sum(test.drag, e, dc);
    for (std::int64_t i = 0; i < kSteps; ++i) x = step(test.basin, drag, x);
    return std::abs(misfit(test, x) - gradient.misfit - e * slope);
  };
  expect_second_order(remainder, 0.05, 0.003, 0.15);
}

TEST(ShallowWater, KeepsTheMassOfWater) {
  Flow flow;
  const Basin& basin = flow.test.basin;
  const auto mass = [&](const Field& x) {
    double total = 0;
    for (std::int32_t j = 0; j < basin.ny; ++j)
      for (std::int32_t i = 0; i < basin.nx; ++i)
        total += x[std::size_t(j) * basin.row_size() + std::size_t(i)];
    return total;
  };
  Field x = flow.x;
  for (int i = 0; i < 100; ++i) x = step(basin, flow.test.drag, x);
  EXPECT_NEAR(mass(x), mass(flow.x), 1e-12 * mass(flow.x));
  EXPECT_GT(norm(sum(x, -1, flow.x)), 1);
}

TEST(ShallowWater, LeavesALakeAtRest) {
  const ShallowWaterCase test = shallow_water_case(16, 12);
  const Basin& basin = test.basin;
  Field x(basin.state_size());
  for (std::int32_t j = 0; j < basin.ny; ++j)
    for (std::int32_t i = 0; i < basin.nx; ++i)
      x[std::size_t(j) * basin.row_size() + std::size_t(i)] =
          2 - basin.bed[std::size_t(j * basin.nx + i)];
  const Field start = x;
  for (int i = 0; i < 200; ++i) x = step(basin, test.drag, x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], start[i], 1e-11);
}

// A wave that runs through a basin of even depth: errors fall by 4 when the grid and the
// step are halved.
TEST(ShallowWater, IsOfSecondOrder) {
  constexpr double kPi = 3.14159265358979323846, kDepth = 100, kSide = 1e5;
  const auto error = [&](std::int32_t n) {
    Basin basin{.nx = n, .ny = 4, .dx = kSide / n, .dy = kSide / n, .coriolis = 0};
    const double speed = std::sqrt(basin.gravity * kDepth);
    const double period = 2 * kSide / speed;
    const std::int32_t steps = 4 * n;
    basin.dt = period / steps;
    basin.bed.assign(basin.cells(), -kDepth);
    const Field drag(basin.cells());
    Field x(basin.state_size());
    const auto wave = [&](std::int32_t i) {
      return kDepth + 1e-6 * std::cos(kPi * (i + 0.5) / n);
    };
    for (std::int32_t j = 0; j < 4; ++j)
      for (std::int32_t i = 0; i < n; ++i)
        x[std::size_t(j) * basin.row_size() + std::size_t(i)] = wave(i);
    for (std::int32_t i = 0; i < steps + steps / 8; ++i) x = step(basin, drag, x);
    double worst = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      const double exact =
          kDepth + 1e-6 * std::cos(kPi * (i + 0.5) / n) * std::cos(kPi / 4);
      worst = std::max(worst, std::abs(x[std::size_t(i)] - exact));
    }
    return worst;
  };
  EXPECT_NEAR(error(32) / error(64), 4, 0.4);
}

TEST(ShallowWater, BandsChangeNoBit) {
  const ShallowWaterCase test = shallow_water_case(13, 10);
  const Gradient whole = store_all_gradient(test, 12);
  for (const std::int32_t rows : {1, 2, 3, 7}) {
    const Gradient banded = store_all_gradient(test, 12, rows);
    EXPECT_EQ(whole.misfit, banded.misfit);
    EXPECT_EQ(whole.initial, banded.initial) << rows;
    EXPECT_EQ(whole.drag, banded.drag) << rows;
  }
}

TEST(ShallowWater, AStageMayEndWhereItBegan) {
  const ShallowWaterCase test = shallow_water_case(40, 9);
  const Basin& basin = test.basin;
  const Field y = stage(basin, test.drag, test.initial, test.initial, 0.5, basin.ny);
  const Field apart = stage(basin, test.drag, test.initial, y, 1, basin.ny);
  Field x = test.initial;
  Lines lines(basin.nx);
  shallow_water_stage(basin, test.drag.data(), x.data(), y.data(), 1, x.data(),
                      {0, basin.ny}, lines);
  EXPECT_EQ(x, apart);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
