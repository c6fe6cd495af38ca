// Graphs by hand and at random, of one process and of several: over 300 lines.

#include "solver/tree/tile_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace TEST_SOURCE {

using Kind = TileTask::Kind;

std::string text(const TileTask& task) {
  std::ostringstream out;
  out << "kind " << static_cast<int>(task.kind) << " column " << task.column << " row "
      << task.row << " source " << task.source;
  return out.str();
}

std::string text(const TileShape& shape) {
  std::ostringstream out;
  out << "panels " << shape.panels << " blocks " << shape.blocks << " group "
      << shape.group << " extra " << shape.extra << " batch " << shape.batch << " slices "
      << shape.slices << " window " << shape.window << " ahead " << shape.ahead
      << (shape.tested ? " tested" : "") << (shape.has_tail ? " tail" : "");
  return out.str();
}

TileShape random_shape(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  TileShape shape;
  shape.blocks = draw(1, 7);
  shape.panels = draw(0, shape.blocks);
  shape.group = draw(1, 4);
  shape.slices = draw(1, 3);
  shape.window = draw(1, 6);
  shape.tested = draw(0, 1) == 0;
  shape.has_tail = shape.tested && draw(0, 1) == 0;
  if (shape.group == 1 && !shape.has_tail) shape.batch = draw(1, 4);
  shape.ahead = draw(0, 3);
  if (shape.panels > 0) shape.extra = std::max(0, draw(-3, shape.panels - 1));
  return shape;
}

