// Symmetric positive definite patterns.

#include <algorithm>

#include "patterns.h"
#include "solver/matrix/grid.h"

namespace espalier::bench {
namespace {

PeerMatrix grid(const char* shape) {
  solver::SymmetricMatrix a = solver::make_grid(solver::parse_grid(shape));
  return {a.size, true, std::move(a.column_start), std::move(a.row), std::move(a.value)};
}

PeerMatrix diagonal() { return Entries(200'000).definite(); }

PeerMatrix band(std::int32_t size, std::int32_t width) {
  Entries e(size);
  for (std::int32_t i = 0; i < size; ++i)
    for (std::int32_t j = std::max(0, i - width); j < i; ++j) e.edge(i, j);
  return e.definite();
}

// The hub first, where eliminating in the given order fills everything.
PeerMatrix star() {
  Entries e(100'000);
  for (std::int32_t i = 1; i < e.size(); ++i) e.edge(0, i);
  return e.definite();
}

PeerMatrix arrow() {  // a border of 20 dense rows
  Entries e(20'000);
  for (std::int32_t hub = e.size() - 20; hub < e.size(); ++hub)
    for (std::int32_t i = 0; i < hub; ++i) e.edge(hub, i);
  return e.definite();
}

PeerMatrix cycle() {
  Entries e(200'000);
  for (std::int32_t i = 0; i < e.size(); ++i) e.edge(i, (i + 1) % e.size());
  return e.definite();
}

PeerMatrix random_tree() {
  Entries e(200'000);
  Random random(1);
  for (std::int32_t i = 1; i < e.size(); ++i) e.edge(i, random.below(i));
  return e.definite();
}

PeerMatrix joined_stars() {  // every vertex hangs from one of four hubs
  Entries e(26'000);
  Random random(2);
  for (std::int32_t i = 1; i < e.size(); ++i) e.edge(i, random.below(std::min(i, 4)));
  return e.definite();
}

PeerMatrix forest() {  // trees of ten
  Entries e(200'000);
  Random random(3);
  for (std::int32_t i = 0; i < e.size(); ++i)
    if (i % 10 != 0) e.edge(i, i - 1 - random.below(i % 10));
  return e.definite();
}

PeerMatrix random_with_hubs(std::int32_t size, std::int32_t hubs) {
  Entries e(size);
  Random random(4);
  for (std::int32_t i = hubs; i < size; ++i) {
    for (std::int32_t hub = 0; hub < hubs; ++hub) e.edge(hub, i);
    if (i % 100 != 0) e.edge(i, i - 1);
    e.edge(i, hubs + random.below(size - hubs));
  }
  return e.definite();
}

PeerMatrix grid_with_hubs() {
  constexpr std::int32_t kSide = 200, kHubs = 3;
  Entries e(kSide * kSide + kHubs);
  for (std::int32_t i = 0; i < kSide * kSide; ++i) {
    if (i % kSide != 0) e.edge(i, i - 1);
    if (i >= kSide) e.edge(i, i - kSide);
    for (std::int32_t hub = 0; hub < kHubs; ++hub)
      if (i % (hub + 2) == 0) e.edge(i, kSide * kSide + hub);
  }
  return e.definite();
}

// Each new vertex takes ends of existing edges: degrees follow a power law.
PeerMatrix power_law(std::int32_t size, std::int32_t edges) {
  Entries e(size);
  Random random(5);
  std::vector<std::int32_t> ends = {0};
  for (std::int32_t i = 1; i < size; ++i)
    for (std::int32_t k = 0; k < edges; ++k) {
      const std::int32_t other =
          ends[random.below(static_cast<std::int32_t>(ends.size()))];
      e.edge(i, other);
      ends.push_back(i);
      ends.push_back(other);
    }
  return e.definite();
}

PeerMatrix random_sparse(std::int32_t size, std::int32_t edges) {
  Entries e(size);
  Random random(6);
  for (std::int32_t k = 0; k < edges; ++k) e.edge(random.below(size), random.below(size));
  return e.definite();
}

PeerMatrix bipartite() {  // points that three of 300 cameras see
  Entries e(30'300);
  Random random(7);
  for (std::int32_t i = 0; i < 30'000; ++i)
    for (std::int32_t k = 0; k < 3; ++k)
      e.edge(i, 30'000 + (i / 100 + random.below(20)) % 300);
  return e.definite();
}

PeerMatrix blocks() {
  Entries e(30'000);
  for (std::int32_t i = 0; i < e.size(); i += 15) e.clique(i, i + 15);
  return e.definite();
}

PeerMatrix dense() {
  Entries e(800);
  e.clique(0, 800);
  return e.definite();
}

}  // namespace

const std::vector<Pattern>& definite_patterns() {
  static const std::vector<Pattern> list = {
      {"diagonal", "spd", "diagonal", diagonal},
      {"tridiagonal", "spd", "tridiagonal", [] { return band(200'000, 1); }},
      {"band", "spd", "band, 20 beside the diagonal", [] { return band(20'000, 20); }},
      {"star", "spd", "one hub, first", star},
      {"arrow", "spd", "20 dense rows, last", arrow},
      {"cycle", "spd", "a cycle", cycle},
      {"tree", "spd", "a random tree", random_tree},
      {"joined-stars", "spd", "four hubs, a tree", joined_stars},
      {"forest", "spd", "trees of ten", forest},
      {"hubs", "spd", "two hubs over a sparse random graph",
       [] { return random_with_hubs(30'000, 2); }},
      {"grid-hubs", "spd", "three hubs over a plane grid", grid_with_hubs},
      {"power-law-1", "spd", "power law, a tree", [] { return power_law(100'000, 1); }},
      {"power-law-2", "spd", "power law, two edges a vertex",
       [] { return power_law(10'000, 2); }},
      {"random", "spd", "random, 1.5 edges a vertex",
       [] { return random_sparse(10'000, 15'000); }},
      {"random-dense", "spd", "random, 5 edges a vertex",
       [] { return random_sparse(2'000, 10'000); }},
      {"bipartite", "spd", "bundle adjustment", bipartite},
      {"blocks", "spd", "block diagonal, order 15", blocks},
      {"dense", "spd", "dense, order 800", dense},
      {"grid-tiny", "spd", "3 x 3 x 3 grid", [] { return grid("3x3x3"); }},
      {"grid-2d", "spd", "300 x 300 grid", [] { return grid("300x300"); }},
      {"grid-3d", "spd", "22 x 22 x 22 grid", [] { return grid("22x22x22"); }},
  };
  return list;
}

}  // namespace espalier::bench
