#include "solver/runtime/tile_team.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "espalier/model/error.h"
#include "solver/runtime/node_sweep.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver {
namespace TEST_SOURCE {

// Every node is visited at once, and does some steps of some tiles.
class Steps final : public NodeSweep {
 public:
  Steps(const Runtime& runtime, std::int32_t nodes, std::int32_t fails_at = -1)
      : NodeSweep(runtime, static_cast<std::size_t>(nodes)),
        sums_(static_cast<std::size_t>(nodes)),
        fails_at_(fails_at) {}

  std::vector<std::int64_t> sweep() {
    std::vector<std::int32_t> all(sums_.size());
    std::iota(all.begin(), all.end(), 0);
    run_from(all);
    return sums_;
  }
  [[nodiscard]] std::int64_t tiles_run() const { return tiles_run_; }

 private:
  void visit(std::int32_t node) override {
    for (std::int32_t step = 0; step < 50; ++step) {
      const std::int32_t count = (node + step) % 9;
      std::vector<std::int32_t> tile(static_cast<std::size_t>(count), 0);
      run_tiles(tiles(), count, [&](std::int32_t t) {
        if (node == fails_at_ && t == 3) throw Error("tile 3");
        ++tile[static_cast<std::size_t>(t)];
        ++tiles_run_;
      });
      for (const std::int32_t times : tile) EXPECT_EQ(times, 1);
      sums_[static_cast<std::size_t>(node)] += count;
    }
  }
  void submit_next(std::int32_t /*node*/) override {}

  std::vector<std::int64_t> sums_;
  std::atomic<std::int64_t> tiles_run_ = 0;
  const std::int32_t fails_at_;
};

// One node after the other, a millisecond each.
class Chain final : public NodeSweep {
 public:
  static constexpr std::int32_t kNodes = 2000;
  explicit Chain(const Runtime& runtime) : NodeSweep(runtime, kNodes) {}
  void sweep(const std::function<void()>& ask) {
    const std::int32_t first = 0;
    run_from({&first, 1}, ask);
  }
  [[nodiscard]] std::int32_t visited() const { return visited_; }

 private:
  void visit(std::int32_t /*node*/) override {
    ++visited_;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  void submit_next(std::int32_t node) override {
    if (node + 1 < kNodes) submit(node + 1);
  }

  std::atomic<std::int32_t> visited_ = 0;
};

// 0 + … + 8, and what is left of the last round of nine.
std::int64_t tiles_of(std::int32_t node) {
  std::int64_t sum = 0;
  for (std::int32_t step = 0; step < 50; ++step) sum += (node + step) % 9;
  return sum;
}

TEST(NodeSweep, EndsWhereItsCallerIsToldSo) {
  const Runtime runtime({2, "espalier"});
  const Awake awake(runtime);
  const std::thread::id here = std::this_thread::get_id();
  for (int last = 1; last <= 3; ++last) {
    Chain chain(runtime);
    int calls = 0;
    const auto ask = [&] {
      EXPECT_EQ(std::this_thread::get_id(), here);
      if (++calls == last) throw std::runtime_error("enough");
    };
    EXPECT_THROW(chain.sweep(ask), std::runtime_error) << last;
    EXPECT_EQ(calls, last);
    EXPECT_LT(chain.visited(), Chain::kNodes);
  }
}

TEST(TileTeam, RunsEveryTileOnce) {
  for (const std::int32_t workers : {1, 2, 4}) {
    const Runtime runtime({workers, "espalier"});
    const Awake awake(runtime);
    for (const std::int32_t nodes : {0, 1, 3, 40}) {
      Steps steps(runtime, nodes);
      const auto sums = steps.sweep();
      std::int64_t all = 0;
      for (std::int32_t node = 0; node < nodes; ++node) {
        EXPECT_EQ(sums[static_cast<std::size_t>(node)], tiles_of(node));
        all += tiles_of(node);
      }
      EXPECT_EQ(steps.tiles_run(), all);
    }
  }
}

TEST(TileTeam, HandsOnTheErrorOfATile) {
  for (const std::int32_t workers : {1, 2, 4}) {
    const Runtime runtime({workers, "espalier"});
    const Awake awake(runtime);
    for (const std::int32_t node : {0, 5}) {
      Steps steps(runtime, 8, node);
      EXPECT_THROW(steps.sweep(), Error);
    }
    EXPECT_EQ(Steps(runtime, 2).sweep()[1], tiles_of(1));
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