// Runs a graph, ending ready tasks in random order.
std::vector<TileTask> run(const TileShape& shape, std::mt19937& random) {
  TileGraph graph(shape);
  std::vector<TileTask> ready, order;
  graph.start(ready);
  while (!ready.empty()) {
    // One more: kFinish.
    EXPECT_LE(std::ssize(ready), shape.most_ready() + 1) << text(shape);
    std::swap(ready[random() % ready.size()], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    graph.end(order.back(), ready);
  }
  EXPECT_TRUE(graph.done()) << text(shape);
  EXPECT_EQ(static_cast<std::int64_t>(order.size()), graph.tasks()) << text(shape);
  return order;
}

TEST(TileGraph, OfThreeBlocksByHand) {
  // One panel, two block columns of the contribution block, tiles of one block row.
  const TileShape shape{.panels = 1, .blocks = 3};
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  const auto expect = [&](const std::vector<TileTask>& expected) {
    ASSERT_EQ(ready.size(), expected.size());
    for (std::size_t i = 0; i < ready.size(); ++i)
      EXPECT_EQ(ready[i], expected[i]) << text(ready[i]);
    ready.clear();
  };
  graph.start(ready);
  expect({{Kind::kAssemble, 0, 0, 0}});
  graph.end({Kind::kAssemble, 0, 0, 0}, ready);
  expect({{Kind::kAssemble, 1, 0, 1}, {Kind::kFactor, 0, 0, 0}});
  graph.end({Kind::kFactor, 0, 0, 0}, ready);
  expect({{Kind::kSolve, 0, 1, 0}, {Kind::kSolve, 0, 2, 0}});
  EXPECT_FALSE(graph.column_done(0));
  graph.end({Kind::kSolve, 0, 1, 0}, ready);
  expect({});  // its column is not assembled
  graph.end({Kind::kAssemble, 1, 0, 1}, ready);
  expect({{Kind::kAssemble, 2, 0, 2}, {Kind::kUpdate, 1, 1, 0}});
  graph.end({Kind::kSolve, 0, 2, 0}, ready);
  expect({{Kind::kUpdate, 1, 2, 0}});
  EXPECT_TRUE(graph.column_done(0));
  graph.end({Kind::kAssemble, 2, 0, 2}, ready);
  expect({{Kind::kUpdate, 2, 2, 0}});
  EXPECT_EQ(graph.tasks(), 9);
  EXPECT_EQ(shape.most_ready(), 6);
}

TEST(TileGraph, RunsEveryTaskOnceAndNotBeforeWhatItWaitsFor) {
  std::mt19937 random(3);
  for (int instance = 0; instance < 2000; ++instance) {
    const TileShape shape = random_shape(random);
    const std::vector<TileTask> order = run(shape, random);
    for (std::size_t i = 0; i < order.size(); ++i) {
      const auto begin = order.begin(), now = begin + static_cast<std::ptrdiff_t>(i);
      ASSERT_EQ(std::find(begin, now, order[i]), now)
          << text(shape) << ": twice " << text(order[i]);
      for (const TileTask& before : predecessors(shape, order[i]))
        ASSERT_NE(std::find(begin, now, before), now)
            << text(shape) << ": " << text(order[i]) << " before " << text(before);
    }
  }
}

// Of each block column, of each group of rows: a process.
using TileOwners = std::vector<std::vector<std::int32_t>>;

TileOwners random_owners(const TileShape& shape, std::int32_t processes,
                         std::mt19937& random) {
  TileOwners owner(shape.blocks);
  const bool spread = random() % 2 == 0;
  for (std::int32_t j = 0; j < shape.blocks; ++j)
    for (std::int32_t row = 0; row < shape.groups(); ++row)
      owner[j].push_back(row > 0 && !spread
                             ? owner[j].front()
                             : static_cast<std::int32_t>(random() % processes));
  return owner;
}

using ReadyTasks = std::vector<std::vector<TileTask>>;  // of each process

/// The graphs of processes that share a front.
struct SharedGraphs {
  const TileShape& shape;
  const TileOwners& owner;
  std::vector<TileGraph> graphs{};
  ReadyTasks ready{};
  std::vector<std::int64_t> unsolved{};  // tiles of each panel

  [[nodiscard]] std::size_t at_diagonal(std::int32_t panel) const {
    return static_cast<std::size_t>(owner[panel][shape.group_of(panel)]);
  }

  void assemble(std::int32_t block) {
    const auto first = owner[block].begin() + shape.group_of(block);
    for (std::size_t q = 0; q < graphs.size(); ++q)
      if (std::find(first, owner[block].end(), static_cast<std::int32_t>(q)) !=
          owner[block].end())
        graphs[q].assembled(block, ready[q]);
  }

  // What a process says when a task of its has ended. Whoever has the last diagonal block
  // has all of the tail at once.
  void tell_others(std::size_t process, const TileTask& task) {
    const bool solved = task.kind == Kind::kFactor || task.kind == Kind::kSolve;
    const bool tested = shape.accepts(task.column);
    for (std::size_t q = 0; q < graphs.size(); ++q) {
      if (q == process) continue;
      if (solved && !tested) graphs[q].arrived(task.row, task.column, ready[q]);
      if (task.kind == Kind::kFactor && graphs[q].spread(task.column))
        graphs[q].trial_known(task.column, ready[q]);
      if (task.kind == Kind::kFinish) graphs[q].finished(ready[q]);
    }
    if (solved && tested && --unsolved[task.column] == 0 &&
        graphs[at_diagonal(task.column)].spread(task.column))
      graphs[at_diagonal(task.column)].may_accept(task.column,
                                                  ready[at_diagonal(task.column)]);
    if (task.kind == Kind::kAccept) accepted(process, task.column);
  }

 private:
  // The others learn of it; those who have tiles of the panel accept it too, and get them
  // then.
  void accepted(std::size_t process, std::int32_t panel) {
    const std::size_t first = at_diagonal(panel);
    for (std::size_t q = 0; process == first && q < graphs.size(); ++q)
      if (q != first && graphs[q].spread(panel))
        graphs[q].may_accept(panel, ready[q]);
      else
        arrive(q, panel);
    if (process != first) arrive(process, panel);
    if (process == first && graphs[first].spread(panel) && shape.has_tail &&
        panel + 1 == shape.panels)
      graphs[first].may_finish(ready[first]);
  }
  void arrive(std::size_t q, std::int32_t panel) {
    for (std::int32_t row = shape.group_of(panel); row < shape.groups(); ++row)
      if (q != at_diagonal(panel) || owner[panel][row] != static_cast<std::int32_t>(q))
        graphs[q].arrived(row, panel, ready[q]);
  }
};

// They tell each other of final tiles and of the tail. Block columns are assembled in any
// order. @return tasks as they end, kAccept where the diagonal block is
std::vector<TileTask> run_shared(const TileShape& shape, const TileOwners& owner,
                                 std::int32_t processes, std::mt19937& random) {
  SharedGraphs all{shape, owner};
  std::vector<TileGraph>& graphs = all.graphs;
  ReadyTasks& ready = all.ready;
  ready.resize(static_cast<std::size_t>(processes));
  for (std::int32_t k = 0; k < shape.panels; ++k)
    all.unsolved.push_back(shape.groups() - shape.group_of(k));
  for (std::int32_t p = 0; p < processes; ++p) {
    TileGraph::Mine mine;
    for (std::int32_t j = 0; j < shape.blocks; ++j)
      for (std::int32_t row = 0; row < shape.groups(); ++row)
        mine.push_back(row >= shape.group_of(j) && owner[j][row] == p ? 1 : 0);
    graphs.emplace_back(shape, mine).start(ready[p]);
  }
  std::vector<std::int32_t> to_assemble(shape.blocks);
  std::iota(to_assemble.begin(), to_assemble.end(), 0);
  std::shuffle(to_assemble.begin(), to_assemble.end(), random);
  std::vector<TileTask> order;
  while (true) {
    const auto p = static_cast<std::int32_t>(random() % processes);
    if (!to_assemble.empty() && random() % 3 == 0) {
      const std::int32_t b = to_assemble.back();
      to_assemble.pop_back();
      order.push_back({Kind::kAssemble, b, 0, b});
      all.assemble(b);
    } else if (!ready[p].empty()) {
      std::swap(ready[p][random() % ready[p].size()], ready[p].back());
      const TileTask task = ready[p].back();
      ready[p].pop_back();
      if (task.kind != Kind::kAccept ||
          all.at_diagonal(task.column) == static_cast<std::size_t>(p))
        order.push_back(task);
      graphs[p].end(task, ready[p]);
      all.tell_others(static_cast<std::size_t>(p), task);
    } else if (to_assemble.empty() && std::ranges::all_of(ready, [](const auto& list) {
                 return list.empty();
               })) {
      break;
    }
  }
  for (const TileGraph& graph : graphs) EXPECT_TRUE(graph.done()) << text(shape);
  return order;
}

TEST(TileGraph, OfProcessesThatShareAFrontRunsItsTasksOnce) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 1000; ++instance) {
    TileShape shape = random_shape(random);
    shape.slices = shape.window = 1;
    if (shape.panels == 0) continue;
    const auto processes = static_cast<std::int32_t>(1 + random() % 4);
    const std::vector<TileTask> order =
        run_shared(shape, random_owners(shape, processes, random), processes, random);
    EXPECT_EQ(std::ssize(order), TileGraph(shape).tasks()) << text(shape);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].kind == Kind::kAssemble) continue;
      const auto begin = order.begin(), now = begin + static_cast<std::ptrdiff_t>(i);
      ASSERT_EQ(std::find(begin, now, order[i]), now) << text(shape);
      for (const TileTask& before : predecessors(shape, order[i]))
        ASSERT_NE(std::find(begin, now, before), now)
            << text(shape) << ": " << text(order[i]) << " before " << text(before);
    }
  }
}

