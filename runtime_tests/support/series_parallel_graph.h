#pragma once

// Task graphs that are series-parallel, from lists of arcs: random ones and pumpkins.

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "espalier/model/graph_builder.h"
#include "support/series_parallel.h"

namespace espalier::support {

struct GraphOptions {
  Bytes largest_size = 9;
  std::size_t more_data = 0;     ///< so often in 4 a task writes two data, not one
  std::size_t single_input = 0;  ///< so often in 4 it reads a datum from the start
  std::size_t kept = 0;          ///< so often in 16 a datum stays
  bool workspaces = true;
};

/// A task graph with these arcs: each task writes a datum, or two, and every follower
/// reads one of them at least. Sizes are often 0.
inline TaskGraph graph_with_arcs(std::mt19937& random, const ArcList& list,
                                 const GraphOptions& options) {
  TaskGraphBuilder builder;
  const auto size = [&] {
    return draw(random, 3) == 0
               ? 0
               : static_cast<Bytes>(
                     draw(random, static_cast<std::size_t>(options.largest_size)));
  };
  const auto datum = [&] {
    const DatumId id = builder.add_datum("", size());
    if (draw(random, 15) < options.kept) builder.keep(id);
    return id;
  };
  std::vector<std::vector<DatumId>> written(list.tasks);
  for (std::size_t i = 0; i < list.tasks; ++i) {
    const TaskId task = builder.add_task("", options.workspaces ? size() : 0);
    for (std::size_t k = draw(random, 3) < options.more_data ? 2 : 1; k > 0; --k) {
      written[i].push_back(datum());
      builder.writes(task, written[i].back());
    }
    if (draw(random, 3) < options.single_input) builder.reads(task, datum());
  }
  for (const Arc& arc : list.arcs) {
    const std::vector<DatumId>& data = written[index(arc.from)];
    const std::size_t reads = draw(random, data.size());  // size(): all
    for (std::size_t k = 0; k < data.size(); ++k) {
      if (reads == data.size() || reads == k) builder.reads(arc.to, data[k]);
    }
  }
  return std::move(builder).build();
}

/// One datum, read by `chains` chains of 1 … `longest` tasks, which a last task joins.
inline ArcList pumpkin(std::mt19937& random, std::size_t chains, std::size_t longest) {
  ArcList list{2, {}};
  for (std::size_t c = 0; c < chains; ++c) {
    TaskId last = task_id(0);
    for (std::size_t k = draw(random, longest - 1) + 1; k > 0; --k) {
      list.arcs.push_back({last, task_id(list.tasks)});
      last = task_id(list.tasks++);
    }
    list.arcs.push_back({last, task_id(1)});
  }
  return list;
}

/// A random tree whose parents run first.
inline ArcList random_out_tree(std::mt19937& random, std::size_t tasks) {
  ArcList list{tasks, {}};
  for (std::size_t i = 1; i < tasks; ++i) {
    list.arcs.push_back({task_id(draw(random, i - 1)), task_id(i)});
  }
  return list;
}

}  // namespace espalier::support
