#include "solver/ordering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <numeric>

#include "espalier/model/error.h"
#ifdef ESPALIER_WITH_METIS
#include <metis.h>
#endif
#ifdef ESPALIER_WITH_AMD
#include <amd.h>
#endif
#ifdef ESPALIER_WITH_SCOTCH
#include <scotch.h>
#endif

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
    Library{OrderingKind::kMetis, "metis", kHaveMetis, "METIS (Debian: libmetis-dev)"},
    Library{OrderingKind::kScotch, "scotch", kHaveScotch,
            "SCOTCH (Debian: libscotch-dev)"},
    Library{OrderingKind::kAmd, "amd", kHaveAmd,
            "AMD of SuiteSparse (Debian: libsuitesparse-dev)"},
    Library{OrderingKind::kNatural, "natural", true, ""},
};

const Library& library(OrderingKind kind) {
  return *std::find_if(kLibraries.begin(), kLibraries.end(),
                       [kind](const Library& each) { return each.kind == kind; });
}

using Permutation = std::vector<std::int32_t>;

[[maybe_unused]] std::int32_t checked_int32(std::int64_t count, const char* what) {
  if (count > std::numeric_limits<std::int32_t>::max()) {
    throw InvalidInput(
        fmt::format("ordering: {} {}, more than the library's 2^31 - 1", count, what));
  }
  return static_cast<std::int32_t>(count);
}

// Adjacency of the matrix without the diagonal and without isolated vertices, which the
// libraries do not all accept.
struct Graph {
  std::vector<std::int32_t> start, neighbour;
  std::vector<std::int32_t> vertex;    // index in the matrix of each vertex
  std::vector<std::int32_t> isolated;  // indices in the matrix that have no neighbour
};

template <class Visit>
void for_each_edge(const SymmetricMatrix& matrix, Visit visit) {
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      if (matrix.row[at] != column) visit(matrix.row[at], column);
    }
  }
}

[[maybe_unused]] Graph adjacency(const SymmetricMatrix& matrix) {
  std::vector<std::int32_t> degree(matrix.size, 0);
  std::int64_t ends = 0;
  for_each_edge(matrix, [&](auto a, auto b) {
    ++degree[a];
    ++degree[b];
    ends += 2;
  });
  Graph graph;
  graph.neighbour.resize(checked_int32(ends, "edge ends"));
  graph.start.assign(1, 0);
  std::vector<std::int32_t>& number = degree;
  for (std::int32_t index = 0; index < matrix.size; ++index) {
    if (degree[index] == 0) {
      graph.isolated.push_back(index);
      continue;
    }
    graph.start.push_back(graph.start.back() + degree[index]);
    number[index] = static_cast<std::int32_t>(graph.vertex.size());
    graph.vertex.push_back(index);
  }
  std::vector<std::int32_t> next(graph.start);
  for_each_edge(matrix, [&](auto a, auto b) {
    graph.neighbour[next[number[a]]++] = number[b];
    graph.neighbour[next[number[b]]++] = number[a];
  });
  return graph;
}

// Isolated vertices first, then the others by `order` of the graph.
[[maybe_unused]] Permutation of_matrix(const Graph& graph, const Permutation& order) {
  Permutation permutation(graph.isolated);
  permutation.reserve(graph.isolated.size() + order.size());
  for (std::int32_t vertex : order) permutation.push_back(graph.vertex[vertex]);
  return permutation;
}

Permutation natural_order(std::int32_t size) {
  Permutation permutation(size);
  std::iota(permutation.begin(), permutation.end(), 0);
  return permutation;
}

#ifdef ESPALIER_WITH_METIS
Permutation metis_order(const SymmetricMatrix& matrix) {
  static_assert(sizeof(idx_t) == sizeof(std::int32_t), "METIS with 32-bit idx_t");
  Graph graph = adjacency(matrix);
  if (graph.vertex.empty()) return graph.isolated;
  auto size = static_cast<idx_t>(graph.vertex.size());
  Permutation order(size), inverse(size);
  const int status = METIS_NodeND(&size, graph.start.data(), graph.neighbour.data(),
                                  nullptr, nullptr, order.data(), inverse.data());
  if (status != METIS_OK) {
    throw Error(status == METIS_ERROR_MEMORY
                    ? "ordering: METIS ran out of memory"
                    : fmt::format("ordering: METIS_NodeND failed ({})", status));
  }
  return of_matrix(graph, order);
}
#endif

