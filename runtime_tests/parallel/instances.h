#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// The worked example of memory booking: seven tasks, Liu peak 15.
TaskTree worked_example();

std::vector<TaskId> ids(std::initializer_list<int> values);

/// A random forest, ids in random order. `reach`: a parent is one of the last `reach`
/// tasks made (1: a chain, large: bushy; 0: drawn). Sizes and works 0 … 9, zero often;
/// half of the trees retain something.
TaskTree random_tree(std::mt19937& random, std::size_t tasks, std::size_t reach = 0);

/// A random topological order: not a postorder in general.
std::vector<TaskId> random_order(const TaskTree& tree, std::mt19937& random);

/// Peak of a sequential order.
Bytes peak_of(const TaskTree& tree, std::span<const TaskId> order);

/// The failing instance, one line a task: id parent f m r w; then the order.
std::string describe(const TaskTree& tree, std::span<const TaskId> order = {});

}  // namespace espalier
