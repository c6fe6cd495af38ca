#pragma once

// Series-parallel graphs with sizes on their arcs: random ones, large shapes, and
// exhaustive answers straight from the definition.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "espalier/sequential/series_parallel/edge_weighted_dag.h"

namespace espalier::support {

struct ArcList {
  std::size_t tasks = 0;
  std::vector<Arc> arcs;
};

inline std::size_t draw(std::mt19937& random, std::size_t last) {
  return std::uniform_int_distribution<std::size_t>(0, last)(random);
}

/// From one arc, arcs drawn at random are doubled or cut by a new task; then tasks are
/// renumbered at random. With probability 1/2 the two ends are left out, so that there
/// may be many first and last tasks.
inline ArcList random_series_parallel(std::mt19937& random, std::size_t tasks) {
  std::vector<Arc> arcs{{task_id(0), task_id(1)}};
  std::size_t vertices = 2;
  const std::size_t doubling = 1 + draw(random, 3);
  while (vertices < tasks + 2) {
    const std::size_t a = draw(random, arcs.size() - 1);
    if (draw(random, 3) < doubling && arcs.size() < 3 * tasks + 2)
      arcs.push_back(arcs[a]);
    const TaskId to = arcs[a].to;
    arcs[a].to = task_id(vertices);
    arcs.push_back({task_id(vertices++), to});
  }
  const bool open = draw(random, 1) == 0;
  std::vector<std::size_t> number(vertices);
  for (std::size_t v = 0; v < vertices; ++v) number[v] = open ? v - 2 : v;
  std::shuffle(number.begin() + (open ? 2 : 0), number.end(), random);
  ArcList result{open ? tasks : vertices, {}};
  for (const Arc& arc : arcs) {
    if (open && (index(arc.from) < 2 || index(arc.to) < 2)) continue;
    result.arcs.push_back(
        {task_id(number[index(arc.from)]), task_id(number[index(arc.to)])});
  }
  std::shuffle(result.arcs.begin(), result.arcs.end(), random);
  return result;
}

/// Arcs from lower to higher numbers at random: seldom series-parallel.
inline ArcList random_arcs(std::mt19937& random, std::size_t tasks) {
  ArcList result{tasks, {}};
  const std::size_t rarity = 1 + draw(random, 3);
  for (std::size_t i = 0; i < tasks; ++i) {
    for (std::size_t j = i + 1; j < tasks; ++j) {
      if (draw(random, rarity) == 0) result.arcs.push_back({task_id(i), task_id(j)});
    }
  }
  return result;
}

/// Sizes from 0, often 0, to `largest`.
inline EdgeWeightedDag with_sizes(std::mt19937& random, const ArcList& list,
                                  Bytes largest) {
  const auto size = [&] {
    return draw(random, 3) == 0
               ? 0
               : static_cast<Bytes>(draw(random, static_cast<std::size_t>(largest)));
  };
  std::vector<Bytes> execution(list.tasks), arcs(list.arcs.size());
  for (Bytes& bytes : execution) bytes = size();
  for (Bytes& bytes : arcs) bytes = size();
  return {execution, list.arcs, arcs};
}

inline std::string describe(const EdgeWeightedDag& dag) {
  std::string text = "m:";
  for (std::size_t i = 0; i < dag.size(); ++i) {
    text += fmt::format(" {}", dag.execution_size(task_id(i)));
  }
  for (std::size_t a = 0; a < dag.arcs().size(); ++a) {
    text += fmt::format("\n{} -> {} ({})", index(dag.arcs()[a].from),
                        index(dag.arcs()[a].to), dag.arc_size(a));
  }
  return text + "\n";
}

/// Bytes in memory when the tasks of `done` (a bit each) have run and `running` (none:
/// -1) runs.
inline Bytes memory(const EdgeWeightedDag& dag, std::uint64_t done, int running = -1) {
  Bytes bytes = running < 0 ? 0 : dag.execution_size(static_cast<TaskId>(running));
  const auto started = [&](TaskId task) {
    return (done >> index(task) & 1) != 0 || static_cast<int>(task) == running;
  };
  for (std::size_t a = 0; a < dag.arcs().size(); ++a) {
    const Arc arc = dag.arcs()[a];
    if (started(arc.from) && (done >> index(arc.to) & 1) == 0) bytes += dag.arc_size(a);
  }
  return bytes;
}

/// Peak of an order, -1 when it is not each task once, arcs respected.
inline Bytes peak_of(const EdgeWeightedDag& dag, const std::vector<TaskId>& order) {
  std::vector<std::size_t> place(dag.size(), dag.size());
  for (std::size_t k = 0; k < order.size(); ++k) place[index(order[k])] = k;
  if (order.size() != dag.size() ||
      std::count(place.begin(), place.end(), dag.size()) > 0) {
    return -1;
  }
  std::vector<Bytes> change(dag.size() + 1, 0);  // of memory while the k-th task runs
  for (std::size_t k = 0; k < order.size(); ++k) {
    change[k] += dag.execution_size(order[k]);
    change[k + 1] -= dag.execution_size(order[k]);
  }
  for (std::size_t a = 0; a < dag.arcs().size(); ++a) {
    const Arc arc = dag.arcs()[a];
    if (place[index(arc.from)] >= place[index(arc.to)]) return -1;
    change[place[index(arc.from)]] += dag.arc_size(a);
    change[place[index(arc.to)] + 1] -= dag.arc_size(a);
  }
  Bytes peak = 0, bytes = 0;
  for (const Bytes bytes_more : change) peak = std::max(peak, bytes += bytes_more);
  return peak;
}

/// Least peak over all orders, by dynamic programming over sets of tasks. Up to 16 tasks.
inline Bytes exact_peak(const EdgeWeightedDag& dag) {
  constexpr Bytes kUnreachable = std::numeric_limits<Bytes>::max();
  const std::uint32_t all = (std::uint32_t{1} << dag.size()) - 1;
  std::vector<std::uint32_t> before(dag.size(), 0);
  for (const Arc& arc : dag.arcs()) {
    before[index(arc.to)] |= std::uint32_t{1} << index(arc.from);
  }
  std::vector<Bytes> peak(std::size_t{all} + 1, kUnreachable);
  peak[0] = 0;
  for (std::uint32_t done = 0; done < all; ++done) {
    if (peak[done] == kUnreachable) continue;
    for (std::size_t i = 0; i < dag.size(); ++i) {
      if ((done >> i & 1) != 0 || (before[i] & ~done) != 0) continue;
      Bytes& after = peak[done | std::uint32_t{1} << i];
      after =
          std::min(after, std::max(peak[done], memory(dag, done, static_cast<int>(i))));
    }
  }
  return peak[all];
}

/// Shapes of any size. All are series-parallel.
inline ArcList chain_of_arcs(std::size_t tasks) {
  ArcList list{tasks, {}};
  for (std::size_t i = 1; i < tasks; ++i)
    list.arcs.push_back({task_id(i - 1), task_id(i)});
  return list;
}

/// Task 0, then all others but the last side by side, then the last.
inline ArcList wide(std::size_t tasks) {
  ArcList list{tasks, {}};
  for (std::size_t i = 1; i + 1 < tasks; ++i) {
    list.arcs.push_back({task_id(0), task_id(i)});
    list.arcs.push_back({task_id(i), task_id(tasks - 1)});
  }
  return list;
}

/// A chain with a second way round every other task.
inline ArcList ladder_of_arcs(std::size_t tasks) {
  ArcList list = chain_of_arcs(tasks);
  for (std::size_t i = 2; i < tasks; i += 2) {
    list.arcs.push_back({task_id(i - 2), task_id(i)});
  }
  return list;
}

/// Diamonds in diamonds: arc i -> n-1-i beside the way from i+1 to n-2-i.
inline ArcList nested(std::size_t tasks) {
  ArcList list = chain_of_arcs(tasks);
  for (std::size_t i = 0; i + i + 2 < tasks; ++i) {
    list.arcs.push_back({task_id(i), task_id(tasks - 1 - i)});
  }
  return list;
}

/// A complete binary out-tree, then the in-tree that mirrors it.
inline ArcList two_trees(std::size_t tasks) {
  const std::size_t half = tasks / 2;
  ArcList list{2 * half, {}};
  for (std::size_t i = 1; i < half; ++i) {
    list.arcs.push_back({task_id((i - 1) / 2), task_id(i)});
    list.arcs.push_back({task_id(2 * half - 1 - i), task_id(2 * half - 1 - (i - 1) / 2)});
  }
  for (std::size_t i = 0; i < half; ++i) {
    if (2 * i + 1 >= half) list.arcs.push_back({task_id(i), task_id(2 * half - 1 - i)});
  }
  return list;
}

/// An in-tree: a chain with a leaf at every task.
inline ArcList caterpillar_of_arcs(std::size_t tasks) {
  ArcList list{tasks, {}};
  for (std::size_t i = 2; i < tasks; i += 2) {
    list.arcs.push_back({task_id(i - 2), task_id(i)});
    list.arcs.push_back({task_id(i - 1), task_id(i)});
  }
  return list;
}

inline ArcList random_shape(std::size_t tasks) {
  std::mt19937 random(20);
  return random_series_parallel(random, tasks);
}

struct ArcShape {
  const char* name;
  ArcList (*make)(std::size_t tasks);
};

inline constexpr ArcShape kArcShapes[] = {
    {"Chain", chain_of_arcs},   {"Wide", wide},
    {"Ladder", ladder_of_arcs}, {"Nested", nested},
    {"TwoTrees", two_trees},    {"Caterpillar", caterpillar_of_arcs},
    {"Random", random_shape}};

}  // namespace espalier::support