// Predecessors say all: a task is ready as soon as they have ended.
TEST(TileGraph, MakesATaskReadyWhenWhatItWaitsForHasEnded) {
  std::mt19937 random(4);
  for (int instance = 0; instance < 500; ++instance) {
    const TileShape shape = random_shape(random);
    const std::vector<TileTask> all = run(shape, random);
    TileGraph graph(shape);
    std::vector<TileTask> ready, ended;
    graph.start(ready);
    const auto has = [](const std::vector<TileTask>& list, const TileTask& task) {
      return std::find(list.begin(), list.end(), task) != list.end();
    };
    while (!ready.empty()) {
      const std::size_t chosen = random() % ready.size();
      const TileTask task = ready[chosen];
      ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(chosen));
      ended.push_back(task);
      graph.end(task, ready);
      for (const TileTask& other : all) {
        if (has(ended, other) || has(ready, other)) continue;
        const auto before = predecessors(shape, other);
        ASSERT_FALSE(std::all_of(before.begin(), before.end(),
                                 [&](const TileTask& t) { return has(ended, t); }))
            << text(shape) << ": " << text(other) << " could run";
      }
    }
  }
}

// With one block column ahead the second is assembled when the first is final, and the
// third, of the contribution block, when the second has been updated.
TEST(TileGraph, AssemblesNoFurtherAheadThanItSays) {
  const TileShape shape{.panels = 1, .blocks = 3, .window = 2, .ahead = 1};
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  const auto after = [&](const TileTask& task) {
    ready.clear();
    graph.end(task, ready);
    return ready;
  };
  using Tasks = std::vector<TileTask>;
  graph.start(ready);
  EXPECT_EQ(ready, (Tasks{{Kind::kAssemble, 0, 0, 0}}));
  EXPECT_EQ(after({Kind::kAssemble, 0, 0, 0}), (Tasks{{Kind::kFactor, 0, 0, 0}}));
  after({Kind::kFactor, 0, 0, 0});
  EXPECT_EQ(after({Kind::kSolve, 0, 1, 0}), Tasks{});
  EXPECT_EQ(after({Kind::kSolve, 0, 2, 0}), (Tasks{{Kind::kAssemble, 1, 0, 1}}));
  EXPECT_EQ(after({Kind::kAssemble, 1, 0, 1}),
            (Tasks{{Kind::kUpdate, 1, 1, 0}, {Kind::kUpdate, 1, 2, 0}}));
  EXPECT_EQ(after({Kind::kUpdate, 1, 2, 0}), Tasks{});
  EXPECT_EQ(after({Kind::kUpdate, 1, 1, 0}), (Tasks{{Kind::kAssemble, 2, 0, 2}}));
  EXPECT_EQ(after({Kind::kAssemble, 2, 0, 2}), (Tasks{{Kind::kUpdate, 2, 2, 0}}));
  EXPECT_EQ(after({Kind::kUpdate, 2, 2, 0}), Tasks{});
  EXPECT_TRUE(graph.done());
}

