#include "solver/ordering/ordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "solver/ordering/approximate_minimum_degree.h"
#include "solver/ordering/eliminate_few.h"
#include "solver/ordering/elimination_order.h"
#include "solver/ordering/graph.h"
#include "solver/ordering/grouped_pattern.h"
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
    Library{OrderingKind::kAmd, "amd", true, ""},
    Library{OrderingKind::kNatural, "natural", true, ""},
    Library{OrderingKind::kAuto, "auto", true, ""},
};

const Library& library(OrderingKind kind) {
  return *std::find_if(kLibraries.begin(), kLibraries.end(),
                       [kind](const Library& each) { return each.kind == kind; });
}

using Permutation = std::vector<std::int32_t>;

constexpr double kBad = 0.1;  // of another order's operations do
// Operations an entry done in less time than a dissection takes, in 1.1 to 1.9
// microseconds (docs/decisions/0142); of a large matrix it is memory that matters.
constexpr double kCheapFlops = 40'000, kCheapFlopsOfLarge = 8000;
constexpr std::int32_t kLarge = 200'000;    // columns
constexpr std::int32_t kOursFrom = 10'000;  // columns from which on ours is taken

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
           : means.kind == OrderingKind::kAmd
               ? approximate_minimum_degree(std::move(reduced.graph),
                                            means.threads.interrupt)
               : library_order(std::move(reduced.graph), means.kind);
  return whole_order(reduced, std::move(core));
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
  return {OrderingKind::kNatural,
          EliminationOrder{.permutation = natural_order(size),
                           .parent = std::vector<std::int32_t>(n, -1),
                           .counts = std::vector<std::int32_t>(n, 1),
                           .rows = {size, UnsetVector<std::int64_t>(n + 1, 0), {}},
                           .flops = static_cast<Flops>(size)}};
}

bool takes_fewer(const GroupedPattern& grouped, Flops flops, double per_entry) {
  return flops < per_entry * static_cast<double>(grouped.entries());
}

// Our own where its time is METIS's on one worker and half of it on two, with less fill
// (docs/decisions/0266), and where there is no METIS.
OrderingKind dissection(std::int32_t size) {
  return size >= kOursFrom || !available(OrderingKind::kMetis) ? OrderingKind::kNested
                                                               : OrderingKind::kMetis;
}

// An order of groups, and what the elimination is like where that was looked at.
struct OrderOfGroups {
  Permutation order;
  OrderingKind kind;
  std::optional<EliminationOrder> eliminated;
};

OrderOfGroups looked_at(const GroupedPattern& grouped, Means means) {
  OrderOfGroups found{
      order_of_groups(grouped, means.kind, means.threads), means.kind, {}};
  found.eliminated = elimination_order(grouped, found.order, means.threads);
  return found;
}

// Minimum degree takes a tenth of the time of nested dissection. It stays where its
// factor costs less than that time; otherwise the better of both.
// @param size  columns
bool is_cheap(const GroupedPattern& grouped, std::int32_t size, Flops flops) {
  return takes_fewer(grouped, flops, size >= kLarge ? kCheapFlopsOfLarge : kCheapFlops);
}

OrderOfGroups best_order(const GroupedPattern& grouped, std::int32_t size,
                         Threads threads) {
  OrderOfGroups by_degree = looked_at(grouped, {OrderingKind::kAmd, threads});
  const Flops flops = by_degree.eliminated->flops;
  if (is_cheap(grouped, size, flops)) return by_degree;
  by_degree.eliminated.reset();  // its memory, while the other is computed
  OrderOfGroups dissected = looked_at(grouped, {dissection(size), threads});
  return dissected.eliminated->flops < flops ? std::move(dissected)
                                             : std::move(by_degree);
}

// On graphs of hubs SCOTCH may need a million times the operations of any other.
OrderOfGroups checked_order(const GroupedPattern& grouped, Means means) {
  if (means.kind != OrderingKind::kScotch)
    return {order_of_groups(grouped, means.kind, means.threads), means.kind, {}};
  OrderOfGroups asked = looked_at(grouped, means);
  if (takes_fewer(grouped, asked.eliminated->flops, kCheapFlops)) return asked;
  OrderOfGroups by_degree = looked_at(grouped, {OrderingKind::kAmd, means.threads});
  return by_degree.eliminated->flops < kBad * asked.eliminated->flops
             ? std::move(by_degree)
             : std::move(asked);
}

