#include "solver/solve/grain_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "solver/support/systems.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Columns 0 … 4 are fronts of one pivot: 0 and 1 below 2, which is below 3 as is 4's …
//
//   front   rows     parent
//   0       2 4      2
//   1       2 3 4    2
//   2       3 4      3
//   3       4        4
//   4                -
Symbolic five_fronts() {
  Symbolic symbolic;
  symbolic.size = 5;
  symbolic.first_column = {0, 1, 2, 3, 4, 5};
  symbolic.row_start = {0, 2, 5, 7, 8, 8};
  for (const std::int32_t row : {2, 4, 2, 3, 4, 3, 4, 4}) symbolic.rows.push_back(row);
  symbolic.parent = {2, 2, 3, 4, -1};
  return symbolic;
}

// What grain {2, 3} gets of the grains 0 and 1: row 2 and row 3 are its own, row 4 is
// beyond. Its place on the stack is that of its children.
TEST(GrainSums, ByHand) {
  const Symbolic symbolic = five_fronts();
  const std::vector<IndexRange> grains = {{0, 1}, {1, 2}, {2, 4}, {4, 5}};
  EXPECT_EQ(GrainSums<double>::entries(symbolic, grains), 2 + 3 + 1);
  EXPECT_EQ(GrainSums<double>::most_rows(symbolic, grains), 3);
  std::vector<double> b(5), stack(6, 99);
  std::vector<std::int32_t> places(3);
  GrainSums<double> sums(symbolic, {b.data(), 5, 1}, stack.data(), places.data());

  const AncestorRows<double> first = sums.open(grains[0]);
  EXPECT_EQ(first.limit, 1);
  std::vector<double> does = {1, 10};
  first.add(symbolic.rows_of(0), {does.data(), 2, 1}, {b.data(), 5, 1});
  const AncestorRows<double> second = sums.open(grains[1]);
  does = {100, 1000, 10000};
  second.add(symbolic.rows_of(1), {does.data(), 3, 1}, {b.data(), 5, 1});
  EXPECT_EQ(b, std::vector<double>(5, 0));

  const AncestorRows<double> third = sums.open(grains[2]);
  EXPECT_EQ(b, (std::vector<double>{0, 0, 101, 1000, 0}));
  EXPECT_EQ(third.limit, 4);
  EXPECT_EQ(third.out.data, stack.data());
  EXPECT_EQ(third.out.data[0], 10010);
  (void)sums.open(grains[3]);
  EXPECT_EQ(b[4], 10010);
}

// A front's share of a right-hand side for each of its rows, and the sums by recursion.
struct Shares {
  Shares(std::mt19937& random, const Symbolic& symbolic, std::int32_t count) {
    std::uniform_real_distribution<> value(-1, 1);
    for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
      auto& mine = of_front.emplace_back(symbolic.rows_of(s).size() * count);
      for (double& each : mine) each = value(random);
    }
  }
  std::vector<std::vector<double>> of_front;
};

struct Instance {
  Symbolic symbolic;
  std::vector<IndexRange> grains;
  std::int32_t count;
};

