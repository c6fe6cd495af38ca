#include "solver/distributed/distribute.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace {

// FNV-1a by entries in place of bytes.
class Checksum {
 public:
  template <class T, class Allocator>
  void add(const std::vector<T, Allocator>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    for (const T value : values) add(static_cast<std::uint64_t>(value));
  }
  void add(std::uint64_t value) { sum_ = (sum_ ^ value) * 0x100000001b3U; }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0xcbf29ce484222325U;
};

std::uint64_t checksum(const Symbolic& symbolic) {
  Checksum sum;
  sum.add(static_cast<std::uint64_t>(symbolic.size));
  sum.add(symbolic.permutation);
  sum.add(symbolic.first_column);
  sum.add(symbolic.row_start);
  sum.add(symbolic.rows);
  sum.add(symbolic.parent);
  return sum.sum();
}

struct SymbolicHeader {
  std::int64_t size, factor_entries;
  double factor_flops;
  std::uint64_t checksum;
};

// Entries of a range of columns.
struct EntryRange {
  std::size_t begin, count;
  [[nodiscard]] bool empty() const { return count == 0; }
};
EntryRange entries_of(const std::vector<std::int64_t>& column_start,
                      const ColumnRange& range) {
  const std::int64_t begin = column_start[range.begin], end = column_start[range.end];
  return {static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)};
}

void send_others(Communicator& communicator, std::span<const ColumnRange> ranges,
                 const ValueLists& lists, const SquareMatrix& permuted) {
  for (const ColumnRange& range : ranges) {
    const EntryRange entries = entries_of(permuted.lower.column_start, range);
    if (range.owner == communicator.rank() || entries.empty()) continue;
    for_each_list(permuted, lists, [&](const auto& list) {
      send(communicator, std::span(list).subspan(entries.begin, entries.count),
           range.owner, MessageTag::kMatrix);
    });
  }
}

void receive_own(Communicator& communicator, std::span<const ColumnRange> ranges,
                 const ValueLists& lists, SquareMatrix& permuted) {
  std::size_t total = 0;
  for (const ColumnRange& range : ranges)
    if (range.owner == communicator.rank())
      total += entries_of(permuted.lower.column_start, range).count;
  permuted = {.lower = {.size = permuted.lower.size,
                        .column_start = std::move(permuted.lower.column_start),
                        .row = {},
                        .value = {}},
              .upper = {},
              .complex = permuted.complex};
  for_each_list(permuted, lists, [total](auto& list) { list.resize(total); });
  std::size_t at = 0;
  for (const ColumnRange& range : ranges) {
    const EntryRange entries = entries_of(permuted.lower.column_start, range);
    if (range.owner != communicator.rank() || entries.empty()) continue;
    for_each_list(permuted, lists, [&](auto& list) {
      receive(communicator, std::span(list).subspan(at, entries.count), 0,
              MessageTag::kMatrix);
    });
    at += entries.count;
  }
}

// Keeps of a list of entries those of own columns.
template <class T>
void keep_own(std::int32_t process, std::span<const ColumnRange> ranges,
              const std::vector<std::int64_t>& column_start, std::vector<T>& list) {
  auto to = list.begin();
  for (const ColumnRange& range : ranges) {
    if (range.owner != process) continue;
    const EntryRange entries = entries_of(column_start, range);
    const auto from = list.begin() + static_cast<std::ptrdiff_t>(entries.begin);
    to = std::copy(from, from + static_cast<std::ptrdiff_t>(entries.count), to);
  }
  list.erase(to, list.end());
  list.shrink_to_fit();
}

// Columns of others become empty.
void empty_columns(std::int32_t process, std::span<const ColumnRange> ranges,
                   std::vector<std::int64_t>& column_start) {
  std::int64_t before = 0, total = 0;
  for (const ColumnRange& range : ranges)
    for (std::int32_t j = range.begin; j < range.end; ++j) {
      const std::int64_t end = column_start[j + 1];
      if (range.owner == process) total += end - before;
      column_start[j + 1] = total;
      before = end;
    }
}

}  // namespace

void broadcast(Communicator& communicator, Symbolic& symbolic) {
  SymbolicHeader header{};
  if (communicator.rank() == 0)
    header = {symbolic.size, symbolic.factor_entries, symbolic.factor_flops,
              checksum(symbolic)};
  broadcast_value(communicator, header);
  symbolic.size = static_cast<std::int32_t>(header.size);
  symbolic.factor_entries = header.factor_entries;
  symbolic.factor_flops = header.factor_flops;
  broadcast(communicator, symbolic.permutation);
  broadcast(communicator, symbolic.first_column);
  broadcast(communicator, symbolic.row_start);
  broadcast(communicator, symbolic.rows);
  broadcast(communicator, symbolic.parent);
  if (checksum(symbolic) != header.checksum)
    throw Error(fmt::format("process {}: the structure of the matrix came damaged",
                            communicator.rank()));
}

void broadcast(Communicator& communicator, const Symbolic& symbolic, BlockForm& form) {
  Coupling& coupling = form.coupling;
  broadcast_value(communicator, coupling.size);
  if (coupling.size == 0) {
    form = {};
    return;
  }
  broadcast(communicator, coupling.column_start);
  broadcast(communicator, coupling.row);
  broadcast_values(communicator, coupling);
  broadcast(communicator, coupling.unmatched);
  if (communicator.rank() > 0) form = block_form(symbolic, std::move(coupling));
}

void broadcast_values(Communicator& communicator, Coupling& coupling) {
  broadcast(communicator, coupling.value);
  broadcast(communicator, coupling.imaginary);
}

void broadcast_maps(Communicator& communicator, PreparedMatrix& prepared) {
  broadcast_value(communicator, prepared.kind);
  broadcast(communicator, prepared.row_scale);
  broadcast(communicator, prepared.column_scale);
  broadcast(communicator, prepared.row_of);
  broadcast_value(communicator, prepared.structural_rank);
  broadcast_value(communicator, prepared.pattern_rank);
}

void distribute_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                        SquareMatrix& permuted) {
  if (communicator.size() == 1) return;
  ValueLists lists{.opposite = !permuted.symmetric(),
                   .imaginary = permuted.complex.has_value()};
  broadcast_value(communicator, permuted.lower.size);
  broadcast_value(communicator, lists);
  std::vector<std::int64_t>& column_start = permuted.lower.column_start;
  broadcast(communicator, column_start);
  if (communicator.rank() == 0) {
    send_others(communicator, ranges, lists, permuted);
    for_each_list(permuted, lists,
                  [&](auto& list) { keep_own(0, ranges, column_start, list); });
    trim_heap();
  } else {
    receive_own(communicator, ranges, lists, permuted);
  }
  empty_columns(communicator.rank(), ranges, column_start);
}

}  // namespace espalier::solver
