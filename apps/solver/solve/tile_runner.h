#pragma once

#include <cstdint>
#include <functional>

namespace espalier::solver {

/// Runs the tiles of a step, by as many threads as it has. Tiles write to different
/// entries: what comes out does not depend on who runs them, nor in which order.
class TileRunner {
 public:
  virtual ~TileRunner() = default;

  /// tile(0) … tile(tiles - 1), each once; returns when all have ended.
  /// @throws the first error that a tile gave
  virtual void run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) = 0;
};

/// The same where there may be no runner: one after the other then.
template <class Tile>
void run_tiles(TileRunner* runner, std::int32_t tiles, const Tile& tile) {
  if (runner != nullptr && tiles > 1) return runner->run(tiles, std::cref(tile));
  for (std::int32_t t = 0; t < tiles; ++t) tile(t);
}

}  // namespace espalier::solver
