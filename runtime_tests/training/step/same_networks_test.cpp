// Operators that broadcast compute what others compute of operands that are as large as
// their result: losses of steps that update, in double precision.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "training/step/draft.h"
#include "training/step/networks.h"

namespace espalier::training {
namespace TEST_SOURCE {

using List = std::vector<std::int64_t>;

// Losses of two steps of a model, whose parameters begin with the same numbers.
std::vector<double> losses(const std::function<TensorId(Draft&)>& draw) {
  Draft draft;
  const TensorId y = draw(draft);
  const TrainingGraph training = training_step(draft.build(y), Optimiser::kSgd);
  OracleStep oracle(training, {.update = {.rate = 0.3}}, 5);
  for (std::size_t t = 0; t < training.graph.tensors().size(); ++t) {
    const Tensor& tensor = training.graph.tensor(tensor_id(t));
    if (tensor.role != TensorRole::kParameter) continue;
    const std::int64_t count = element_count(tensor.shape);
    for (std::int64_t i = 0; i < count; ++i)
      oracle.values(tensor_id(t))[i] = std::sin(static_cast<double>(1 + i + 7 * count));
  }
  std::vector<double> all;
  for (const std::int64_t step : {0, 1}) {
    oracle.run(step);
    all.push_back(oracle.loss());
  }
  return all;
}

void expect_same(const std::function<TensorId(Draft&)>& one,
                 const std::function<TensorId(Draft&)>& other) {
  const std::vector<double> a = losses(one), b = losses(other);
  for (std::size_t step = 0; step < a.size(); ++step)
    EXPECT_NEAR(a[step], b[step], 1e-12 * (1 + std::abs(b[step]))) << "step " << step;
  EXPECT_NE(a[0], a[1]);
}

TensorId expand(Draft& draft, TensorId x, const Shape& shape) {
  return draft.op("Expand", {x, draft.constant(shape)}, shape);
}

TEST(SameNetworks, LayerNormalizationBroadcastsScaleAndBias) {
  const Shape x = {4, 3, 6};
  const Attributes from_1 = {{"axis", std::int64_t{1}}};
  for (const Shape& scale : {Shape{6}, Shape{1}, Shape{}, Shape{3, 1}, Shape{1, 1, 6}})
    for (const Shape& bias : {Shape{3, 6}, Shape{3, 1}, Shape{1}}) {
      const auto direct = [&](Draft& draft) {
        return draft.op("LayerNormalization",
                        {draft.input(x), draft.parameter(scale), draft.parameter(bias)},
                        x, from_1);
      };
      const auto wide = [&](Draft& draft) {
        const TensorId image = draft.input(x);
        const TensorId s = draft.parameter(scale), b = draft.parameter(bias);
        TensorId s_wide =
            expand(draft, s, scale.size() > 2 ? Shape{1, 3, 6} : Shape{3, 6});
        if (scale.size() > 2)
          s_wide = draft.op("Reshape", {s_wide, draft.constant(List{3, 6})}, {3, 6});
        return draft.op("LayerNormalization", {image, s_wide, expand(draft, b, {3, 6})},
                        x, from_1);
      };
      expect_same(direct, wide);
    }
}

TEST(SameNetworks, ProductsBroadcastBatches) {
  struct Product {
    Shape a, b, y, a_wide, b_wide;
  };
  for (const Product& of :
       {Product{{2, 4}, {3, 4, 5}, {3, 2, 5}, {3, 2, 4}, {3, 4, 5}},
        Product{{3, 1, 2, 4}, {5, 4, 6}, {3, 5, 2, 6}, {3, 5, 2, 4}, {3, 5, 4, 6}},
        Product{{3, 2, 4}, {1, 4, 5}, {3, 2, 5}, {3, 2, 4}, {3, 4, 5}}})
    for (const bool trained_first : {true, false}) {
      const auto draw = [&](Draft& draft, bool wide) {
        const TensorId image = draft.input(trained_first ? of.b : of.a);
        const TensorId w = draft.parameter(trained_first ? of.a : of.b);
        TensorId a = trained_first ? w : image, b = trained_first ? image : w;
        if (wide) a = expand(draft, a, of.a_wide), b = expand(draft, b, of.b_wide);
        return draft.op("MatMul", {a, b}, of.y);
      };
      expect_same([&](Draft& draft) { return draw(draft, false); },
                  [&](Draft& draft) { return draw(draft, true); });
    }
}

// A vector beside the matrix of one row, or one column, with the same elements.
TEST(SameNetworks, ProductsTakeVectors) {
  const auto reshape = [](Draft& draft, TensorId x, const Shape& shape) {
    return draft.op("Reshape", {x, draft.constant(shape)}, shape);
  };
  expect_same(
      [](Draft& draft) {
        return draft.op("MatMul", {draft.input({3, 2, 4}), draft.parameter({4})}, {3, 2});
      },
      [&](Draft& draft) {
        const TensorId image = draft.input({3, 2, 4});
        const TensorId w = reshape(draft, draft.parameter({4}), {4, 1});
        return reshape(draft, draft.op("MatMul", {image, w}, {3, 2, 1}), {3, 2});
      });
  expect_same(
      [](Draft& draft) {
        const TensorId image = draft.input({3, 4, 2});
        return draft.op("MatMul", {draft.parameter({4}), image}, {3, 2});
      },
      [&](Draft& draft) {
        const TensorId image = draft.input({3, 4, 2});
        const TensorId w = reshape(draft, draft.parameter({4}), {1, 4});
        const TensorId wide = expand(draft, w, {3, 1, 4});
        return reshape(draft, draft.op("MatMul", {wide, image}, {3, 1, 2}), {3, 2});
      });
}

TEST(SameNetworks, SumsBroadcast) {
  const Shape wide = {4, 5, 6};
  const auto draw = [&](Draft& draft, bool at_once) {
    const TensorId image = draft.input({4, 1, 6});
    const TensorId a = draft.parameter({5, 1}), b = draft.parameter({6});
    if (at_once) return draft.op("Sum", {a, image, b, a}, wide);
    const TensorId sum = draft.op("Add", {a, image}, wide);
    return draft.op("Add", {draft.op("Add", {sum, b}, wide), a}, wide);
  };
  expect_same([&](Draft& draft) { return draw(draft, true); },
              [&](Draft& draft) { return draw(draft, false); });
}

TEST(SameNetworks, ReductionsOfNoAxesMayDoNothing) {
  for (const char* const type : {"ReduceSum", "ReduceMean"})
    for (const bool empty_list : {false, true})
      expect_same(
          [&](Draft& draft) {
            const TensorId x =
                draft.op("Mul", {draft.input({4, 6}), draft.parameter({6})}, {4, 6});
            std::vector<std::optional<TensorId>> inputs = {x};
            if (empty_list) inputs.emplace_back(draft.constant(List{}));
            return draft.op(type, inputs, {4, 6},
                            {{"noop_with_empty_axes", std::int64_t{1}}});
          },
          [&](Draft& draft) {
            return draft.op("Mul", {draft.input({4, 6}), draft.parameter({6})}, {4, 6});
          });
}

TEST(SameNetworks, ExponentsMayBeWholeNumbers) {
  const auto draw = [](Draft& draft, bool whole) {
    const TensorId x =
        draft.op("Mul", {draft.input({4, 6}), draft.parameter({6})}, {4, 6});
    const TensorId exponent = whole ? draft.constant(List{3}) : draft.constant(3.0F);
    return draft.op("Pow", {x, exponent}, {4, 6});
  };
  expect_same([&](Draft& draft) { return draw(draft, true); },
              [&](Draft& draft) { return draw(draft, false); });
}

// max(x, 0) + 0.5 max(-x, 0).
TEST(SameNetworks, LeakyReluTurnsTheOtherSide) {
  const auto draw = [](Draft& draft, bool at_once) {
    const TensorId x =
        draft.op("Mul", {draft.input({4, 6}), draft.parameter({6})}, {4, 6});
    if (at_once) return draft.op("LeakyRelu", {x}, {4, 6}, {{"alpha", -0.5}});
    const TensorId other = draft.op("Relu", {draft.op("Neg", {x}, {4, 6})}, {4, 6});
    const TensorId half = draft.op("Mul", {other, draft.constant(0.5F)}, {4, 6});
    return draft.op("Add", {draft.op("Relu", {x}, {4, 6}), half}, {4, 6});
  };
  expect_same([&](Draft& draft) { return draw(draft, true); },
              [&](Draft& draft) { return draw(draft, false); });
}

// The third piece of three beside a slice of what it is a piece of.
TEST(SameNetworks, PiecesThatNobodyWantsHaveNoGradient) {
  const auto product = [](Draft& draft) {
    return draft.op("Mul", {draft.input({4, 7}), draft.parameter({7})}, {4, 7});
  };
  expect_same(
      [&](Draft& draft) {
        return draft.several("Split", {product(draft)}, {{4, 1}, {4, 4}, {4, 2}},
                             {{"axis", std::int64_t{1}}, {"split", List{1, 4, 2}}})[2];
      },
      [&](Draft& draft) {
        return draft.op("Slice", {product(draft)}, {4, 2},
                        {{"starts", List{5}}, {"ends", List{7}}, {"axes", List{1}}});
      });
}

// A bias that is the running mean, too, is not updated as such.
TEST(SameNetworks, StatisticsWithOtherReadersStayAsTheyAre) {
  const auto draw = [](Draft& draft, bool shared) {
    const TensorId image = draft.input({4, 3});
    const TensorId scale = draft.parameter({3}), bias = draft.parameter({3});
    const TensorId mean = shared ? bias : draft.parameter({3});
    return draft.op("BatchNormalization",
                    {image, scale, bias, mean, draft.parameter({3})}, {4, 3});
  };
  expect_same([&](Draft& draft) { return draw(draft, true); },
              [&](Draft& draft) { return draw(draft, false); });
}

// What has no gradient comes first, or last.
TEST(SameNetworks, InputsWithoutAGradientAreJoined) {
  const auto draw = [](Draft& draft, bool first) {
    const TensorId image = draft.input({4, 2});
    const TensorId x = draft.op("Mul", {image, draft.parameter({2})}, {4, 2});
    const Attributes columns = {{"axis", std::int64_t{1}}};
    const TensorId y = first ? draft.op("Concat", {image, x}, {4, 4}, columns)
                             : draft.op("Concat", {x, image}, {4, 4}, columns);
    if (!first) return y;
    // Columns 2, 3, 0, 1.
    return draft.op("Gather", {y, draft.constant(List{2, 3, 0, 1})}, {4, 4}, columns);
  };
  expect_same([&](Draft& draft) { return draw(draft, true); },
              [&](Draft& draft) { return draw(draft, false); });
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
