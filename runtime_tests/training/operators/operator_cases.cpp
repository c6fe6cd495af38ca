// One table of cases: over 300 lines.

#include "training/operators/operator_cases.h"

#include <tuple>
#include <utility>

namespace espalier::training {
namespace {

using Kind = OperatorKind;
using Dims = std::vector<std::int64_t>;

TensorShape t(Dims dims) {
  const TensorFormat format = fastest_format(dims);
  return {ElementType::kFloat32, std::move(dims), format};
}
TensorShape plain(Dims dims) { return {ElementType::kFloat32, std::move(dims)}; }
TensorShape whole(Dims dims) { return {ElementType::kInt64, std::move(dims)}; }
TensorShape bytes(Dims dims) { return {ElementType::kUint8, std::move(dims)}; }

Window window(std::int64_t kernel, std::int64_t stride, std::int64_t pad,
              std::int64_t groups = 1, std::int64_t dilation = 1) {
  return {.kernel = {kernel, kernel},
          .strides = {stride, stride},
          .dilations = {dilation, dilation},
          .pads_begin = {pad, pad},
          .pads_end = {pad, pad},
          .groups = groups};
}

OperatorSpec with(Kind kind, const OperatorSpec& like = {}) {
  OperatorSpec spec = like;
  spec.kind = kind;
  return spec;
}

OperatorCase convolution(std::string name, const Window& w, const Dims& x, const Dims& k,
                         const Dims& y, bool bias) {
  const OperatorSpec spec{.kind = Kind::kConvolution, .window = w};
  OperatorCase test{std::move(name), spec, {t(x), plain(k)}, {t(y)}};
  test.backward = {{with(Kind::kConvolutionBackwardData, spec), {g(), in(1)}, {0}},
                   {with(Kind::kConvolutionBackwardWeights, spec), {in(0), g()}, {1}}};
  if (!bias) return test;
  test.inputs.push_back(plain({k[0]}));
  test.backward[1].writes.push_back(2);
  return test;
}

void add_linear(std::vector<OperatorCase>& cases) {
  cases.push_back(convolution("convolution 3x3", window(3, 1, 1), {2, 16, 6, 5},
                              {32, 16, 3, 3}, {2, 32, 6, 5}, true));
  cases.push_back(convolution("convolution of an image", window(7, 2, 3), {2, 3, 13, 13},
                              {16, 3, 7, 7}, {2, 16, 7, 7}, false));
  cases.push_back(convolution("convolution 1x1 of odd channels", window(1, 1, 0),
                              {2, 10, 4, 4}, {6, 10, 1, 1}, {2, 6, 4, 4}, true));
  cases.push_back(convolution("grouped convolution", window(3, 2, 1, 2), {2, 8, 7, 7},
                              {16, 4, 3, 3}, {2, 16, 4, 4}, true));
  cases.push_back(convolution("in groups, from one format to another", window(1, 1, 0, 4),
                              {2, 32, 4, 4}, {24, 8, 1, 1}, {2, 24, 4, 4}, true));
  cases.push_back(convolution("depthwise, dilated", window(3, 1, 2, 6, 2), {1, 6, 7, 7},
                              {6, 1, 3, 3}, {1, 6, 7, 7}, false));
  const OperatorSpec mm{.kind = Kind::kMatMul};
  OperatorSpec nt = mm, tn = mm;
  nt.transpose_b = true;
  tn.transpose_a = true;
  OperatorSpec rows{.kind = Kind::kReduce};
  cases.push_back(
      {"inner product",
       nt,
       {plain({5, 7}), plain({3, 7}), plain({3})},
       {plain({5, 3})},
       {{mm, {g(), in(1)}, {0}}, {tn, {g(), in(0)}, {1}}, {rows, {g()}, {2}}}});
  cases.push_back({"product of rows in batches",
                   mm,
                   {plain({2, 5, 7}), plain({7, 3})},
                   {plain({2, 5, 3})},
                   {{nt, {g(), in(1)}, {0}}, {tn, {in(0), g()}, {1}}}});
  OperatorSpec scaled = nt, scaled_a = mm, scaled_b = tn;
  scaled.alpha = scaled_a.alpha = scaled_b.alpha = 0.25;
  cases.push_back({"scaled products in batches",
                   scaled,
                   {plain({2, 3, 5, 4}), plain({2, 3, 6, 4})},
                   {plain({2, 3, 5, 6})},
                   {{scaled_a, {g(), in(1)}, {0}}, {scaled_b, {g(), in(0)}, {1}}}});
  cases.push_back({"product and matrix",
                   scaled,
                   {plain({4, 6}), plain({5, 6}), plain({4, 5})},
                   {plain({4, 5})}});
}

void add_unary(std::vector<OperatorCase>& cases) {
  using F = UnaryFunction;
  const std::vector<std::pair<std::string, F>> functions = {
      {"relu", F::kRelu},
      {"leaky relu", F::kLeakyRelu},
      {"elu", F::kElu},
      {"sigmoid", F::kSigmoid},
      {"tanh", F::kTanh},
      {"gelu", F::kGelu},
      {"gelu tanh", F::kGeluTanh},
      {"swish", F::kSwish},
      {"hard swish", F::kHardSwish},
      {"exp", F::kExp},
      {"abs", F::kAbs},
      {"square", F::kSquare},
      {"linear", F::kLinear},
      {"log", F::kLog},
      {"sqrt", F::kSqrt},
      {"clip", F::kClip},
      {"power", F::kPower},
      {"selu", F::kSelu},
      {"reciprocal", F::kReciprocal},
      {"hard sigmoid", F::kHardSigmoid},
      {"softplus", F::kSoftplus},
      {"erf", F::kErf}};
  for (const auto& [name, function] : functions) {
    OperatorSpec spec{.kind = Kind::kUnary, .unary = function, .alpha = 0.3, .beta = 0.7};
    OperatorCase test{name, spec, {t({2, 16, 3, 3})}, {t({2, 16, 3, 3})}};
    test.backward = {{with(Kind::kUnaryBackward, spec),
                      {uses_result(spec) ? out(0) : in(0), g()},
                      {0}}};
    for (const F positive : {F::kLog, F::kSqrt, F::kPower, F::kReciprocal})
      if (function == positive) test.low = 0.5;
    cases.push_back(std::move(test));
  }
}

void add_turned(std::vector<OperatorCase>& cases) {
  using F = UnaryFunction;
  for (const auto& [function, alpha, beta] :
       {std::tuple(F::kLeakyRelu, -0.3, 0.0), std::tuple(F::kElu, -0.3, 0.0),
        std::tuple(F::kSelu, -0.3, 0.7), std::tuple(F::kSelu, 0.3, -0.7)}) {
    const OperatorSpec spec{
        .kind = Kind::kUnary, .unary = function, .alpha = alpha, .beta = beta};
    cases.push_back({"a function that is not below 0 where its argument is",
                     spec,
                     {t({2, 16, 3, 3})},
                     {t({2, 16, 3, 3})},
                     {{with(Kind::kUnaryBackward, spec), {in(0), g()}, {0}}}});
  }
}

OperatorSpec binary(BinaryFunction function) {
  return {.kind = Kind::kBinary, .binary = function};
}

void add_sums(std::vector<OperatorCase>& cases) {
  const OperatorSpec reduce{.kind = Kind::kReduce}, copy{.kind = Kind::kCopy};
  const OperatorSpec add = binary(BinaryFunction::kAdd);
  cases.push_back({"add",
                   add,
                   {t({2, 16, 3, 3}), t({2, 16, 3, 3})},
                   {t({2, 16, 3, 3})},
                   {{copy, {g()}, {0}}, {copy, {g()}, {1}}}});
  cases.push_back({"add a row",
                   add,
                   {plain({4, 6}), plain({6})},
                   {plain({4, 6})},
                   {{copy, {g()}, {0}}, {reduce, {g()}, {1}}}});
  cases.push_back({"a row and more",
                   add,
                   {plain({6}), plain({4, 6})},
                   {plain({4, 6})},
                   {{reduce, {g()}, {0}}}});
  cases.push_back({"a row less",
                   binary(BinaryFunction::kSubtract),
                   {plain({6}), plain({4, 6})},
                   {plain({4, 6})}});
  cases.push_back({"sum of three",
                   {.kind = Kind::kSum},
                   {t({2, 16, 3, 3}), t({2, 16, 3, 3}), t({2, 16, 3, 3})},
                   {t({2, 16, 3, 3})},
                   {{copy, {g()}, {2}}}});
}

void add_products(std::vector<OperatorCase>& cases) {
  const OperatorSpec multiply = binary(BinaryFunction::kMultiply);
  const OperatorSpec divide = binary(BinaryFunction::kDivide);
  cases.push_back({"multiply",
                   multiply,
                   {plain({4, 6}), plain({4, 6})},
                   {plain({4, 6})},
                   {{multiply, {g(), in(1)}, {0}}, {multiply, {g(), in(0)}, {1}}}});
  cases.push_back({"scale channels",
                   multiply,
                   {t({2, 16, 3, 3}), plain({16, 1, 1})},
                   {t({2, 16, 3, 3})},
                   {{multiply, {g(), in(1)}, {0}}}});
  cases.push_back({"divide",
                   divide,
                   {plain({4, 6}), plain({4, 6})},
                   {plain({4, 6})},
                   {{divide, {g(), in(1)}, {0}}},
                   0.5,
                   2});
}

void add_reductions(std::vector<OperatorCase>& cases) {
  const OperatorSpec reduce{.kind = Kind::kReduce};
  OperatorSpec mean = reduce, spread{.kind = Kind::kExpand};
  mean.alpha = spread.alpha = 1.0 / 6;
  cases.push_back(
      {"mean of rows", mean, {plain({4, 6})}, {plain({4, 1})}, {{spread, {g()}, {0}}}});
  cases.push_back({"sums of many columns",
                   mean,
                   {plain({71, 3, 45})},
                   {plain({3, 45})},
                   {{spread, {g()}, {0}}}});
  cases.push_back({"bias of channels",
                   reduce,
                   {t({2, 16, 3, 3})},
                   {plain({16, 1, 1})},
                   {{{.kind = Kind::kExpand}, {g()}, {0}}}});
  cases.back().inputs[0].format = TensorFormat::kPlain;
}

void add_masks(std::vector<OperatorCase>& cases) {
  OperatorSpec causal{.kind = Kind::kCausalSoftmax, .alpha = 0.5};
  cases.push_back({"causal softmax",
                   causal,
                   {plain({2, 4, 4})},
                   {plain({2, 4, 4})},
                   {{with(Kind::kCausalSoftmaxBackward, causal), {out(0), g()}, {0}}}});
  OperatorSpec drop{.kind = Kind::kDropout, .probability = 0.4, .stream = 3};
  cases.push_back({"dropout",
                   drop,
                   {plain({5, 20})},
                   {plain({5, 20}), bytes({5, 20})},
                   {{with(Kind::kDropoutBackward, drop), {out(1), g()}, {0}}}});
}

// Of kChosen only g is a variable: choices are whole numbers.
void add_choices(std::vector<OperatorCase>& cases) {
  const auto chosen = [](std::int64_t which) {
    return OperatorSpec{.kind = Kind::kChosen, .axis = which};
  };
  for (const BinaryFunction function :
       {BinaryFunction::kMaximum, BinaryFunction::kMinimum})
    cases.push_back({"maximum or minimum of three",
                     {.kind = Kind::kExtreme, .binary = function},
                     {plain({4, 6}), plain({4, 6}), plain({4, 6})},
                     {plain({4, 6}), bytes({4, 6})},
                     {{chosen(0), {out(1), g()}, {0}},
                      {chosen(1), {out(1), g()}, {1}},
                      {chosen(2), {out(1), g()}, {2}}}});
  cases.push_back({"maximum with a row",
                   {.kind = Kind::kExtreme, .binary = BinaryFunction::kMaximum},
                   {plain({6}), plain({4, 6})},
                   {plain({4, 6}), bytes({4, 6})}});
  OperatorCase where{"where",
                     {.kind = Kind::kWhere},
                     {bytes({6}), plain({4, 6}), plain({4, 6})},
                     {plain({4, 6})},
                     {{chosen(1), {in(0), g()}, {1}}, {chosen(0), {in(0), g()}, {2}}}};
  where.low = 0, where.high = 1;
  cases.push_back(std::move(where));
}

void add_batch_norms(std::vector<OperatorCase>& cases) {
  const OperatorSpec batch{.kind = Kind::kBatchNorm};
  const BackwardCase back{
      with(Kind::kBatchNormBackward), {in(0), in(1), out(1), out(2), g()}, {0, 1, 2}};
  for (const std::int64_t channels : {16, 5})
    cases.push_back({"batch norm",
                     batch,
                     {t({3, channels, 4, 4}), plain({channels}), plain({channels})},
                     {t({3, channels, 4, 4}), plain({channels}), plain({channels})},
                     {back}});
  cases.push_back({"batch norm with averages",
                   batch,
                   {t({3, 16, 2, 2}), plain({16}), plain({16}), plain({16}), plain({16})},
                   {t({3, 16, 2, 2}), plain({16}), plain({16})}});
}

void add_local_norms(std::vector<OperatorCase>& cases) {
  OperatorSpec local{.kind = Kind::kLocalNorm, .alpha = 0.3, .beta = 0.75, .size = 5};
  for (const std::int64_t channels : {16, 7})
    cases.push_back({"local norm",
                     local,
                     {t({2, channels, 3, 3})},
                     {t({2, channels, 3, 3})},
                     {{with(Kind::kLocalNormBackward, local), {in(0), g()}, {0}}}});
  for (const std::int64_t even : {2, 4}) {
    local.size = even;
    cases.push_back({"local norm over an even window",
                     local,
                     {plain({2, 5, 3, 3})},
                     {plain({2, 5, 3, 3})},
                     {{with(Kind::kLocalNormBackward, local), {in(0), g()}, {0}}}});
  }
}

void add_normalizations(std::vector<OperatorCase>& cases) {
  add_batch_norms(cases);
  cases.push_back({"layer norm",
                   {.kind = Kind::kLayerNorm},
                   {plain({2, 3, 8}), plain({8}), plain({8})},
                   {plain({2, 3, 8}), plain({2, 3}), plain({2, 3})},
                   {{with(Kind::kLayerNormBackward),
                     {in(0), in(1), out(1), out(2), g()},
                     {0, 1, 2}}}});
  for (const std::int64_t groups : {0, 2})
    for (const std::int64_t affine : {6, 2}) {
      if (groups == 0 && affine == 2) continue;
      const OperatorSpec group{.kind = Kind::kGroupNorm, .size = groups};
      const std::int64_t rows = groups == 0 ? 6 : groups;
      cases.push_back({"group norm",
                       group,
                       {plain({3, 6, 2, 3}), plain({affine}), plain({affine})},
                       {plain({3, 6, 2, 3}), plain({3, rows}), plain({3, rows})},
                       {{with(Kind::kGroupNormBackward, group),
                         {in(0), in(1), out(1), out(2), g()},
                         {0, 1, 2}}}});
    }
  for (const std::int64_t axis : {-1, 1})
    for (const bool logarithm : {false, true}) {
      OperatorSpec soft{.kind = Kind::kSoftmax, .logarithm = logarithm, .axis = axis};
      cases.push_back({"softmax",
                       soft,
                       {plain({3, 7, 5})},
                       {plain({3, 7, 5})},
                       {{with(Kind::kSoftmaxBackward, soft), {out(0), g()}, {0}}}});
    }
}

void add_pools(std::vector<OperatorCase>& cases) {
  OperatorSpec max{.kind = Kind::kMaxPool, .window = window(3, 2, 1)};
  for (const std::int64_t channels : {16, 5}) {
    TensorShape indices = bytes({2, channels, 4, 4});
    cases.push_back({"max pool",
                     max,
                     {t({2, channels, 7, 7})},
                     {t({2, channels, 4, 4}), indices},
                     {{with(Kind::kMaxPoolBackward, max), {out(1), g()}, {0}}}});
  }
  for (const bool count : {false, true}) {
    OperatorSpec average{.kind = Kind::kAveragePool, .window = window(3, 2, 1)};
    average.window.count_padding = count;
    cases.push_back({"average pool",
                     average,
                     {t({2, 16, 8, 8})},
                     {t({2, 16, 4, 4})},
                     {{with(Kind::kAveragePoolBackward, average), {g()}, {0}}}});
  }
  OperatorSpec global{.kind = Kind::kAveragePool, .window = window(7, 1, 0)};
  cases.push_back({"global average pool",
                   global,
                   {t({2, 16, 7, 7})},
                   {t({2, 16, 1, 1})},
                   {{with(Kind::kAveragePoolBackward, global), {g()}, {0}}}});
}

void add_peaks(std::vector<OperatorCase>& cases) {
  cases.push_back({"largest of a channel",
                   {.kind = Kind::kPeak},
                   {plain({2, 5, 3, 4})},
                   {plain({2, 5, 1, 1})},
                   {{with(Kind::kPeakBackward), {in(0), out(0), g()}, {0}}}});
}

void add_movement(std::vector<OperatorCase>& cases) {
  const OperatorSpec copy{.kind = Kind::kCopy};
  cases.push_back(
      {"flatten", copy, {t({2, 16, 3, 3})}, {plain({2, 144})}, {{copy, {g()}, {0}}}});
  OperatorSpec transpose{.kind = Kind::kTranspose}, back = transpose;
  transpose.axes = {0, 2, 3, 1};
  back.axes = {0, 3, 1, 2};
  cases.push_back({"transpose",
                   transpose,
                   {plain({2, 3, 4, 5})},
                   {plain({2, 4, 5, 3})},
                   {{back, {g()}, {0}}}});
  OperatorSpec concat{.kind = Kind::kConcat, .axis = 1}, split = concat;
  split.kind = Kind::kSplit;
  cases.push_back({"concat of channels",
                   concat,
                   {t({2, 16, 3, 3}), t({2, 32, 3, 3})},
                   {t({2, 48, 3, 3})},
                   {{split, {g()}, {0, 1}}}});
  split.axis = concat.axis = -1;
  cases.push_back({"split", split, {plain({4, 9})}, {plain({4, 3})}});
  cases.back().outputs = {plain({4, 3}), plain({4, 4}), plain({4, 2})};
  OperatorSpec slice{.kind = Kind::kSlice, .starts = {1, 0}, .steps = {1, 2}};
  cases.push_back({"slice",
                   slice,
                   {plain({4, 6})},
                   {plain({2, 3})},
                   {{with(Kind::kSliceBackward, slice), {g()}, {0}}}});
}

void add_places(std::vector<OperatorCase>& cases) {
  OperatorSpec pad{.kind = Kind::kPad, .starts = {1, -1}, .alpha = 0}, crop = pad;
  crop.starts = {-1, 1};
  cases.push_back(
      {"pad and crop", pad, {plain({3, 5})}, {plain({6, 4})}, {{crop, {g()}, {0}}}});
  const OperatorSpec rows{.kind = Kind::kGather, .axis = 0};
  const OperatorSpec columns{.kind = Kind::kGather, .axis = 1};
  cases.push_back({"gather",
                   rows,
                   {plain({7, 4}), whole({2, 3})},
                   {plain({2, 3, 4})},
                   {{with(Kind::kGatherBackward, rows), {in(1), g()}, {0}}},
                   0,
                   6});
  cases.push_back({"gather columns",
                   columns,
                   {plain({3, 7, 4}), whole({2, 3})},
                   {plain({3, 2, 3, 4})},
                   {{with(Kind::kGatherBackward, columns), {in(1), g()}, {0}}},
                   0,
                   6});
}

}  // namespace

std::vector<OperatorCase> operator_cases() {
  std::vector<OperatorCase> cases;
  add_linear(cases);
  add_unary(cases);
  add_turned(cases);
  add_sums(cases);
  add_products(cases);
  add_reductions(cases);
  add_masks(cases);
  add_choices(cases);
  add_local_norms(cases);
  add_normalizations(cases);
  add_pools(cases);
  add_peaks(cases);
  add_movement(cases);
  add_places(cases);
  return cases;
}

}  // namespace espalier::training
