#pragma once

#include <cstdint>
#include <initializer_list>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"
#include "support/random_tree.h"

namespace espalier {

/// The worked example of memory booking: seven tasks, Liu peak 15.
TaskTree worked_example();

std::vector<TaskId> ids(std::initializer_list<int> values);

/// A small forest of any shape; half of them retain something, a third have many roots.
TaskTree random_tree(std::mt19937& random, std::size_t tasks);
using support::random_order;

/// Peak of a sequential order.
Bytes peak_of(const TaskTree& tree, std::span<const TaskId> order);

/// The failing instance as a tree file, then the order.
std::string describe(const TaskTree& tree, std::span<const TaskId> order = {});

}  // namespace espalier