// All grains but those from `first` to `last` have been seen to by another object, which
// hands their sums on.
std::vector<double> summed(const Instance& of, const Shares& shares,
                           const std::vector<std::size_t>& ends) {
  const std::int64_t n = of.symbolic.size;
  std::vector<double> b(n * of.count);
  const Vectors<double> vectors{b.data(), n, of.count};
  struct Done {
    std::int32_t front;
    std::vector<double> sums;
  };
  std::vector<Done> done;
  std::size_t first = 0;
  for (const std::size_t last : ends) {
    const auto grains = std::span(of.grains).subspan(first, last - first);
    std::vector<double> stack(GrainSums<double>::entries(of.symbolic, grains) * of.count);
    std::vector<std::int32_t> places(GrainSums<double>::most_rows(of.symbolic, grains));
    GrainSums<double> sums(of.symbolic, vectors, stack.data(), places.data());
    const std::int32_t begin = grains.front().begin, end = grains.back().end;
    for (Done& child : done) {
      const std::int32_t parent = of.symbolic.parent[child.front];
      if (parent >= begin && parent < end)
        sums.add_child(
            child.front,
            {child.sums.data(), std::ssize(of.symbolic.rows_of(child.front)), of.count});
    }
    std::vector<double> own(of.symbolic.rows_of(end - 1).size() * of.count, 77);
    for (const IndexRange& grain : grains) {
      const Vectors<double> out{own.data(), std::ssize(of.symbolic.rows_of(end - 1)),
                                of.count};
      const auto ancestors = grain.end == end ? sums.open(grain, out) : sums.open(grain);
      for (std::int32_t s = grain.begin; s < grain.end; ++s) {
        std::vector<double> mine = shares.of_front[s];
        ancestors.add(of.symbolic.rows_of(s),
                      {mine.data(), std::ssize(of.symbolic.rows_of(s)), of.count},
                      vectors);
      }
    }
    done.push_back({end - 1, std::move(own)});
    first = last;
  }
  return b;
}

// The definition: what a grain and all below it do to a row beyond it.
double by_definition(const Instance& of, const Shares& shares, std::size_t grain,
                     std::int32_t row, std::int32_t v) {
  double sum = 0;
  const auto [begin, end] = of.grains[grain];
  for (std::size_t c = 0; c < grain; ++c) {
    const std::int32_t parent = of.symbolic.parent[of.grains[c].end - 1];
    const auto rows = of.symbolic.rows_of(of.grains[c].end - 1);
    if (parent >= begin && parent < end && std::ranges::binary_search(rows, row))
      sum += by_definition(of, shares, c, row, v);
  }
  for (std::int32_t s = begin; s < end; ++s) {
    const auto rows = of.symbolic.rows_of(s);
    const auto at = std::ranges::lower_bound(rows, row);
    if (at != rows.end() && *at == row)
      sum += shares.of_front[s][v * rows.size() + (at - rows.begin())];
  }
  return sum;
}

// However grains are grouped into nodes that know of each other by their last sums alone.
TEST(GrainSums, AreThoseOfTheDefinitionForAnyGroups) {
  std::mt19937 random(5);
  int several = 0;
  for (int round = 0; round < 200; ++round) {
    Instance instance;
    instance.symbolic =
        analyse_pattern(random_spd(random, draw(random, 1, 60)), random_analysis(random));
    instance.count = draw(random, 1, 3);
    AssemblyOptions options = random_assembly(random);
    const AssemblyTree tree = build_assembly_tree(instance.symbolic, options);
    instance.grains.assign(tree.grains.begin(), tree.grains.end());
    const Shares shares(random, instance.symbolic, instance.count);
    std::vector<std::size_t> singly, nodes;
    for (std::size_t k = 1; k <= instance.grains.size(); ++k) singly.push_back(k);
    for (const AssemblyTree::Node& node : tree.nodes)
      nodes.push_back((nodes.empty() ? 0 : nodes.back()) + tree.grains_of(node).size());
    ASSERT_EQ(nodes.back(), instance.grains.size());
    several += nodes.size() > 1 && nodes.size() < singly.size();
    const auto expected = summed(instance, shares, singly);
    EXPECT_EQ(summed(instance, shares, {instance.grains.size()}), expected);
    EXPECT_EQ(summed(instance, shares, nodes), expected);
    // Rows of a grain get what its children did, then what its own fronts do, one by one.
    for (std::size_t g = 0; g < instance.grains.size(); ++g) {
      const auto [begin, end] = instance.grains[g];
      for (std::int32_t row = instance.symbolic.first_column[begin];
           row < instance.symbolic.first_column[end]; ++row)
        for (std::int32_t v = 0; v < instance.count; ++v)
          ASSERT_EQ(expected[std::int64_t{v} * instance.symbolic.size + row],
                    by_definition(instance, shares, g, row, v))
              << "round " << round << ", grain " << g << ", row " << row;
    }
  }
  EXPECT_GT(several, 10);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