#ifdef ESPALIER_WITH_SCOTCH
Permutation scotch_order(const SymmetricMatrix& matrix) {
  static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t), "SCOTCH with 32-bit numbers");
  Graph graph = adjacency(matrix);
  if (graph.vertex.empty()) return graph.isolated;
  const auto size = static_cast<SCOTCH_Num>(graph.vertex.size());
  const auto ends = static_cast<SCOTCH_Num>(graph.neighbour.size());
  Permutation order(size);
  SCOTCH_Context context;
  SCOTCH_Graph scotch, bound;
  SCOTCH_Strat strategy;
  SCOTCH_contextInit(&context);
  SCOTCH_graphInit(&scotch);
  SCOTCH_graphInit(&bound);
  SCOTCH_stratInit(&strategy);
  // The same permutation in every run: several threads race for better separators.
  SCOTCH_contextOptionSetNum(&context, SCOTCH_OPTIONNUMDETERMINISTIC, 1);
  SCOTCH_contextRandomReset(&context);
  const bool failed =
      SCOTCH_graphBuild(&scotch, 0, size, graph.start.data(), nullptr, nullptr, nullptr,
                        ends, graph.neighbour.data(), nullptr) != 0 ||
      SCOTCH_contextThreadSpawn(&context, 1, nullptr) != 0 ||
      SCOTCH_contextBindGraph(&context, &scotch, &bound) != 0 ||
      SCOTCH_graphOrder(&bound, &strategy, nullptr, order.data(), nullptr, nullptr,
                        nullptr) != 0;
  SCOTCH_stratExit(&strategy);
  SCOTCH_graphExit(&bound);
  SCOTCH_graphExit(&scotch);
  SCOTCH_contextExit(&context);
  if (failed) throw Error("ordering: SCOTCH_graphOrder failed");
  return of_matrix(graph, order);
}
#endif

#ifdef ESPALIER_WITH_AMD
Permutation amd_permutation(const SymmetricMatrix& matrix) {
  checked_int32(matrix.column_start.back(), "entries");
  const std::vector<std::int32_t> start(matrix.column_start.begin(),
                                        matrix.column_start.end());
  Permutation permutation(matrix.size);
  const int status = amd_order(matrix.size, start.data(), matrix.row.data(),
                               permutation.data(), nullptr, nullptr);
  if (status != AMD_OK && status != AMD_OK_BUT_JUMBLED) {
    throw Error(status == AMD_OUT_OF_MEMORY
                    ? "ordering: AMD ran out of memory"
                    : fmt::format("ordering: amd_order failed ({})", status));
  }
  return permutation;
}
#endif

}  // namespace

std::string_view name(OrderingKind kind) { return library(kind).name; }

OrderingKind parse_ordering(std::string_view text) {
  for (const Library& each : kLibraries) {
    if (each.name == text) return each.kind;
  }
  throw InvalidInput(
      fmt::format("ordering '{}': expected metis, scotch, amd or natural", text));
}

bool available(OrderingKind kind) { return library(kind).available; }

OrderingKind default_ordering() {
  return std::find_if(kLibraries.begin(), kLibraries.end(),
                      [](const Library& each) { return each.available; })
      ->kind;
}

std::vector<std::int32_t> compute_ordering(const SymmetricMatrix& matrix,
                                           OrderingKind kind) {
  if (!available(kind)) {
    throw InvalidInput(fmt::format("ordering '{}': this build lacks {}", name(kind),
                                   library(kind).package));
  }
  if (matrix.row.empty()) return natural_order(matrix.size);
  switch (kind) {
#ifdef ESPALIER_WITH_METIS
    case OrderingKind::kMetis:
      return metis_order(matrix);
#endif
#ifdef ESPALIER_WITH_SCOTCH
    case OrderingKind::kScotch:
      return scotch_order(matrix);
#endif
#ifdef ESPALIER_WITH_AMD
    case OrderingKind::kAmd:
      return amd_permutation(matrix);
#endif
    default:
      return natural_order(matrix.size);
  }
}

}  // namespace espalier::solver
