#include "espalier/sequential/order_graph.h"

#include <gtest/gtest.h>

#include "espalier/model/validate_graph.h"
#include "support/exact_graph.h"
#include "support/random_graphs.h"

namespace espalier {
namespace {

TEST(OrderGraph, MatchesBruteForceOnSmallGraphs) {
  std::mt19937 random(51);
  for (int instance = 0; instance < 24000; ++instance) {
    const TaskGraph graph = support::varied_graph(random, instance, 12);
    const GraphOrder found = order_graph(graph);
    ASSERT_TRUE(found.proved()) << support::describe(graph);
    ASSERT_EQ(found.least_bytes, support::exact_peak(graph)) << support::describe(graph);
    ASSERT_EQ(validate(graph, Traversal{found.order, found.least_bytes}), Violations())
        << support::describe(graph);
  }
}

}  // namespace
}  // namespace espalier