// Of a tested panel nothing is used before all of it is solved for.
TEST(TileGraph, AcceptsAPanelThatIsTestedBeforeItUpdates) {
  const TileShape shape{.panels = 1, .blocks = 3, .tested = true, .has_tail = true};
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  graph.start(ready);
  for (std::int32_t j = 0; j < 3; ++j) graph.end({Kind::kAssemble, j, 0, j}, ready);
  graph.end({Kind::kFactor, 0, 0, 0}, ready);
  ready.clear();
  graph.end({Kind::kSolve, 0, 2, 0}, ready);
  EXPECT_TRUE(ready.empty());
  graph.end({Kind::kSolve, 0, 1, 0}, ready);
  EXPECT_EQ(ready, (std::vector<TileTask>{{Kind::kAccept, 0, 0, 0}}));
  EXPECT_FALSE(graph.column_done(0));
  ready.clear();
  graph.end({Kind::kAccept, 0, 0, 0}, ready);
  EXPECT_TRUE(graph.column_done(0));
  EXPECT_EQ(ready.size(), 4u);  // three tiles to update, and the end
  // Where one group has all rows there is nobody to ask.
  EXPECT_FALSE(
      (TileShape{.panels = 2, .blocks = 2, .group = 2, .tested = true}.accepts(1)));
}

// Each update of a tile by each earlier panel, once and in the order of panels.
TEST(TileGraph, UpdatesATileInTheOrderOfItsSources) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 500; ++instance) {
    const TileShape shape = random_shape(random);
    const std::vector<TileTask> order = run(shape, random);
    for (std::int32_t j = 0; j < shape.blocks; ++j) {
      for (std::int32_t row = shape.group_of(j); row < shape.groups(); ++row) {
        std::vector<std::int32_t> sources, expected;
        for (const TileTask& task : order)
          if (task.kind == Kind::kUpdate && task.column == j && task.row == row)
            sources.push_back(task.source);
        for (std::int32_t k = 0; k < std::min(j, shape.panels); k += shape.batch)
          expected.push_back(k);
        if (shape.has_tail && j >= shape.panels) expected.push_back(shape.panels);
        ASSERT_EQ(sources, expected) << text(shape) << " tile " << row << ", " << j;
      }
    }
  }
}

TEST(TileGraph, AssemblesNoMoreThanItsWindowAtOnce) {
  const TileShape shape{.panels = 2, .blocks = 5, .slices = 4, .window = 6};
  TileGraph graph(shape);
  std::vector<TileTask> ready;
  graph.start(ready);
  EXPECT_EQ(ready.size(), 6u);
  ready.clear();
  graph.end({Kind::kAssemble, 0, 0, 3}, ready);  // not the first of those that run
  EXPECT_TRUE(ready.empty());
  graph.end({Kind::kAssemble, 0, 0, 0}, ready);
  ASSERT_EQ(ready.size(), 1u);
  EXPECT_EQ(ready[0].source, 6);
}

TEST(TileGraph, OfAPanelOnTilesKeepsManyWorkersBusy) {
  const auto unit = [](const TileTask&) -> Flops { return 1; };
  // A chain of factor and updates: with whole columns work / path is at most the blocks.
  TileShape shape{.panels = 24, .blocks = 24, .group = 24, .slices = 1, .window = 24};
  EXPECT_LT(parallelism(shape, unit), 24);
  shape.group = 1;
  EXPECT_GT(parallelism(shape, unit), 30);
  EXPECT_EQ(parallelism({.panels = 1, .blocks = 1}, unit), 1);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
