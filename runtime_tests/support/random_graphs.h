#pragma once

// Small seeded random computation graphs for comparisons with brute force.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "espalier/model/task_graph.h"

namespace espalier::support {

struct RandomGraphOptions {
  std::size_t tasks = 8;
  Bytes largest_size = 9;
  std::size_t most_inputs = 3;   ///< data that an operator reads, at most
  std::size_t most_outputs = 2;  ///< data that an operator writes, at most
  std::size_t external = 2;      ///< data without a producer
  double keep_probability = 0.1;
  bool workspaces = true;
  bool single_reader = false;  ///< no datum is read twice: in-trees and their like
};

/// Readers look back over a reach drawn at random, from chains to wide graphs; sizes are
/// often 0; operators get their ids in random order.
inline TaskGraph random_graph(std::mt19937& random, const RandomGraphOptions& options) {
  const auto draw = [&random](std::size_t last) {
    return std::uniform_int_distribution<std::size_t>(0, last)(random);
  };
  const auto size = [&] {
    return draw(3) == 0
               ? 0
               : static_cast<Bytes>(draw(static_cast<std::size_t>(options.largest_size)));
  };
  std::bernoulli_distribution keep(options.keep_probability);
  std::vector<std::size_t> id(options.tasks);
  std::iota(id.begin(), id.end(), 0);
  std::shuffle(id.begin(), id.end(), random);
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < options.tasks; ++i) {
    builder.add_task("", options.workspaces ? size() : 0, static_cast<Flops>(draw(9)));
  }
  std::vector<DatumId> open;  // what a later operator may read
  for (std::size_t d = 0; d < options.external; ++d) {
    open.push_back(builder.add_datum("", size()));
  }
  const std::size_t reach = 1 + draw(options.tasks + 1);
  for (std::size_t k = 0; k < options.tasks; ++k) {
    const TaskId task = task_id(id[k]);
    for (std::size_t reads = draw(options.most_inputs); reads > 0 && !open.empty();
         --reads) {
      const std::size_t at = open.size() - 1 - draw(std::min(reach, open.size()) - 1);
      builder.reads(task, open[at]);
      if (options.single_reader)
        open.erase(open.begin() + static_cast<std::ptrdiff_t>(at));
    }
    for (std::size_t outputs = draw(options.most_outputs); outputs > 0; --outputs) {
      const DatumId datum = builder.add_datum("", size());
      builder.writes(task, datum);
      if (keep(random)) builder.keep(datum);
      open.push_back(datum);
    }
  }
  for (std::size_t d = 0; d < options.external; ++d) {
    if (keep(random)) builder.keep(datum_id(d));
  }
  return std::move(builder).build();
}

/// One of many instances of varied size and kind; the first ones are the smallest.
inline TaskGraph varied_graph(std::mt19937& random, int instance,
                              std::size_t most_tasks) {
  const auto k = static_cast<std::size_t>(instance);
  return random_graph(random, {.tasks = 1 + k % most_tasks,
                               .largest_size = k % 5 == 0 ? 2 : 9,
                               .most_inputs = 1 + k % 3,
                               .most_outputs = 1 + k / 3 % 2,
                               .external = k / 2 % 3,
                               .keep_probability = k % 4 == 0 ? 0.3 : 0.05,
                               .workspaces = k % 7 < 4,
                               .single_reader = k % 11 == 0});
}

/// Layers whose operators read two results, or one twice, of the layer before.
inline TaskGraph layered_graph(std::mt19937& random, std::size_t operators,
                               std::size_t width, Bytes largest_size) {
  std::uniform_int_distribution<Bytes> size(1, largest_size);
  std::uniform_int_distribution<std::size_t> pick(0, width - 1);
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < operators; ++i) {
    const TaskId task = builder.add_task("", size(random));
    builder.writes(task, builder.add_datum("", size(random)));
    if (i < width) continue;
    const std::size_t before = (i / width - 1) * width;
    builder.reads(task, datum_id(before + pick(random)));
    builder.reads(task, datum_id(before + pick(random)));
  }
  return std::move(builder).build();
}

/// A two-terminal series-parallel graph, one datum a task read by all successors: arcs
/// are divided, and doubled and divided, until there are enough tasks.
inline TaskGraph series_parallel_graph(std::mt19937& random, std::size_t tasks,
                                       double keep_probability = 0,
                                       Bytes largest_size = 20) {
  std::vector<std::pair<std::size_t, std::size_t>> arcs = {{0, 1}};
  std::bernoulli_distribution in_parallel(0.5), keep(keep_probability);
  std::size_t count = 2;
  for (; count < std::max<std::size_t>(2, tasks); ++count) {
    std::uniform_int_distribution<std::size_t> pick(0, arcs.size() - 1);
    auto& [from, to] = arcs[pick(random)];
    const std::size_t end = to, start = from;
    if (!in_parallel(random)) {
      to = count;
    } else {
      arcs.emplace_back(start, count);
    }
    arcs.emplace_back(count, end);
  }
  std::uniform_int_distribution<Bytes> size(0, largest_size);
  TaskGraphBuilder builder;
  for (std::size_t i = 0; i < count; ++i) {
    builder.add_task("", size(random));
    const DatumId datum = builder.add_datum("", size(random));
    builder.writes(task_id(i), datum);
    if (keep(random)) builder.keep(datum);
  }
  for (const auto& [from, to] : arcs) builder.reads(task_id(to), datum_id(from));
  return std::move(builder).build();
}

/// A topological order drawn at random.
inline std::vector<TaskId> random_order(const TaskGraph& graph, std::mt19937& random) {
  std::vector<std::size_t> waiting(graph.size(), 0);
  std::vector<TaskId> ready, order;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId datum : graph.inputs(task_id(i))) {
      if (graph.producer(datum)) ++waiting[i];
    }
    if (waiting[i] == 0) ready.push_back(task_id(i));
  }
  while (!ready.empty()) {
    std::uniform_int_distribution<std::size_t> pick(0, ready.size() - 1);
    std::swap(ready[pick(random)], ready.back());
    order.push_back(ready.back());
    ready.pop_back();
    for (const DatumId datum : graph.outputs(order.back())) {
      for (const TaskId reader : graph.consumers(datum)) {
        if (--waiting[index(reader)] == 0) ready.push_back(reader);
      }
    }
  }
  return order;
}

/// The instance: sizes of data ('k': kept), then one line an operator.
inline std::string describe(const TaskGraph& graph) {
  std::string text = "data:";
  for (std::size_t d = 0; d < graph.data(); ++d) {
    text += fmt::format(" d{}={}{}", d, graph.size(datum_id(d)),
                        graph.kept(datum_id(d)) ? "k" : "");
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    text += fmt::format("\n{} (+{}):", i, graph.workspace(task_id(i)));
    for (const DatumId datum : graph.inputs(task_id(i))) {
      text += fmt::format(" d{}", index(datum));
    }
    text += " ->";
    for (const DatumId datum : graph.outputs(task_id(i))) {
      text += fmt::format(" d{}", index(datum));
    }
  }
  return text + "\n";
}

}  // namespace espalier::support
