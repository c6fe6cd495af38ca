#include "espalier/training/transformer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/training/training_graph.h"
#include "support/error_message.h"

namespace espalier {
namespace TEST_SOURCE {

std::int64_t parameters(const TransformerShape& shape) {
  return training_graph(transformer(shape)).parameters;
}

TEST(Transformer, HasTheParametersOfTheFormula) {
  EXPECT_EQ(parameters(transformer_shape("gpt2-xl")), 1'557'611'200);
  for (const char* text :
       {"tiny", "gpt2", "layers=3,width=24,heads=2,sequence=5,vocabulary=11"}) {
    const TransformerShape s = transformer_shape(text);
    const std::int64_t d = s.width;
    EXPECT_EQ(parameters(s), s.layers * (12 * d * d + 13 * d) + s.vocabulary * d +
                                 s.sequence * d + 2 * d)
        << text;
  }
}

// What the way back reads of one block more: 34 s b d + 5 h s² b bytes in 16 bits
// [KCL+23].
TEST(Transformer, KeepsOfABlockWhatIsPublished) {
  TransformerShape shape =
      transformer_shape("layers=2,width=32,heads=4,sequence=16,vocabulary=64");
  shape.type = ElementType::kFloat16;
  shape.batch = 3;
  const auto kept = [&] {
    const TrainingGraph step = training_graph(transformer(shape), {.in_place = false});
    Bytes bytes = 0;
    for (std::size_t t = 0; t < step.graph.tensors().size(); ++t) {
      const TensorId id = tensor_id(t);
      const Tensor& tensor = step.graph.tensor(id);
      const auto producer = step.graph.producer(id);
      const bool forward =
          producer && step.phase[index(*producer)] == StepPhase::kForward;
      // Moments of rows are left out of the published count.
      if (!forward || tensor.shape.back() == 1 || tensor.sharing != Sharing::kOwn)
        continue;
      bool read = false;
      for (std::size_t v = 0; v < step.graph.tensors().size(); ++v) {
        if (step.graph.storage(tensor_id(v)) != id) continue;
        for (const OperatorId reader : step.graph.readers(tensor_id(v)))
          read = read || step.phase[index(reader)] == StepPhase::kBackward;
      }
      if (read) bytes += tensor.bytes;
    }
    return bytes;
  };
  const Bytes two = kept();
  shape.layers = 3;
  const Bytes sbd = 16 * 3 * 32;
  EXPECT_EQ(kept() - two, 34 * sbd + 5 * 4 * 16 * 16 * 3);
}

TEST(Transformer, DropsWhatIsAsked) {
  const auto dropouts = [](std::string_view text) {
    const OperatorGraph graph = transformer(transformer_shape(text));
    return std::ranges::count(graph.operators(), "Dropout", &Operator::type);
  };
  EXPECT_EQ(dropouts("layers=2,width=32,heads=4"), 6);
  EXPECT_EQ(dropouts("layers=2,width=32,heads=4,dropout=0"), 0);
  EXPECT_EQ(transformer_shape("dropout=0.25").dropout, 0.25);
}

TEST(Transformer, RefusesShapesThatAreNone) {
  for (const char* text :
       {"gpt5", "layers=0", "layers=2,depth=3", "width=10,heads=3", "layers=", "layers=x",
        "dropout=1", "dropout=-0.1", "dropout=x", "dropout=", "layers=2.5",
        "layers=2,layers=2", "dropout=0,layers=2,dropout=0"})
    EXPECT_THROW((void)transformer_shape(text), InvalidInput) << text;
  for (const auto& [text, message] :
       {std::pair("layers=0", "a transformer's layers: 0 is not 1 or more"),
        std::pair("layers=x", "a transformer's layers: 'x' is not a whole number"),
        std::pair("dropout=1", "a transformer's dropout is from 0 to below 1, not 1")})
    EXPECT_EQ(
        support::error_message<InvalidInput>([&] { (void)transformer_shape(text); }),
        message);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
