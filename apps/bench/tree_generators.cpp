#include "tree_generators.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>
#include <utility>

#include "solver/io/matrix_market.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/kind_of.h"
#include "solver/matrix/permute.h"
#include "solver/ordering/elimination_tree.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"

namespace espalier::bench {
namespace {

using Order = std::vector<std::int32_t>;  // new -> old

struct Box {
  std::array<std::int32_t, 3> low{}, high{};  // points low … high - 1
  [[nodiscard]] std::int32_t length(std::size_t axis) const {
    return high[axis] - low[axis];
  }
  [[nodiscard]] std::int64_t points() const {
    return std::int64_t{length(0)} * length(1) * length(2);
  }
};

// Writes the points of `box` before `end`, and returns where they begin.
std::size_t number_points(const solver::GridShape& grid, const Box& box, Order& order,
                          std::size_t end) {
  for (std::int32_t z = box.low[2]; z < box.high[2]; ++z) {
    for (std::int32_t y = box.low[1]; y < box.high[1]; ++y) {
      for (std::int32_t x = box.low[0]; x < box.high[0]; ++x) {
        order[--end] = x + grid.nx * (y + grid.ny * z);
      }
    }
  }
  return end;
}

// Separators are numbered from the last point down, each before its two halves.
Order dissection(const solver::GridShape& grid) {
  constexpr std::int64_t kLeaf = 8;
  const Box whole{{0, 0, 0}, {grid.nx, grid.ny, grid.nz}};
  Order order(static_cast<std::size_t>(whole.points()));
  std::size_t end = order.size();
  std::vector<Box> boxes{whole};
  while (!boxes.empty()) {
    const Box box = boxes.back();
    boxes.pop_back();
    std::size_t axis = 0;
    for (const std::size_t other : {1, 2}) {
      if (box.length(other) > box.length(axis)) axis = other;
    }
    if (box.points() <= kLeaf || box.length(axis) < 3) {
      end = number_points(grid, box, order, end);
      continue;
    }
    Box plane = box, below = box, above = box;
    const std::int32_t middle = (box.low[axis] + box.high[axis]) / 2;
    plane.low[axis] = below.high[axis] = middle;
    plane.high[axis] = above.low[axis] = middle + 1;
    end = number_points(grid, plane, order, end);
    boxes.push_back(below);
    boxes.push_back(above);
  }
  return order;
}

GeneratedTree front_tree(std::string name, const solver::SupernodeTree& fronts) {
  std::vector<Task> tasks(fronts.parent.size());
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (fronts.parent[i] >= 0) tasks[i].parent = static_cast<TaskId>(fronts.parent[i]);
    const Bytes n = fronts.order[i], k = fronts.pivots[i], b = n - k;
    tasks[i].output_size = 8 * b * b;
    tasks[i].execution_size = 8 * (n * n - b * b);
    const auto pivots = static_cast<double>(k), border = static_cast<double>(b);
    tasks[i].work =
        pivots * (2.0 / 3 * pivots * pivots + pivots * border + border * border);
  }
  return {std::move(name), std::make_shared<const TaskTree>(tasks), fronts.order};
}

GeneratedTree tree_of(std::string name, const solver::Symbolic& symbolic) {
  solver::SupernodeTree fronts;
  fronts.parent = symbolic.parent;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    fronts.pivots.push_back(symbolic.pivots(s));
    fronts.order.push_back(symbolic.front_order(s));
  }
  return front_tree(std::move(name), fronts);
}

// Merges by number of pivots alone.
solver::AmalgamationOptions up_to(std::int32_t pivots) {
  solver::AmalgamationOptions options;
  options.relaxed = pivots > 1;
  options.limits.fill({pivots, 1.0});
  options.zeros_beyond = 0;
  return options;
}

Order elimination_order(const solver::SymmetricMatrix& matrix,
                        const solver::GridShape& grid, Elimination elimination) {
  return elimination == Elimination::kDissection
             ? dissection(grid)
             : compute_ordering(matrix, solver::OrderingKind::kAmd);
}

}  // namespace

std::vector<double> useful_workers(const GeneratedTree& instance, double tiles) {
  std::vector<double> useful(instance.tree->size(), 1.0);
  if (instance.front_order.empty()) return useful;
  const double b = std::ranges::max(instance.front_order) / tiles;
  for (std::size_t i = 0; i < useful.size(); ++i) {
    const double across = instance.front_order[i] / b;
    useful[i] = std::max(1.0, across * across / 6);
  }
  return useful;
}

GeneratedTree assembly_tree(std::string_view grid, Elimination elimination,
                            std::int32_t amalgamated) {
  const solver::GridShape shape = solver::parse_grid(grid);
  const solver::SymmetricMatrix matrix = solver::make_grid(shape);
  solver::SymmetricMatrix ordered =
      permuted(matrix, elimination_order(matrix, shape, elimination));
  const solver::Symbolic symbolic = analyse_pattern(
      ordered,
      {.ordering = solver::OrderingKind::kNatural, .amalgamation = up_to(amalgamated)});
  const char* by = elimination == Elimination::kDissection ? "dissection" : "degree";
  return tree_of(fmt::format("{} {} {}", grid, by, amalgamated), symbolic);
}

GeneratedTree matrix_tree(const std::string& file) {
  solver::InputMatrix matrix = solver::read_matrix(file);
  const solver::FactorKind kind = solver::kind_of(matrix);
  const solver::PreparedMatrix prepared = solver::prepare(std::move(matrix), kind);
  return tree_of(std::filesystem::path(file).filename().string(),
                 analyse_pattern(prepared.matrix.lower, {.amalgamation = {}}));
}

GeneratedTree synthetic_tree(std::size_t tasks, std::uint32_t seed) {
  std::mt19937 random(seed);
  // By hand: the library's distributions differ between implementations.
  const auto uniform = [&random] {
    return (static_cast<double>(random()) + 0.5) / 4294967296.0;
  };
  constexpr std::array kAtMost = {0.58, 0.81, 0.91, 0.97, 1.0};  // children: 1, 2, …
  std::vector<Task> all(1);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double draw = uniform();
    for (std::size_t c = 0; c < kAtMost.size() && all.size() < tasks; ++c) {
      all.push_back({.parent = task_id(i)});
      if (draw <= kAtMost[c]) break;
    }
    const double output = std::clamp(-100 * std::log(uniform()), 10.0, 10000.0);
    all[i].output_size = static_cast<Bytes>(output);
    all[i].execution_size = all[i].output_size / 10;
    all[i].work = static_cast<Flops>(all[i].output_size);
  }
  return {
      fmt::format("synthetic {} {}", tasks, seed), std::make_shared<TaskTree>(all), {}};
}

std::vector<GeneratedTree> assembly_trees() {
  constexpr std::array<std::pair<const char*, Elimination>, 8> kGrids = {
      {{"100x100", Elimination::kDissection},
       {"250x250", Elimination::kDissection},
       {"16x16x16", Elimination::kDissection},
       {"30x30x30", Elimination::kDissection},
       {"60x60x4", Elimination::kDissection},
       {"100x100x6", Elimination::kDissection},
       {"150x150", Elimination::kMinimumDegree},
       {"20x20x20", Elimination::kMinimumDegree}}};
  std::vector<GeneratedTree> trees;
  for (const auto& [grid, elimination] : kGrids) {
    for (const std::int32_t amalgamated : {1, 4, 16}) {
      trees.push_back(assembly_tree(grid, elimination, amalgamated));
    }
  }
  return trees;
}

}  // namespace espalier::bench
