#include "patterns.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace espalier::bench {

void Entries::add(std::int32_t row, std::int32_t column, double value) {
  entries_.push_back({row, column, value});
}

void Entries::edge(std::int32_t a, std::int32_t b) {
  if (a == b) return;
  add(a, b, -1);
  add(b, a, -1);
}

void Entries::clique(std::int32_t first, std::int32_t last) {
  for (std::int32_t a = first; a < last; ++a)
    for (std::int32_t b = a + 1; b < last; ++b) edge(a, b);
}

PeerMatrix Entries::compress(std::vector<Entry> entries, bool symmetric) const {
  if (symmetric) std::erase_if(entries, [](const Entry& e) { return e.row < e.column; });
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.column != b.column ? a.column < b.column : a.row < b.row;
  });
  PeerMatrix out{
      .size = size_, .symmetric = symmetric, .column_start = {}, .row = {}, .value = {}};
  out.column_start.assign(static_cast<std::size_t>(size_) + 1, 0);
  std::int32_t row = -1, column = -1;
  for (const Entry& e : entries) {
    if (e.row == row && e.column == column) {
      out.value.back() += e.value;
      continue;
    }
    row = e.row;
    column = e.column;
    ++out.column_start[column + 1];
    out.row.push_back(row);
    out.value.push_back(e.value);
  }
  for (std::int32_t j = 0; j < size_; ++j) out.column_start[j + 1] += out.column_start[j];
  return out;
}

std::vector<Entries::Entry> Entries::with_diagonal() const {
  std::vector<double> sum(static_cast<std::size_t>(size_), 1.0);
  for (const Entry& e : entries_)
    if (e.row != e.column) sum[e.row] += std::abs(e.value);
  std::vector<Entry> all = entries_;
  for (std::int32_t i = 0; i < size_; ++i) all.push_back({i, i, sum[i]});
  return all;
}

PeerMatrix Entries::dominant() const { return compress(with_diagonal(), false); }
PeerMatrix Entries::definite() const { return compress(with_diagonal(), true); }
PeerMatrix Entries::symmetric() const { return compress(entries_, true); }
PeerMatrix Entries::general() const { return compress(entries_, false); }

// SplitMix64.
std::uint64_t Random::next() {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15U);
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::int32_t Random::below(std::int32_t below) {
  return static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(below));
}

double Random::real() {
  return (static_cast<double>(next() >> 12U) + 0.5) / static_cast<double>(1ULL << 52U);
}

const std::vector<Pattern>& patterns() {
  static const std::vector<Pattern> all = [] {
    std::vector<Pattern> list = definite_patterns();
    list.insert(list.end(), other_patterns().begin(), other_patterns().end());
    return list;
  }();
  return all;
}

PeerMatrix make_pattern(std::string_view name) {
  for (const Pattern& pattern : patterns())
    if (pattern.name == name) return pattern.make();
  throw std::invalid_argument("no pattern " + std::string(name));
}

}  // namespace espalier::bench
