#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "espalier/sequential/downsets/dominant_schedule.h"
#include "espalier/sequential/series_parallel/shared_fork_order.h"
#include "support/series_parallel.h"

namespace espalier {
namespace TEST_SOURCE {

using support::draw;

struct BlockOptions {
  std::size_t runs = 6;
  bool single_chains = false;  // a pumpkin: no run has two predecessors
  bool any_nets = false;       // nets of any sign; otherwise outputs replace inputs
  std::size_t shared = 1;      // data
};

RunId run_id(std::size_t k) { return RunId{static_cast<std::int32_t>(k)}; }

SharedFork random_block(std::mt19937& random, const BlockOptions& options) {
  SharedFork block;
  const std::size_t n = options.runs;
  std::vector<Bytes> output(n), input(n, 0);
  std::vector<bool> has_predecessor(n, false);
  const std::size_t reach = 1 + draw(random, n);
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t follower = k + 1 + draw(random, reach);
    if (options.single_chains && follower < n && has_predecessor[follower]) follower = n;
    block.follower.push_back(follower < n ? run_id(follower) : kNoRun);
    output[k] = draw(random, 2) == 0 ? 0 : static_cast<Bytes>(draw(random, 9));
    if (follower < n) {
      has_predecessor[follower] = true;
      input[follower] += output[k];
    }
  }
  for (std::size_t k = 0; k < n; ++k) {
    const Bytes net = options.any_nets ? static_cast<Bytes>(draw(random, 12)) - 6
                                       : output[k] - input[k];
    const Bytes peak = std::max<Bytes>({net, 0, options.any_nets ? 0 : output[k]}) +
                       static_cast<Bytes>(draw(random, 6));
    block.runs.push_back({peak, net, task_id(k), task_id(k)});
  }
  for (std::size_t d = 0; d < options.shared; ++d) {
    SharedDatum<RunId> datum{static_cast<Bytes>(draw(random, 12)), {}};
    for (std::size_t k = 0; k < n; ++k) {
      const bool likely = !has_predecessor[k];
      if (draw(random, likely ? 5 : 7) < (likely ? 5U : 1U)) {
        datum.readers.push_back(run_id(k));
      }
    }
    if (!datum.readers.empty()) block.shared.push_back(datum);
  }
  return block;
}

std::string describe(const SharedFork& block) {
  std::string text;
  for (const RunId run : block.runs.ids()) {
    text += fmt::format("{} -> {}: peak {} net {}\n", index(run),
                        static_cast<std::int32_t>(block.follower[run]),
                        block.runs[run].peak, block.runs[run].net);
  }
  for (const SharedDatum<RunId>& datum : block.shared) {
    text += fmt::format("shared {}:", datum.size);
    for (const RunId run : datum.readers) text += fmt::format(" {}", index(run));
    text += "\n";
  }
  return text;
}

// Bytes above the start when the runs of `done` have run.
Bytes level(const SharedFork& block, std::uint32_t done) {
  Bytes bytes = 0;
  for (const RunId run : block.runs.ids()) {
    if ((done >> index(run) & 1) != 0) bytes += block.runs[run].net;
  }
  for (const SharedDatum<RunId>& datum : block.shared) {
    const bool is_read =
        std::all_of(datum.readers.begin(), datum.readers.end(),
                    [done](RunId run) { return (done >> index(run) & 1) != 0; });
    if (is_read) bytes -= datum.size;
  }
  return bytes;
}

// Least peak over all orders, by dynamic programming over sets of runs.
Bytes exact_peak(const SharedFork& block) {
  constexpr Bytes kUnreachable = std::numeric_limits<Bytes>::max();
  const std::size_t n = block.runs.size();
  std::vector<std::uint32_t> before(n, 0);
  for (const RunId run : block.follower.ids()) {
    const RunId follower = block.follower[run];
    if (follower != kNoRun) before[index(follower)] |= std::uint32_t{1} << index(run);
  }
  const std::uint32_t all = (std::uint32_t{1} << n) - 1;
  std::vector<Bytes> peak(std::size_t{all} + 1, kUnreachable);
  peak[0] = 0;
  for (std::uint32_t done = 0; done < all; ++done) {
    if (peak[done] == kUnreachable) continue;
    for (std::size_t k = 0; k < n; ++k) {
      if ((done >> k & 1) != 0 || (before[k] & ~done) != 0) continue;
      Bytes& after = peak[done | std::uint32_t{1} << k];
      after = std::min(
          after, std::max(peak[done], level(block, done) + block.runs[run_id(k)].peak));
    }
  }
  return peak[all];
}

std::vector<ForkNodeId> dominant_order(const FoldedBlock& folded) {
  std::vector<ForkNodeId> order;
  const auto segments = dominant_schedule(downset_block_of(folded));
  for (const BlockSegment& s : *segments) {
    for (const BlockTaskId task : s.tasks) {
      order.push_back(ForkNodeId{static_cast<std::int32_t>(task)});
    }
  }
  return order;
}

BlockOptions varied(std::size_t k) {
  return {.runs = 1 + k % 9,
          .single_chains = k % 3 == 0,
          .any_nets = k % 5 == 0,
          .shared = k % 7 == 0 ? 2U : 1U};
}

TEST(SharedFork, FoldsToTheSamePeak) {
  std::mt19937 random(31);
  for (std::size_t k = 0; k < 20000; ++k) {
    const SharedFork block = random_block(random, varied(k));
    std::vector<TaskId> next(block.runs.size());
    ProfileHeaps profiles(next);
    const FoldedBlock folded = fold(block, profiles);
    const Profile path = folded.is_chain()
                             ? folded.nodes
                             : profile_of(folded, dominant_order(folded), next);
    ASSERT_EQ(whole(path, next).peak, exact_peak(block)) << describe(block);
    ASSERT_EQ(rope(whole(path, next), next).size(), block.runs.size());
  }
}

TEST(SharedFork, CountsDownsets) {
  std::mt19937 random(32);
  for (std::size_t k = 0; k < 3000; ++k) {
    const SharedFork block = random_block(random, varied(k));
    std::vector<TaskId> next(block.runs.size());
    ProfileHeaps profiles(next);
    const FoldedBlock folded = fold(block, profiles);
    std::vector<std::uint32_t> before(folded.nodes.size(), 0);
    for (const auto& [a, b] : folded.before) {
      before[index(b)] |= std::uint32_t{1} << index(a);
    }
    std::size_t count = 0;
    for (std::uint32_t set = 0; set >> folded.nodes.size() == 0; ++set) {
      bool is_downset = true;
      for (std::size_t n = 0; n < before.size(); ++n) {
        is_downset &= (set >> n & 1) == 0 || (before[n] & ~set) == 0;
      }
      count += is_downset ? 1 : 0;
    }
    ASSERT_EQ(downsets(folded, 1000), count) << describe(block);
    ASSERT_EQ(downsets(folded, 2), std::min<std::size_t>(count, 2));
  }
}

TEST(SharedForkOrder, HasTheLeastPeak) {
  std::mt19937 random(33);
  int searched = 0;
  for (std::size_t k = 0; k < 40000; ++k) {
    const SharedFork block = random_block(random, varied(k));
    std::vector<TaskId> next(block.runs.size());
    ProfileHeaps profiles(next);
    const FoldedBlock folded = fold(block, profiles);
    if (folded.is_chain()) continue;
    ++searched;
    const SharedForkOrder best = shared_fork_order(folded, 1'000'000);
    ASSERT_EQ(best.peak, exact_peak(block)) << describe(block);
    ASSERT_EQ(best.lower_bound, best.peak) << describe(block);
    ASSERT_EQ(whole(profile_of(folded, best.order, next), next).peak, best.peak);
    ASSERT_EQ(rope(whole(profile_of(folded, best.order, next), next), next).size(),
              block.runs.size());
  }
  EXPECT_GT(searched, 10000);
}

TEST(SharedForkOrder, GivesUpWithABound) {
  std::mt19937 random(34);
  for (std::size_t k = 0; k < 3000; ++k) {
    const SharedFork block = random_block(random, varied(k));
    std::vector<TaskId> next(block.runs.size());
    ProfileHeaps profiles(next);
    const FoldedBlock folded = fold(block, profiles);
    if (folded.is_chain()) continue;
    const SharedForkOrder best = shared_fork_order(folded, k % 10);
    const Bytes exact = exact_peak(block);
    ASSERT_LE(best.lower_bound, exact) << describe(block);
    ASSERT_GE(best.peak, exact) << describe(block);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
