#include "solver/ordering/ordering_libraries.h"

#include <fmt/format.h>

#include <array>
#include <csignal>
#include <limits>
#include <mutex>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"
#ifdef ESPALIER_WITH_METIS
#include <metis.h>
#endif
#ifdef ESPALIER_WITH_SCOTCH
#include <scotch.h>
#endif

namespace espalier::solver {
namespace {

// METIS draws from rand() and changes the process's signal handlers, SCOTCH has state of
// its own: calls of two threads would change each other's order, or leave a handler
// behind.
[[maybe_unused]] std::mutex& one_at_a_time() {
  static std::mutex of_the_process;
  return of_the_process;
}

// The offsets as the libraries take them; the graph's own are freed.
[[maybe_unused]] std::vector<std::int32_t> short_offsets(Graph& graph) {
  if (graph.start.back() > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(
        fmt::format("ordering: {} edge ends, more than the libraries' 2^31 - 1; "
                    "ordering 'nd' takes them",
                    graph.start.back()));
  std::vector<std::int32_t> start(graph.start.begin(), graph.start.end());
  free_memory(graph.start);
  return start;
}

#ifdef ESPALIER_WITH_METIS
// Of the two sides of a separator, in thousandths above the half: 1.4 to 1. The default,
// 200, keeps separators larger than they need be.
constexpr idx_t kMetisImbalance = 400;

std::vector<std::int32_t> metis_order(Graph&& graph) {
  static_assert(sizeof(idx_t) == sizeof(std::int32_t), "METIS with 32-bit idx_t");
  idx_t size = graph.size();
  std::vector<std::int32_t> start = short_offsets(graph);
  std::vector<std::int32_t> order(size), inverse(size);
  std::array<idx_t, METIS_NOPTIONS> options{};
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_COMPRESS] = 0;
  options[METIS_OPTION_UFACTOR] = kMetisImbalance;
  // Cheap on a graph that was compressed; METIS does so after its own compression.
  if (!graph.weight.empty()) options[METIS_OPTION_NSEPS] = 2;
  const std::scoped_lock lock(one_at_a_time());
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  const int status = METIS_NodeND(&size, start.data(), graph.neighbour.data(),
                                  graph.weight.empty() ? nullptr : graph.weight.data(),
                                  options.data(), order.data(), inverse.data());
  if (status == METIS_ERROR) {
    // METIS catches SIGTERM, frees its memory and fails. The signal was meant for the
    // program, whose own action METIS has put back; its handler may have left the signal
    // blocked. METIS's own errors, which take the same way, are about options and are
    // printed by it.
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    raise(SIGTERM);
    throw Error("ordering: METIS_NodeND was interrupted by SIGTERM");
  }
  if (status != METIS_OK) {
    throw Error(status == METIS_ERROR_MEMORY
                    ? "ordering: METIS ran out of memory"
                    : fmt::format("ordering: METIS_NodeND failed ({})", status));
  }
  return order;
}
#endif

#ifdef ESPALIER_WITH_SCOTCH
std::vector<std::int32_t> scotch_order(Graph&& graph) {
  static_assert(sizeof(SCOTCH_Num) == sizeof(std::int32_t), "SCOTCH with 32-bit numbers");
  const SCOTCH_Num size = graph.size();
  const std::vector<std::int32_t> start = short_offsets(graph);
  const auto ends = static_cast<SCOTCH_Num>(graph.neighbour.size());
  std::vector<std::int32_t> order(size);
  const std::scoped_lock lock(one_at_a_time());
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
      SCOTCH_graphBuild(&scotch, 0, size, start.data(), nullptr,
                        graph.weight.empty() ? nullptr : graph.weight.data(), nullptr,
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
  return order;
}
#endif

}  // namespace

std::vector<std::int32_t> library_order([[maybe_unused]] Graph&& graph,
                                        OrderingKind kind) {
  switch (kind) {
#ifdef ESPALIER_WITH_METIS
    case OrderingKind::kMetis:
      return metis_order(std::move(graph));
#endif
#ifdef ESPALIER_WITH_SCOTCH
    case OrderingKind::kScotch:
      return scotch_order(std::move(graph));
#endif
    default:
      throw InvalidInput(fmt::format("ordering '{}' has no library", name(kind)));
  }
}

}  // namespace espalier::solver
