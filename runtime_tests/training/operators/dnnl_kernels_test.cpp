// Kernels through oneDNN against the oracle.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "espalier/model/error.h"
#include "training/operators/dnnl_kernels.h"
#include "training/operators/oracle.h"

namespace espalier::training {
namespace TEST_SOURCE {

void expect_equal(const std::vector<Values>& found, const std::vector<Values>& expected,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t t = 0; t < found.size(); ++t) {
    double scale = 1e-3;
    for (const double value : expected[t]) scale = std::max(scale, std::abs(value));
    for (std::size_t i = 0; i < found[t].size(); ++i)
      ASSERT_NEAR(found[t][i], expected[t][i], 2e-5 * scale)
          << what << ", output " << t << ", element " << i;
  }
}

TEST(DnnlKernels, AgreeWithTheOracle) {
  std::mt19937_64 random(7);
  std::string refusal;
  for (const OperatorCase& test : operator_cases()) {
    SCOPED_TRACE(test.name);
    const auto inputs = random_inputs(test, random);
    const auto expected = run_oracle(test.spec, test.inputs, test.outputs, inputs);
    std::vector<Values> found;
    try {
      found = run_dnnl(test.spec, test.inputs, test.outputs, inputs);
    } catch (const Error& error) {  // of a oneDNN that would be wrong on this processor
      refusal = error.what();
      ASSERT_NE(refusal.find("loses entries"), std::string::npos) << refusal;
      continue;
    }
    if (test.spec.kind == OperatorKind::kMaxPool) found.resize(1);  // its own indices
    auto compared = expected;
    compared.resize(found.size());
    expect_equal(found, compared, test.name);
    const Values gradient = random_values(test.outputs[0], -1, 1, random);
    for (const BackwardCase& backward : test.backward) {
      if (backward.spec.kind == OperatorKind::kMaxPoolBackward) continue;
      const BackwardRun run = backward_run(test, backward, inputs, expected, gradient);
      expect_equal(run_dnnl(backward.spec, run.inputs, run.outputs, run.values),
                   run_oracle(backward.spec, run.inputs, run.outputs, run.values),
                   test.name + ", backward");
    }
  }
  if (!refusal.empty()) GTEST_SKIP() << refusal;
}

// Of 1, 2, 3, 4 with alpha = size, the windows of 1 before and 2 behind have the sums of
// squares 14, 30, 29 and 25.
TEST(DnnlKernels, LocalNormsOverEvenWindowsReachFurtherBehind) {
  const OperatorSpec spec{
      .kind = OperatorKind::kLocalNorm, .alpha = 4, .beta = 1, .size = 4, .bias = 0};
  const TensorShape x{ElementType::kFloat32, {1, 4, 1, 1}};
  const Values expected = {1.0 / 14, 2.0 / 30, 3.0 / 29, 4.0 / 25};
  const std::vector<Values> by_dnnl = run_dnnl(spec, {x}, {x}, {{1, 2, 3, 4}}),
                            by_oracle = run_oracle(spec, {x}, {x}, {{1, 2, 3, 4}});
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(by_dnnl[0][i], expected[i], 1e-6) << i;
    EXPECT_NEAR(by_oracle[0][i], expected[i], 1e-12) << i;
  }
}

// oneDNN 2.6 divides by the lower half of such an extent.
TEST(DnnlKernels, ExtentsOf33BitsAreRefused) {
  constexpr std::int64_t kLong = std::int64_t{1} << 32;
  const auto plain = [](std::vector<std::int64_t> dims) {
    return TensorShape{ElementType::kFloat32, std::move(dims)};
  };
  for (const std::int64_t extent : {kLong, 3 * kLong, kLong / 2})
    EXPECT_THROW((void)make_dnnl_kernel(
                     {.kind = OperatorKind::kMatMul},
                     {{plain({extent, 4}), plain({4, 3})}, {plain({extent, 3})}}),
                 InvalidInput);
  // Rows of all batches are rows of one matrix.
  EXPECT_THROW((void)make_dnnl_kernel({.kind = OperatorKind::kMatMul},
                                      {{plain({1 << 20, 1 << 12, 4}), plain({4, 3})},
                                       {plain({1 << 20, 1 << 12, 3})}}),
               InvalidInput);
}

TEST(DnnlKernels, UpdateParametersAsTheOracleDoes) {
  // The oracle's runs do not show what is changed in place: one element by hand.
  const TensorShape one{ElementType::kFloat32, {1}};
  const auto kernel = make_dnnl_kernel(
      {.kind = OperatorKind::kAdam, .update = {.rate = 0.1}}, {{one, one, one, one}, {}});
  float w = 1, first = 0, second = 0, dw = 0.5;
  std::byte* const places[] = {
      reinterpret_cast<std::byte*>(&w), reinterpret_cast<std::byte*>(&first),
      reinterpret_cast<std::byte*>(&second), reinterpret_cast<std::byte*>(&dw)};
  kernel->run({places, {}, nullptr, 0, 1});
  EXPECT_NEAR(w, 0.9, 1e-6);  // the first step of Adam is as long as its rate
  EXPECT_NEAR(first, 0.05, 1e-6);
  EXPECT_NEAR(second, 0.00025, 1e-8);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
