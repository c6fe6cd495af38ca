#include "espalier/model/operator_graph.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/model/replay_graph.h"

namespace espalier {
namespace TEST_SOURCE {

// x -> a -> y; b reads y; c overwrites y with z.
struct Overwriting {
  OperatorGraphBuilder builder;
  TensorId x, y, z;
  OperatorId a, b, c;
  Overwriting() {
    x = builder.add_tensor({.name = "x", .shape = {4}, .role = TensorRole::kInput});
    y = builder.add_tensor({.name = "y", .shape = {4}});
    a = builder.add_operator({.type = "A", .inputs = {x}, .outputs = {y}});
    const TensorId out = builder.add_tensor({.name = "out", .shape = {1}, .kept = true});
    b = builder.add_operator({.type = "B", .inputs = {y}, .outputs = {out}});
    z = builder.add_tensor({.name = "z",
                            .shape = {2, 2},
                            .kept = true,
                            .sharing = Sharing::kOverwrite,
                            .shared_with = y});
    c = builder.add_operator({.type = "C", .inputs = {y}, .outputs = {z}});
  }
};

TEST(OperatorGraph, CountsSharedBytesOnce) {
  Overwriting made;
  const OperatorTasks tasks = task_graph_of(std::move(made.builder).build());
  EXPECT_EQ(tasks.datum_of[index(made.z)], tasks.datum_of[index(made.y)]);
  Bytes bytes = 0;
  for (std::size_t i = 0; i < tasks.graph.data(); ++i)
    bytes += tasks.graph.size(datum_id(i));
  EXPECT_EQ(bytes, 16 + 16 + 4);
  EXPECT_TRUE(tasks.graph.kept(tasks.datum_of[index(made.y)]));
}

TEST(OperatorGraph, CountsWhatATensorTakesBetweenAlignedOffsets) {
  const OperatorGraph graph = std::move(Overwriting().builder).build();
  const OperatorTasks tasks = task_graph_of(graph, 24);
  for (std::size_t i = 0; i < graph.tensors().size(); ++i)
    EXPECT_EQ(tasks.graph.size(tasks.datum_of[i]), 24) << i;  // of 16 bytes and of 4
  EXPECT_THROW((void)task_graph_of(graph, Bytes{1} << 62), OverflowError);
}

TEST(OperatorGraph, OverwritesAfterAllOthersHaveRead) {
  Overwriting made;
  const TaskGraph graph = task_graph_of(std::move(made.builder).build()).graph;
  const std::vector<TaskId> good = {task_id(0), task_id(1), task_id(2)};
  const std::vector<TaskId> bad = {task_id(0), task_id(2), task_id(1)};
  EXPECT_EQ(replay(graph, good).peak, 16 + 16);
  EXPECT_THROW((void)replay(graph, bad), InvalidInput);
}

TEST(OperatorGraph, RefusesWhatCannotShare) {
  Overwriting made;
  const TensorId late = made.builder.add_tensor(
      {.name = "late", .shape = {4}, .sharing = Sharing::kView, .shared_with = made.y});
  EXPECT_THROW((void)made.builder.add_operator(
                   {.type = "D", .inputs = {made.y}, .outputs = {late}}),
               InvalidInput);
  const TensorId small = made.builder.add_tensor(
      {.name = "small", .sharing = Sharing::kView, .shared_with = made.z});
  EXPECT_THROW((void)made.builder.add_operator(
                   {.type = "E", .inputs = {made.z}, .outputs = {small}}),
               InvalidInput);
  EXPECT_THROW((void)made.builder.add_operator({.type = "F", .outputs = {made.z}}),
               InvalidInput);
}

TEST(OperatorGraph, WaitsForWhatItIsToldToWaitFor) {
  OperatorGraphBuilder builder;
  const OperatorId first = builder.add_operator({.type = "A"});
  (void)builder.add_operator({.type = "B", .after = {first}});
  const TaskGraph graph = task_graph_of(std::move(builder).build()).graph;
  EXPECT_THROW((void)replay(graph, std::vector{task_id(1), task_id(0)}), InvalidInput);
}

TEST(TensorValue, IsHeldRepeatedOrInAFile) {
  const std::vector<std::int64_t> numbers = {3, -1};
  EXPECT_EQ(integers_of(TensorValue::of(numbers), ElementType::kInt64, {2}), numbers);
  EXPECT_THROW((void)integers_of(TensorValue::of(numbers), ElementType::kInt64, {3}),
               InvalidInput);
  EXPECT_EQ(integers_of(TensorValue::repeated("\x07"), ElementType::kUint8, {2}),
            (std::vector<std::int64_t>{7, 7}));
  const std::string path = testing::TempDir() + "/tensor_value_test_weights";
  std::ofstream(path) << "??\x01\x02";
  EXPECT_EQ(integers_of(TensorValue::in_file(path, 2), ElementType::kInt8, {2}),
            (std::vector<std::int64_t>{1, 2}));
  EXPECT_THROW((void)integers_of(TensorValue::in_file(path, 3), ElementType::kInt8, {2}),
               FileError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
