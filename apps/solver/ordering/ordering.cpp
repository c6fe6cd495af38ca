#include "solver/ordering/ordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "solver/ordering/eliminate_few.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/graph.h"
#include "solver/ordering/nested_dissection.h"
#include "solver/ordering/ordering_libraries.h"
#include "solver/ordering/other_ordering.h"
#include "solver/ordering/reduce_graph.h"

namespace espalier::solver {
namespace {

#ifdef ESPALIER_WITH_METIS
constexpr bool kHaveMetis = true;
#else
constexpr bool kHaveMetis = false;
#endif
#ifdef ESPALIER_WITH_AMD
constexpr bool kHaveAmd = true;
#else
constexpr bool kHaveAmd = false;
#endif
#ifdef ESPALIER_WITH_SCOTCH
constexpr bool kHaveScotch = true;
#else
constexpr bool kHaveScotch = false;
#endif

struct Library {
  OrderingKind kind;
  std::string_view name;
  bool available;
  std::string_view package;
};
constexpr std::array kLibraries = {
    Library{OrderingKind::kNested, "nd", true, ""},
    Library{OrderingKind::kMetis, "metis", kHaveMetis, "METIS (Debian: libmetis-dev)"},
    Library{OrderingKind::kScotch, "scotch", kHaveScotch,
            "SCOTCH (Debian: libscotch-dev)"},
    Library{OrderingKind::kAmd, "amd", kHaveAmd,
            "AMD of SuiteSparse (Debian: libsuitesparse-dev)"},
    Library{OrderingKind::kNatural, "natural", true, ""},
    Library{OrderingKind::kAuto, "auto", true, ""},
};

const Library& library(OrderingKind kind) {
  return *std::find_if(kLibraries.begin(), kLibraries.end(),
                       [kind](const Library& each) { return each.kind == kind; });
}

using Permutation = std::vector<std::int32_t>;

constexpr double kWorthCompressing = 0.9;  // vertices left, of those before
constexpr double kBad = 0.1;               // of another order's operations do
// Operations an entry done in less time than a dissection takes: ours of a large matrix
// on two workers, and METIS, in 1.4 to 1.9 microseconds (docs/decisions/0142).
constexpr double kNestedFlops = 8000;
constexpr double kMetisFlops = 40'000;
constexpr std::int32_t kOursFrom = 200'000;  // columns from which on ours is taken

Permutation natural_order(std::int32_t size) {
  Permutation permutation(size);
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

// What to order a graph by, and on how many threads.
struct Means {
  OrderingKind kind;
  Threads threads;
};

Permutation dissected_order(Graph&& graph, Threads threads) {
  Permutation order;
  record_phase(threads, [&](std::vector<RecordedTask>* tasks) {
    order = nested_dissection(std::move(graph), threads.count, tasks, threads.interrupt);
  });
  return order;
}

Permutation order_of_core(ReducedGraph&& reduced, Means means) {
  Permutation core;
  if (!reduced.core.empty())
    core = means.kind == OrderingKind::kNested
               ? dissected_order(std::move(reduced.graph), means.threads)
               : library_order(std::move(reduced.graph), means.kind);
  return whole_order(reduced, core);
}

Graph graph_of(const SymmetricMatrix& matrix, Threads threads) {
  Graph graph;
  on_pool(threads, matrix.size, [&](TaskPool& pool) { graph = adjacency(matrix, pool); });
  return graph;
}

// Orders equal vertices as one where that makes the graph clearly smaller. AMD does so
// itself, and puts hubs last.
Permutation compressed_order(Graph&& graph, Means means) {
  if (means.kind == OrderingKind::kNatural) return natural_order(graph.size());
  if (means.kind == OrderingKind::kAmd)
    return order_of_core(reduce_graph(std::move(graph), false), means);
  ReducedGraph reduced;
  Groups groups;
  on_pool(means.threads, graph.size(), [&](TaskPool& pool) {
    reduced = reduce_graph(std::move(graph), true);
    groups = indistinguishable_vertices(reduced.graph, pool);
  });
  if (groups.count >= kWorthCompressing * reduced.graph.size())
    return order_of_core(std::move(reduced), means);
  const Permutation of_groups =
      order_of_core(reduce_graph(quotient(reduced.graph, groups), true), means);
  return whole_order(reduced, expanded_order(of_groups, groups));
}

Permutation paired_order(const SymmetricMatrix& matrix, Means means,
                         std::span<const std::int32_t> partner) {
  if (partner.empty()) {
    return means.kind == OrderingKind::kNatural
               ? natural_order(matrix.size)
               : compressed_order(graph_of(matrix, means.threads), means);
  }
  const Groups pairs = paired_vertices(partner);
  return expanded_order(
      compressed_order(quotient(graph_of(matrix, means.threads), pairs), means), pairs);
}

bool is_diagonal(const SymmetricMatrix& matrix) {
  if (std::ssize(matrix.row) > matrix.size) return false;
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k)
      if (matrix.row[k] != j) return false;
  return true;
}

// Nothing is to be chosen, nor to be found out.
ChosenOrder order_of_diagonal(std::int32_t size) {
  const auto n = static_cast<std::size_t>(size);
  return {{natural_order(size), OrderingKind::kNatural},
          EliminationOrder{.permutation = natural_order(size),
                           .parent = std::vector<std::int32_t>(n, -1),
                           .counts = std::vector<std::int32_t>(n, 1),
                           .rows = {size, std::vector<std::int64_t>(n + 1, 0), {}},
                           .flops = static_cast<Flops>(size)}};
}

// By degree, as AMD would, and found out on the way.
ChosenOrder order_of_few(const SymmetricMatrix& matrix) {
  EliminationOrder eliminated = eliminate_few(matrix);
  std::vector<std::int32_t> permutation = eliminated.permutation;
  return {{std::move(permutation), OrderingKind::kAmd}, std::move(eliminated)};
}

bool takes_fewer(const SymmetricMatrix& matrix, Flops flops, double per_entry) {
  return flops < per_entry * static_cast<double>(matrix.row.size());
}

// Our own of large matrices, where its fill is METIS's and its time half of it on two
// workers (docs/decisions/0143), and where there is no METIS.
OrderingKind dissection(std::int32_t size) {
  return size >= kOursFrom || !available(OrderingKind::kMetis) ? OrderingKind::kNested
                                                               : OrderingKind::kMetis;
}

// AMD takes a tenth of the time of nested dissection. It stays where its factor costs
// less than that time; otherwise the better of both.
ChosenOrder best_order(const SymmetricMatrix& matrix,
                       std::span<const std::int32_t> partner, Threads threads) {
  if (!kHaveAmd) {
    const OrderingKind kind = dissection(matrix.size);
    return {{paired_order(matrix, {kind, threads}, partner), kind}, {}};
  }
  Ordering by_degree{paired_order(matrix, {OrderingKind::kAmd, threads}, partner),
                     OrderingKind::kAmd};
  std::optional found = elimination_order(matrix, by_degree.permutation, threads);
  const Flops flops = found->flops;
  if (takes_fewer(matrix, flops, matrix.size >= kOursFrom ? kNestedFlops : kMetisFlops))
    return {std::move(by_degree), std::move(found)};
  found.reset();  // its memory, while the other is computed
  const OrderingKind kind = dissection(matrix.size);
  Ordering dissected{paired_order(matrix, {kind, threads}, partner), kind};
  found = elimination_order(matrix, dissected.permutation, threads);
  if (found->flops < flops) return {std::move(dissected), std::move(found)};
  return {std::move(by_degree), {}};
}

// On graphs of hubs SCOTCH may need a million times the operations of any other.
ChosenOrder checked_order(const SymmetricMatrix& matrix, Means means,
                          std::span<const std::int32_t> partner) {
  const OrderingKind kind = means.kind;
  Ordering asked{paired_order(matrix, means, partner), kind};
  if (kind != OrderingKind::kScotch || !kHaveAmd) return {std::move(asked), {}};
  std::optional found = elimination_order(matrix, asked.permutation, means.threads);
  if (takes_fewer(matrix, found->flops, kMetisFlops))
    return {std::move(asked), std::move(found)};
  Ordering by_degree{paired_order(matrix, {OrderingKind::kAmd, means.threads}, partner),
                     OrderingKind::kAmd};
  std::optional other = elimination_order(matrix, by_degree.permutation, means.threads);
  if (other->flops < kBad * found->flops) return {std::move(by_degree), std::move(other)};
  return {std::move(asked), std::move(found)};
}

}  // namespace

std::vector<OrderingKind> all_orderings() {
  std::vector<OrderingKind> kinds;
  for (const Library& each : kLibraries) kinds.push_back(each.kind);
  return kinds;
}

std::string_view name(OrderingKind kind) { return library(kind).name; }

OrderingKind parse_ordering(std::string_view text) {
  for (const Library& each : kLibraries) {
    if (each.name == text) return each.kind;
  }
  throw InvalidInput(fmt::format(
      "ordering '{}': expected auto, nd, metis, scotch, amd or natural", text));
}

bool available(OrderingKind kind) { return library(kind).available; }

std::optional<OrderingKind> other_ordering(OrderingKind taken, std::int32_t size) {
  if (taken == OrderingKind::kNatural) return std::nullopt;
  if (taken == OrderingKind::kAmd) return dissection(size);
  return kHaveAmd ? std::optional(OrderingKind::kAmd) : std::nullopt;
}

ChosenOrder choose_order(const SymmetricMatrix& matrix, OrderingKind kind,
                         std::span<const std::int32_t> partner, Threads threads) {
  if (!available(kind)) {
    throw InvalidInput(fmt::format("ordering '{}': this build lacks {}", name(kind),
                                   library(kind).package));
  }
  if (is_diagonal(matrix) && partner.empty()) return order_of_diagonal(matrix.size);
  if (kind == OrderingKind::kAuto && partner.empty() && matrix.size <= kFewColumns)
    return order_of_few(matrix);
  if (kind == OrderingKind::kAuto) return best_order(matrix, partner, threads);
  return checked_order(matrix, {kind, threads}, partner);
}

Ordering choose_ordering(const SymmetricMatrix& matrix, OrderingKind kind,
                         std::span<const std::int32_t> partner, std::int32_t workers) {
  return choose_order(matrix, kind, partner, workers).ordering;
}

std::vector<std::int32_t> compute_ordering(const SymmetricMatrix& matrix,
                                           OrderingKind kind,
                                           std::span<const std::int32_t> partner,
                                           std::int32_t workers) {
  return choose_ordering(matrix, kind, partner, workers).permutation;
}

}  // namespace espalier::solver
