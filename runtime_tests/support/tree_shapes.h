#pragma once

// Shapes of any size, for tests of extremes and for benchmarks.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier::support {

/// Tasks whose parents come before them: parent_of(i) < i for i > 0. Sizes 1 … 1000.
inline std::vector<Task> shaped_tasks(
    std::size_t tasks, const std::function<std::size_t(std::size_t)>& parent_of) {
  std::mt19937 random(1);
  std::uniform_int_distribution<Bytes> size(1, 1000);
  std::vector<Task> result(tasks);
  for (std::size_t i = 0; i < tasks; ++i) {
    if (i > 0) result[i].parent = task_id(parent_of(i));
    result[i].output_size = size(random);
    result[i].execution_size = size(random);
    result[i].work = static_cast<Flops>(size(random));
  }
  return result;
}

inline std::vector<Task> chain(std::size_t tasks) {
  return shaped_tasks(tasks, [](std::size_t i) { return i - 1; });
}

/// A chain with a leaf at every task.
inline std::vector<Task> caterpillar(std::size_t tasks) {
  return shaped_tasks(tasks, [](std::size_t i) { return i % 2 == 0 ? i - 2 : i - 1; });
}

inline std::vector<Task> star(std::size_t tasks) {
  return shaped_tasks(tasks, [](std::size_t) { return std::size_t{0}; });
}

inline std::vector<Task> balanced(std::size_t tasks) {
  return shaped_tasks(tasks, [](std::size_t i) { return (i - 1) / 2; });
}

/// Parents drawn among all earlier tasks: depth O(log n), many leaves.
inline std::vector<Task> recursive_random(std::size_t tasks) {
  std::mt19937 random(2);
  return shaped_tasks(tasks, [&random](std::size_t i) {
    return std::uniform_int_distribution<std::size_t>(0, i - 1)(random);
  });
}

/// Parents drawn among the last 100 tasks: depth O(n), long runs of segments.
inline std::vector<Task> deep_random(std::size_t tasks) {
  std::mt19937 random(3);
  return shaped_tasks(tasks, [&random](std::size_t i) {
    const std::size_t reach = std::min<std::size_t>(i, 100);
    return i - std::uniform_int_distribution<std::size_t>(1, reach)(random);
  });
}

struct Shape {
  std::string name;
  std::vector<Task> (*make)(std::size_t tasks);
};

inline const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = {
      {"Chain", chain},       {"Caterpillar", caterpillar}, {"Star", star},
      {"Balanced", balanced}, {"Random", recursive_random}, {"DeepRandom", deep_random}};
  return all;
}

}  // namespace espalier::support
