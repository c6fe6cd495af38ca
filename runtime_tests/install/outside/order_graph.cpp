// Builds the graph of a computation and asks for the order that needs the least memory.
//
//   input (1) --> down --> skip (4) ---------------------> join --> output (1, kept)
//                              \--> shrink --> small (1) --> deep --> grown (4) --^
//                               \--> probe --> result (1, kept)

#include <cstdio>
#include <string>

#include "espalier/model/graph_builder.h"
#include "espalier/model/replay_graph.h"
#include "espalier/sequential/dag/order_graph.h"

namespace {

espalier::TaskGraph network() {
  espalier::TaskGraphBuilder builder;
  const auto input = builder.add_datum("input", 1);
  const auto skip = builder.add_datum("skip", 4);
  const auto small = builder.add_datum("small", 1);
  const auto grown = builder.add_datum("grown", 4);
  const auto output = builder.add_datum("output", 1);
  const auto result = builder.add_datum("result", 1);
  const auto run = [&](const char* name, std::initializer_list<espalier::DatumId> inputs,
                       espalier::DatumId written, espalier::Bytes workspace = 0) {
    const auto task = builder.add_task(name, workspace);
    for (const auto datum : inputs) builder.reads(task, datum);
    builder.writes(task, written);
  };
  run("down", {input}, skip);
  run("shrink", {skip}, small);
  run("deep", {small}, grown);
  run("probe", {skip}, result, 3);
  run("join", {skip, grown}, output);
  builder.keep(output);
  builder.keep(result);
  return std::move(builder).build();
}

}  // namespace

int main() {
  const espalier::TaskGraph graph = network();
  const espalier::GraphOrder best = espalier::order_graph(graph);
  std::printf("as given %lld, least %lld, at least %lld:",
              static_cast<long long>(replay(graph, graph.topological_order()).peak),
              static_cast<long long>(best.least_bytes),
              static_cast<long long>(best.lower_bound_bytes));
  for (const espalier::TaskId task : best.order)
    std::printf(" %s", std::string(graph.name(task)).c_str());
  std::printf("\n");
}
