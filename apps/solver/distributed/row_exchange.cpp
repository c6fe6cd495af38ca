#include "solver/distributed/row_exchange.h"

#include <algorithm>
#include <utility>

namespace espalier::solver {
namespace {

// Calls entry(range, column, k, owner) for the entries of a range of columns whose rows
// belong to the owners of others.
template <class Entry>
void for_each_leaving(std::span<const ColumnRange> ranges, const ColumnRange& range,
                      const SymmetricMatrix& a, const Entry& entry) {
  for (std::int32_t j = range.begin; j < range.end; ++j) {
    const std::int32_t* const first = a.row.data() + a.column_start[j];
    const std::int32_t* const last = a.row.data() + a.column_start[j + 1];
    for (const auto* at = std::lower_bound(first, last, range.end); at < last; ++at) {
      const std::int32_t owner = owner_of_column(ranges, *at);
      if (owner != range.owner) entry(j, at - a.row.data(), owner);
    }
  }
}

constexpr Bytes kPerRange = sizeof(std::int32_t);
constexpr Bytes kRow = sizeof(std::int32_t), kPart = sizeof(double);  // of a product

}  // namespace

RowExchange::RowExchange(Communicator& communicator, std::vector<ColumnRange> ranges,
                         const SquareMatrix& here)
    : communicator_(communicator),
      ranges_(std::move(ranges)),
      here_(here.lower),
      parts_(static_cast<std::size_t>(here.parts())),
      peers_(static_cast<std::size_t>(communicator.size())),
      count_(ranges_.size(), 0) {
  // Of each process: the rows that it gets, and how many of each range here.
  std::vector<std::vector<std::int32_t>> rows(peers_.size()), counts(peers_.size());
  for (const ColumnRange& range : ranges_) {
    if (range.owner != communicator_.rank()) continue;
    for (std::vector<std::int32_t>& count : counts) count.push_back(0);
    for_each_leaving(ranges_, range, here_,
                     [&](std::int32_t, std::int64_t k, std::int32_t owner) {
                       rows[owner].push_back(here_.row[static_cast<std::size_t>(k)]);
                       ++counts[owner].back();
                     });
  }
  exchange_rows(rows, counts);
}

// Both ways between any two processes, in one order everywhere: blocking messages always
// meet. part(peer, sends) with the other process.
template <class Part>
void RowExchange::for_each_pair(const Part& part) {
  const std::int32_t me = communicator_.rank(), size = communicator_.size();
  for (std::int32_t low = 0; low < size; ++low)
    for (std::int32_t high = low + 1; high < size; ++high) {
      if (me != low && me != high) continue;
      const std::int32_t other = low + high - me;
      part(other, me == low);
      part(other, me != low);
    }
}

void RowExchange::exchange_rows(std::vector<std::vector<std::int32_t>>& rows,
                                std::vector<std::vector<std::int32_t>>& counts) {
  for_each_pair([&](std::int32_t other, bool sends) {
    Peer& peer = peers_[other];
    if (sends) {
      send(communicator_, std::span<const std::int32_t>(counts[other]), other,
           MessageTag::kMatrix);
      if (!rows[other].empty())
        send(communicator_, std::span<const std::int32_t>(rows[other]), other,
             MessageTag::kMatrix);
      peer.going.resize(parts_ * rows[other].size());
      rows[other] = {};
      return;
    }
    std::vector<std::int32_t> count(static_cast<std::size_t>(
        std::ranges::count(ranges_, other, &ColumnRange::owner)));
    receive(communicator_, std::span(count), other, MessageTag::kMatrix);
    std::size_t all = 0, next = 0;
    for (std::size_t t = 0; t < ranges_.size(); ++t)
      if (ranges_[t].owner == other)
        all += static_cast<std::size_t>(count_[t] = count[next++]);
    peer.row.resize(all);
    peer.coming.resize(parts_ * all);
    if (all > 0) receive(communicator_, std::span(peer.row), other, MessageTag::kMatrix);
  });
}

bool RowExchange::is_here(std::int32_t row) const {
  return owner_of_column(ranges_, row) == communicator_.rank();
}

void RowExchange::in_order(const Product<double>& product, const Columns& columns,
                           const Arrived<double>& arrived) {
  sum_in_order(product, columns, arrived);
}

void RowExchange::in_order(const Product<Complex>& product, const Columns& columns,
                           const Arrived<Complex>& arrived) {
  sum_in_order(product, columns, arrived);
}

template <class T>
void RowExchange::sum_in_order(const Product<T>& product, const Columns& columns,
                               const Arrived<T>& arrived) {
  const auto entries = [](std::vector<double>& parts) {
    return reinterpret_cast<T*>(parts.data());
  };
  const std::int32_t me = communicator_.rank();
  std::vector<std::size_t> next(peers_.size(), 0);
  for (const ColumnRange& range : ranges_)
    if (range.owner == me)
      for_each_leaving(ranges_, range, here_,
                       [&](std::int32_t j, std::int64_t k, std::int32_t owner) {
                         entries(peers_[owner].going)[next[owner]++] = product(k, j);
                       });
  for_each_pair([&](std::int32_t other, bool sends) {
    Peer& peer = peers_[other];
    if (sends && !peer.going.empty())
      send(communicator_, std::span<const double>(peer.going), other,
           MessageTag::kValues);
    else if (!sends && !peer.coming.empty())
      receive(communicator_, std::span(peer.coming), other, MessageTag::kValues);
  });
  std::ranges::fill(next, 0);
  for (std::size_t t = 0; t < ranges_.size(); ++t) {
    if (ranges_[t].owner == me) columns(ranges_[t].begin, ranges_[t].end);
    Peer& peer = peers_[ranges_[t].owner];
    std::size_t& at = next[ranges_[t].owner];
    for (const std::size_t end = at + static_cast<std::size_t>(count_[t]); at < end; ++at)
      arrived(peer.row[at], entries(peer.coming)[at]);
  }
}

void RowExchange::clear_others(std::span<double> sums) const {
  const auto parts = static_cast<std::ptrdiff_t>(parts_);
  for (const ColumnRange& range : ranges_)
    if (range.owner != communicator_.rank())
      std::fill(sums.begin() + parts * range.begin, sums.begin() + parts * range.end,
                -0.0);  // added to any number it leaves its bits
}

Bytes RowExchange::bytes() const {
  Bytes bytes = std::ssize(count_) * kPerRange;
  for (const Peer& peer : peers_)
    bytes += std::ssize(peer.row) * kRow +
             (std::ssize(peer.coming) + std::ssize(peer.going)) * kPart;
  return bytes;
}

std::vector<Bytes> RowExchange::bytes_under(Communicator& communicator,
                                            std::span<const ColumnRange> ranges,
                                            const SquareMatrix& here) {
  // Counts as numbers that sum() takes: exact below 2^53.
  std::vector<double> sums(static_cast<std::size_t>(communicator.size()), 0.0);
  const Bytes product = here.parts() * kPart;
  if (!here.lower.column_start.empty())
    for (const ColumnRange& range : ranges)
      for_each_leaving(ranges, range, here.lower,
                       [&](std::int32_t, std::int64_t, std::int32_t owner) {
                         sums[range.owner] += static_cast<double>(product);
                         sums[owner] += static_cast<double>(kRow + product);
                       });
  communicator.sum(sums);
  std::vector<Bytes> bytes;
  for (const double each : sums)
    bytes.push_back(static_cast<Bytes>(each) + std::ssize(ranges) * kPerRange);
  return bytes;
}

}  // namespace espalier::solver
