// Data that are not real: moved and chosen as they are, or refused.

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "training/operators/oracle.h"
#ifdef ESPALIER_WITH_DNNL
#include "training/operators/dnnl_kernels.h"
#endif

namespace espalier::training {
namespace TEST_SOURCE {

using Kind = OperatorKind;

// More than the digits of single precision hold.
constexpr double kLarge = 0x1p40 + 1, kOver = 0x1p24 + 1;

TensorShape of(ElementType type, std::vector<std::int64_t> dims) {
  return {type, std::move(dims)};
}
TensorShape mask(std::vector<std::int64_t> dims) {
  return of(ElementType::kUint8, std::move(dims));
}
TensorShape whole(std::vector<std::int64_t> dims) {
  return of(ElementType::kInt64, std::move(dims));
}
TensorShape whole32(std::vector<std::int64_t> dims) {
  return of(ElementType::kInt32, std::move(dims));
}
TensorShape real(std::vector<std::int64_t> dims) {
  return of(ElementType::kFloat32, std::move(dims));
}

void expect_run(const OperatorSpec& spec, const std::vector<TensorShape>& inputs,
                const std::vector<TensorShape>& outputs,
                const std::vector<Values>& values, const std::vector<Values>& expected) {
  EXPECT_EQ(run_oracle(spec, inputs, outputs, values), expected);
#ifdef ESPALIER_WITH_DNNL
  EXPECT_EQ(run_dnnl(spec, inputs, outputs, values), expected);
#endif
}

using Make = std::unique_ptr<Kernel> (*)(const OperatorSpec&, const KernelTensors&);

std::string refusal_of(Make make, const OperatorSpec& spec,
                       const KernelTensors& tensors) {
  try {
    (void)make(spec, tensors);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "none";
}

// What both say, but for the type in which they compute.
std::string refusal(const OperatorSpec& spec, const std::vector<TensorShape>& inputs,
                    const std::vector<TensorShape>& outputs) {
  const KernelTensors tensors{{inputs.begin(), inputs.end()},
                              {outputs.begin(), outputs.end()}};
  const std::string message = refusal_of(make_reference_kernel, spec, tensors);
#ifdef ESPALIER_WITH_DNNL
  const std::string other = refusal_of(make_dnnl_kernel, spec, tensors);
  EXPECT_EQ(other.substr(other.rfind(',') + 1), message.substr(message.rfind(',') + 1));
#endif
  return message;
}

TEST(TypedKernels, MasksAreSlicedPaddedGatheredAndExpanded) {
  expect_run({.kind = Kind::kSlice, .starts = {0, 1}, .steps = {1, 2}}, {mask({2, 5})},
             {mask({2, 2})}, {{0, 1, 0, 0, 1, 1, 0, 1, 1, 0}}, {{1, 0, 0, 1}});
  expect_run({.kind = Kind::kPad, .starts = {1}, .alpha = 1}, {mask({3})}, {mask({5})},
             {{0, 1, 0}}, {{1, 0, 1, 0, 1}});
  expect_run({.kind = Kind::kGather, .axis = 0}, {mask({3, 2}), whole({2})},
             {mask({2, 2})}, {{0, 1, 1, 1, 1, 0}, {2, 0}}, {{1, 0, 0, 1}});
  expect_run({.kind = Kind::kExpand}, {mask({2, 1})}, {mask({2, 3})}, {{0, 1}},
             {{0, 0, 0, 1, 1, 1}});
}

TEST(TypedKernels, WhereChoosesMasksAndWholeNumbers) {
  const Values chosen = {1, 0, 1};
  expect_run({.kind = Kind::kWhere}, {mask({3}), mask({3}), mask({1})}, {mask({3})},
             {chosen, {1, 1, 0}, {0}}, {{1, 0, 0}});
  expect_run({.kind = Kind::kWhere}, {mask({3}), whole({3}), whole({1})}, {whole({3})},
             {chosen, {kLarge, 2, -3}, {-kLarge}}, {{kLarge, -kLarge, -3}});
}

TEST(TypedKernels, WholeNumbersKeepAllDigits) {
  const Values x = {kLarge, -kLarge, 3, -4, 5, kLarge + 2};
  expect_run({.kind = Kind::kSlice, .starts = {0, 1}, .steps = {1, 1}}, {whole({2, 3})},
             {whole({2, 2})}, {x}, {{-kLarge, 3, 5, kLarge + 2}});
  expect_run({.kind = Kind::kPad, .starts = {1}, .alpha = -7}, {whole({1})}, {whole({2})},
             {{kLarge}}, {{-7, kLarge}});
  expect_run({.kind = Kind::kGather, .axis = 1}, {whole({2, 3}), whole32({2})},
             {whole({2, 2})}, {x, {2, 0}}, {{3, kLarge, kLarge + 2, -4}});
  expect_run({.kind = Kind::kExpand}, {whole({1, 2})}, {whole({2, 2})}, {{kLarge, 2}},
             {{kLarge, 2, kLarge, 2}});
  expect_run({.kind = Kind::kTranspose, .axes = {1, 0}}, {whole({2, 3})}, {whole({3, 2})},
             {x}, {{kLarge, -4, -kLarge, 5, 3, kLarge + 2}});
  expect_run({.kind = Kind::kConcat, .axis = 0}, {whole({2}), whole({1})}, {whole({3})},
             {{kLarge, 1}, {-kLarge}}, {{kLarge, 1, -kLarge}});
  expect_run({.kind = Kind::kSplit, .axis = -1}, {whole32({1, 3})},
             {whole32({1, 2}), whole32({1, 1})}, {{kOver, 1, -kOver}},
             {{kOver, 1}, {-kOver}});
}

TEST(TypedKernels, WholeNumbersAreAddedMultipliedAndCompared) {
  const auto binary = [](BinaryFunction function) {
    return OperatorSpec{.kind = Kind::kBinary, .binary = function};
  };
  const std::vector<TensorShape> inputs = {whole32({2}), whole32({1})};
  const std::vector<TensorShape> outputs = {whole32({2})};
  expect_run(binary(BinaryFunction::kAdd), inputs, outputs, {{kOver, -1}, {2}},
             {{kOver + 2, 1}});
  expect_run(binary(BinaryFunction::kSubtract), inputs, outputs, {{kOver, -1}, {2}},
             {{kOver - 2, -3}});
  expect_run(binary(BinaryFunction::kMultiply), inputs, outputs, {{kOver, -1}, {3}},
             {{3 * kOver, -3}});
  expect_run(binary(BinaryFunction::kMultiply), {whole({2}), whole({2})}, {whole({2})},
             {{kLarge, -5}, {3, 4}}, {{3 * kLarge, -20}});
  expect_run({.kind = Kind::kExtreme, .binary = BinaryFunction::kMaximum},
             {whole({2}), whole({2})}, {whole({2})}, {{kLarge, -5}, {kLarge + 1, -7}},
             {{kLarge + 1, -5}});
  expect_run({.kind = Kind::kExtreme, .binary = BinaryFunction::kMinimum}, inputs,
             outputs, {{kOver, -5}, {-4}}, {{-4, -5}});
}

TEST(TypedKernels, WhatIsComputedInRealNumbersIsRefusedForOthers) {
  const std::string of_whole = "not of type int32";
  const OperatorSpec quotient{.kind = Kind::kBinary, .binary = BinaryFunction::kDivide};
  for (const std::string& message :
       {refusal(quotient, {whole32({2}), whole32({2})}, {whole32({2})}),
        refusal({.kind = Kind::kReduce}, {whole32({2, 3})}, {whole32({1, 3})}),
        refusal({.kind = Kind::kReduce}, {whole32({20, 30})}, {whole32({1, 30})}),
        refusal({.kind = Kind::kExpand, .alpha = 0.5}, {whole32({1})}, {whole32({2})}),
        refusal({.kind = Kind::kUnary}, {whole32({2})}, {whole32({2})}),
        refusal({.kind = Kind::kSoftmax}, {whole32({2, 2})}, {whole32({2, 2})})})
    EXPECT_NE(message.find(of_whole), std::string::npos) << message;
}

TEST(TypedKernels, OneTypeOnlyAndMasksOfBytes) {
  const OperatorSpec sum{.kind = Kind::kBinary};
  EXPECT_EQ(refusal(sum, {whole({2}), whole32({2})}, {whole({2})}),
            "input 2 is of type int32, others are of type int64");
  EXPECT_EQ(
      refusal({.kind = Kind::kWhere}, {whole({2}), whole({2}), whole({2})}, {whole({2})}),
      "input 1 is a mask of type int64");
  EXPECT_EQ(refusal({.kind = Kind::kSlice, .starts = {0}, .steps = {1}},
                    {of(ElementType::kInt16, {2})}, {of(ElementType::kInt16, {2})}),
            "elements of type int16 are not known");
}

TEST(TypedKernels, IndicesBelowZeroCountFromTheEnd) {
  const OperatorSpec gather{.kind = Kind::kGather, .axis = 0};
  expect_run(gather, {real({3, 1}), whole({4})}, {real({4, 1})},
             {{1, 2, 3}, {-1, -3, 0, 2}}, {{3, 1, 1, 3}});
  expect_run({.kind = Kind::kGatherBackward, .axis = 0}, {whole({4}), real({4, 1})},
             {real({3, 1})}, {{-1, -3, 0, 2}, {1, 2, 4, 8}}, {{6, 0, 9}});
  for (const double outside : {-4.0, 3.0})
    EXPECT_THROW((void)run_oracle(gather, {real({3, 1}), whole({1})}, {real({1, 1})},
                                  {{1, 2, 3}, {outside}}),
                 InvalidInput);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
