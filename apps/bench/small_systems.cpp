#include "small_systems.h"

#include <algorithm>
#include <cmath>

#include "patterns.h"

namespace espalier::bench {
namespace {

// Points of a square grid, row by row, the last row perhaps cut short.
struct Plane {
  std::int32_t points;
  std::int32_t side = static_cast<std::int32_t>(std::ceil(std::sqrt(points)));

  // Calls edge(i, j) for each two neighbours, i after j.
  template <class Edge>
  void each(const Edge& edge) const {
    for (std::int32_t i = 0; i < points; ++i) {
      if (i % side != 0) edge(i, i - 1);
      if (i >= side) edge(i, i - side);
    }
  }
};

PeerMatrix definite(std::int32_t order) {
  Entries e(order);
  Plane{order}.each([&](auto i, auto j) { e.edge(i, j); });
  return e.definite();
}

// (H A^T; A 0): a plane H, and a constraint on two of its points for every five.
PeerMatrix indefinite(std::int32_t order) {
  const std::int32_t constraints = order / 6, points = order - constraints;
  Entries e(order);
  for (std::int32_t i = 0; i < points; ++i) e.add(i, i, 4.1);
  Plane{points}.each([&](auto i, auto j) { e.add(i, j, -1); });
  for (std::int32_t k = 0; k < constraints; ++k) {
    e.add(points + k, 5 * k, 1);
    e.add(points + k, 5 * k + 3, -1);
  }
  return e.symmetric();
}

PeerMatrix general(std::int32_t order) {
  Entries e(order);
  Plane{order}.each([&](auto i, auto j) {
    e.add(i, j, -1.4);
    e.add(j, i, -0.6);
  });
  return e.dominant();
}

}  // namespace

PeerMatrix small_system(std::string_view kind, std::int32_t order) {
  return kind == "spd"         ? definite(order)
         : kind == "symmetric" ? indefinite(order)
                               : general(order);
}

}  // namespace espalier::bench