OrderOfGroups chosen_order(const GroupedPattern& grouped, std::int32_t size,
                           Means means) {
  return means.kind == OrderingKind::kAuto ? best_order(grouped, size, means.threads)
                                           : checked_order(grouped, means);
}

// Nothing is to be chosen, and what there is to find out is found on the way.
std::optional<ChosenOrder> plain_order(const SymmetricMatrix& matrix, OrderingKind kind,
                                       std::span<const std::int32_t> partner) {
  if (!partner.empty()) return std::nullopt;
  if (is_diagonal(matrix)) return order_of_diagonal(matrix.size);
  const OrderingKind taken = kind == OrderingKind::kAuto ? OrderingKind::kAmd : kind;
  if (kind == OrderingKind::kAuto && matrix.size <= kFewColumns)
    return ChosenOrder{taken, eliminate_few(matrix)};
  if (kind == OrderingKind::kNatural) return std::nullopt;
  std::optional<EliminationOrder> forest = elimination_of_forest(matrix);
  if (!forest) return std::nullopt;
  return ChosenOrder{taken, *std::move(forest)};
}

GroupedPattern::Equal equal_columns(OrderingKind kind) {
  return kind == OrderingKind::kNatural ? GroupedPattern::Equal::kApart
                                        : GroupedPattern::Equal::kJoined;
}

void need_available(OrderingKind kind) {
  if (!available(kind))
    throw InvalidInput(fmt::format("ordering '{}': this build lacks {}", name(kind),
                                   library(kind).package));
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
  return taken == OrderingKind::kAmd ? dissection(size) : OrderingKind::kAmd;
}

// Hubs come last by themselves in minimum degree.
std::vector<std::int32_t> order_of_groups(const GroupedPattern& grouped,
                                          OrderingKind kind, Threads threads) {
  const SymmetricMatrix& pattern = grouped.pattern();
  if (kind == OrderingKind::kNatural) return natural_order(pattern.size);
  const bool by_degree = kind == OrderingKind::kAmd;
  const std::int64_t room =
      by_degree ? minimum_degree_room(pattern.size, 2 * std::ssize(pattern.row)) : 0;
  ReducedGraph reduced;
  on_pool(threads, pattern.size, [&](TaskPool& pool) {
    Graph graph = adjacency(pattern, pool, room);
    graph.weight.assign(grouped.weight().begin(), grouped.weight().end());
    reduced = reduce_graph(std::move(graph), !by_degree);
  });
  return order_of_core(std::move(reduced), {kind, threads});
}

ChosenOrder choose_order(const SymmetricMatrix& matrix, OrderingKind kind,
                         std::span<const std::int32_t> partner, Threads threads) {
  need_available(kind);
  if (auto plain = plain_order(matrix, kind, partner)) return *std::move(plain);
  const GroupedPattern grouped(matrix, partner, equal_columns(kind), threads);
  auto [order, taken, eliminated] = chosen_order(grouped, matrix.size, {kind, threads});
  if (!eliminated) eliminated = elimination_order(grouped, order, threads);
  return {taken, *std::move(eliminated)};
}

ChosenOrder choose_order(const GroupedPattern& grouped, EliminationOrder&& by_degree,
                         Threads threads) {
  const auto size = static_cast<std::int32_t>(by_degree.permutation.size());
  if (!is_cheap(grouped, size, by_degree.flops)) {
    OrderOfGroups dissected = looked_at(grouped, {dissection(size), threads});
    if (dissected.eliminated->flops < by_degree.flops)
      return {dissected.kind, *std::move(dissected.eliminated)};
  }
  return {OrderingKind::kAmd, std::move(by_degree)};
}

Ordering choose_ordering(const SymmetricMatrix& matrix, OrderingKind kind,
                         std::span<const std::int32_t> partner, std::int32_t workers) {
  need_available(kind);
  if (auto plain = plain_order(matrix, kind, partner))
    return {std::move(plain->eliminated.permutation), plain->kind};
  const GroupedPattern grouped(matrix, partner, equal_columns(kind), workers);
  OrderOfGroups chosen = chosen_order(grouped, matrix.size, {kind, workers});
  return {grouped.expanded(std::move(chosen.order)), chosen.kind};
}

std::vector<std::int32_t> compute_ordering(const SymmetricMatrix& matrix,
                                           OrderingKind kind,
                                           std::span<const std::int32_t> partner,
                                           std::int32_t workers) {
  return choose_ordering(matrix, kind, partner, workers).permutation;
}

}  // namespace espalier::solver
