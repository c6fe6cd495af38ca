#include "solver/distributed/original_tiles.h"

#include <algorithm>
#include <span>

#include "solver/distributed/front_tiles.h"
#include "solver/tree/original_entries.h"

namespace espalier::solver {
namespace {

// Processes that have tiles of a block column, each once.
std::vector<std::int32_t> owners_of(const FrontTiles& tiles, std::int32_t block) {
  std::vector<std::int32_t> owners;
  for (std::int32_t s = tiles.strip_of(block); s < tiles.strips(); ++s)
    if (std::ranges::find(owners, tiles.owner(s, block)) == owners.end())
      owners.push_back(tiles.owner(s, block));
  return owners;
}

// The entries of the matrix in a process's tiles of a block column of a front's panel.
template <class T>
std::vector<FrontEntry<T>> entries_for(const Symbolic& symbolic, std::int32_t front,
                                       const FrontTiles& tiles, std::int32_t block,
                                       std::int32_t process,
                                       const SquareMatrix& permuted) {
  std::vector<FrontEntry<T>> entries;
  for (std::int32_t j = tiles.starts()[block]; j < tiles.starts()[block + 1]; ++j)
    for_each_original_entry(
        symbolic, permuted.lower, front, j, 0, [&](std::int32_t i, auto k) {
          if (tiles.owner(strip_of_row(tiles.strip_rows(), i), block) != process) return;
          FrontEntry<T> entry{i, j, {permuted.entry<T>(k), T{0}}};
          if (!permuted.symmetric()) entry.value[1] = permuted.upper_entry<T>(k);
          entries.push_back(entry);
        });
  return entries;
}

template <class T>
void append(std::vector<FrontEntry<T>>& all, const std::vector<FrontEntry<T>>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

template <class T>
std::vector<FrontEntry<T>> receive_entries(Communicator& communicator,
                                           std::int32_t from) {
  std::int64_t count = 0;
  receive(communicator, std::span(&count, 1), from, MessageTag::kMatrix);
  std::vector<FrontEntry<T>> entries(static_cast<std::size_t>(count));
  if (count > 0) receive(communicator, std::span(entries), from, MessageTag::kMatrix);
  return entries;
}

template <class T>
void send_entries(Communicator& communicator, std::int32_t to,
                  const std::vector<FrontEntry<T>>& entries) {
  const std::int64_t count = std::ssize(entries);
  send(communicator, std::span(&count, 1), to, MessageTag::kMatrix);
  if (count > 0)
    send(communicator, std::span<const FrontEntry<T>>(entries), to, MessageTag::kMatrix);
}

}  // namespace

template <class T>
std::vector<std::vector<FrontEntry<T>>> original_tiles(
    Communicator& communicator, const Symbolic& symbolic, const AssemblyTree& tree,
    const FrontDistribution& distribution, const SquareMatrix& permuted) {
  std::vector<std::vector<FrontEntry<T>>> here(tree.nodes.size());
  const std::int32_t me = communicator.rank();
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    if (!distribution.takes_part(node, me) || distribution.grid_of(node).strips() == 1)
      continue;
    const std::int32_t front = tree.nodes[node].last_front;
    const FrontTiles tiles(symbolic, tree, distribution, front);
    for (std::int32_t b = 0; b < tiles.panels(); ++b) {
      const std::int32_t from = tiles.owner(tiles.strip_of(b), b);
      const auto entries = [&](std::int32_t process) {
        return entries_for<T>(symbolic, front, tiles, b, process, permuted);
      };
      for (const std::int32_t to : owners_of(tiles, b)) {
        if (from == me && to == me)
          append(here[node], entries(me));
        else if (from == me)
          send_entries(communicator, to, entries(to));
        else if (to == me)
          append(here[node], receive_entries<T>(communicator, from));
      }
    }
  }
  return here;
}

Bytes original_tile_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                          const FrontDistribution& distribution, std::int32_t process,
                          Bytes entry_bytes,
                          const std::vector<std::int64_t>& entries_before) {
  Bytes bytes = 0;
  for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node) {
    if (!distribution.takes_part(node, process) ||
        distribution.grid_of(node).strips() == 1)
      continue;
    const std::int32_t front = tree.nodes[node].last_front;
    const FrontTiles tiles(symbolic, tree, distribution, front);
    const std::int32_t first = symbolic.first_column[front];
    for (std::int32_t b = 0; b < tiles.panels(); ++b)
      if (tiles.has_any(process, b))
        // A list that has grown may be twice as long as it needs to be.
        bytes += 2 *
                 (entries_before[first + tiles.starts()[b + 1]] -
                  entries_before[first + tiles.starts()[b]]) *
                 (2 * static_cast<Bytes>(sizeof(std::int32_t)) + 2 * entry_bytes);
  }
  return bytes;
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template std::vector<std::vector<FrontEntry<T>>> original_tiles(                   \
      Communicator&, const Symbolic&, const AssemblyTree&, const FrontDistribution&, \
      const SquareMatrix&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
