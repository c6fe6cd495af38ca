// Symmetric indefinite patterns, and general ones.

#include <algorithm>
#include <numeric>

#include "patterns.h"

namespace espalier::bench {
namespace {

// (D A^T; A 0), of a linear programme: D diagonal over six magnitudes as near its
// solution; every constraint has `entries` variables of all, a few have very many.
PeerMatrix linear_programme(std::int32_t variables, std::int32_t constraints,
                            std::int32_t entries, std::int32_t wide) {
  Entries e(variables + constraints);
  Random random(11);
  for (std::int32_t i = 0; i < variables; ++i) {
    double d = 1;
    for (std::int32_t k = random.below(6); k > 0; --k) d *= 10;
    e.add(i, i, d);
  }
  for (std::int32_t i = 0; i < constraints; ++i) {
    const std::int32_t row = variables + i;
    e.add(row, i, 1 + random.real());  // a slack of its own: full rank
    const std::int32_t count = i < wide ? variables / 4 : entries;
    for (std::int32_t k = 0; k < count; ++k)
      e.add(row, random.below(variables), random.real() - 0.5);
  }
  return e.symmetric();
}

// (H A^T; A 0) with H a plane grid and a constraint on each two neighbouring points of
// some.
PeerMatrix quadratic_programme() {
  constexpr std::int32_t kSide = 120, kPoints = kSide * kSide, kConstraints = 4'000;
  Entries e(kPoints + kConstraints);
  for (std::int32_t i = 0; i < kPoints; ++i) {
    e.add(i, i, 4.1);
    if (i % kSide != 0) e.add(i, i - 1, -1);
    if (i >= kSide) e.add(i, i - kSide, -1);
  }
  for (std::int32_t i = 0; i < kConstraints; ++i) {
    e.add(kPoints + i, 3 * i, 1);
    e.add(kPoints + i, 3 * i + kSide + 1, -1);
  }
  return e.symmetric();
}

PeerMatrix saddle_point() {  // a Stokes-like system on a grid with a zero block
  constexpr std::int32_t kSide = 70, kPoints = kSide * kSide;
  Entries e(2 * kPoints);
  for (std::int32_t i = 0; i < kPoints; ++i) {
    e.add(i, i, 4.1);
    if (i % kSide != 0) e.add(i, i - 1, -1);
    if (i >= kSide) e.add(i, i - kSide, -1);
    e.add(kPoints + i, i, 1);
    if (i % kSide != 0) e.add(kPoints + i, i - 1, -0.5);
  }
  return e.symmetric();
}

PeerMatrix triangular() {
  Entries e(100'000);
  Random random(12);
  for (std::int32_t i = 1; i < e.size(); ++i)
    for (std::int32_t k = 0; k < 3; ++k) e.add(i, random.below(i), random.real() - 0.5);
  return e.dominant();
}

// The same under two permutations, its diagonal anywhere.
PeerMatrix permuted_triangular() {
  Entries e(50'000);
  Random random(13);
  std::vector<std::int32_t> row(e.size()), column(e.size());
  std::iota(row.begin(), row.end(), 0);
  std::iota(column.begin(), column.end(), 0);
  for (std::int32_t i = e.size() - 1; i > 0; --i) {
    std::swap(row[i], row[random.below(i + 1)]);
    std::swap(column[i], column[random.below(i + 1)]);
  }
  for (std::int32_t i = 0; i < e.size(); ++i) {
    e.add(row[i], column[i], 4);
    for (std::int32_t k = 0; k < 3 && i > 0; ++k)
      e.add(row[i], column[random.below(i)], random.real() - 0.5);
  }
  return e.general();
}

PeerMatrix directed_cycle() {
  Entries e(100'000);
  for (std::int32_t i = 0; i < e.size(); ++i) e.add(i, (i + 1) % e.size(), 0.5);
  return e.dominant();
}

PeerMatrix permutation() {
  Entries e(100'000);
  for (std::int32_t i = 0; i < e.size(); ++i)
    e.add(i, static_cast<std::int32_t>((i * std::int64_t{7919} + 13) % e.size()), 2);
  return e.general();
}

// Nodes of a net with few neighbours, two rails that a third of them touch, and
// controlled sources that make it unsymmetric.
PeerMatrix circuit() {
  Entries e(40'000);
  Random random(14);
  for (std::int32_t i = 2; i < e.size(); ++i) {
    if (i % 3 == 0) e.edge(i, i % 2);
    e.edge(i, 2 + (i - 2) / 2);
    if (i % 5 == 0) e.edge(i, std::max(2, i - 1 - random.below(30)));
    if (i % 7 == 0) e.add(i, std::max(2, i - 1 - random.below(200)), 0.3);
  }
  return e.dominant();
}

PeerMatrix block_triangular() {  // strong blocks of twenty, random entries above
  Entries e(20'000);
  Random random(15);
  for (std::int32_t i = 0; i < e.size(); ++i) {
    const std::int32_t block = i / 20 * 20;
    for (std::int32_t k = 0; k < 4; ++k) e.add(i, block + random.below(20), 0.4);
    e.add(i, block + (i + 1) % 20, 0.4);
    for (std::int32_t k = 0; k < 3 && block + 20 < e.size(); ++k)
      e.add(i, block + 20 + random.below(e.size() - block - 20), 0.2);
  }
  return e.dominant();
}

PeerMatrix random_general() {
  Entries e(3'000);
  Random random(16);
  for (std::int32_t k = 0; k < 9'000; ++k)
    e.add(random.below(e.size()), random.below(e.size()), random.real() - 0.5);
  return e.dominant();
}

PeerMatrix convection() {
  constexpr std::int32_t kSide = 200;
  Entries e(kSide * kSide);
  for (std::int32_t i = 0; i < kSide * kSide; ++i) {
    if (i % kSide != 0) {
      e.add(i, i - 1, -1.4);
      e.add(i - 1, i, -0.6);
    }
    if (i < kSide) continue;
    e.add(i, i - kSide, -1.2);
    e.add(i - kSide, i, -0.8);
  }
  return e.dominant();
}

PeerMatrix general_arrow() {
  Entries e(50'000);
  for (std::int32_t i = 1; i < e.size(); ++i) {
    e.add(0, i, -0.5);
    e.add(i, 0, -1);
  }
  return e.dominant();
}

}  // namespace

const std::vector<Pattern>& other_patterns() {
  static const std::vector<Pattern> list = {
      {"kkt-lp", "symmetric", "a linear programme",
       [] { return linear_programme(12'000, 3'000, 6, 0); }},
      {"kkt-lp-wide", "symmetric", "the same, ten wide constraints",
       [] { return linear_programme(12'000, 1'500, 6, 10); }},
      {"kkt-qp", "symmetric", "a quadratic programme", quadratic_programme},
      {"saddle-point", "symmetric", "a zero block", saddle_point},
      {"triangular", "general", "lower triangular, random", triangular},
      {"permuted-tri", "general", "triangular, permuted", permuted_triangular},
      {"directed-cycle", "general", "a directed cycle", directed_cycle},
      {"permutation", "general", "a permutation", permutation},
      {"circuit", "general", "a circuit with two rails", circuit},
      {"block-tri", "general", "block triangular", block_triangular},
      {"random-lu", "general", "random, three entries a row", random_general},
      {"convection", "general", "200 x 200 convection", convection},
      {"general-arrow", "general", "one dense row and column, first", general_arrow},
  };
  return list;
}

}  // namespace espalier::bench
