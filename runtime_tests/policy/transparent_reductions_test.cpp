// Programs that declare nothing, under a bound: copies for each worker, of reductions and
// scratch, among data whose blocks have the same sizes.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "policy/bounded_run.h"

namespace espalier::policy {
namespace TEST_SOURCE {

enum class Copies { kOfReductions, kOfScratch };

// Work in a random order, on data that are all of one size and are reduced, or on sparse
// matrices with scratch.
class MixedWork {
 public:
  MixedWork(unsigned seed, Copies copies) : random_(seed), copies_(copies) {
    task_ = cpu_codelet([](void**, void*) {});
    task_.nbuffers = STARPU_VARIABLE_NBUFFERS;
  }

  void submit_all() {
    constexpr int kOperations = 150;
    if (copies_ == Copies::kOfScratch)
      scratch_ = {temporary(64 * kKiB), temporary(128 * kKiB)};
    for (int i = 0; i < kOperations; ++i) submit_one();
    for (const Datum& datum : data_) starpu_data_unregister_submit(datum.handle);
    for (const auto scratch : scratch_) starpu_data_unregister_submit(scratch);
    data_.clear();
  }

 private:
  struct Datum {
    starpu_data_handle_t handle = nullptr;
    bool written = false;
  };
  using Accesses = std::vector<std::pair<starpu_data_handle_t, starpu_data_access_mode>>;

  int draw(int below) { return static_cast<int>(random_() % below); }
  std::size_t draw_datum() { return static_cast<std::size_t>(random_() % data_.size()); }

  void submit_one() {
    constexpr std::size_t kMost = 12;
    const int kind = draw(20);
    if (data_.empty() || (kind < 3 && data_.size() < kMost)) return add();
    const std::size_t at = draw_datum();
    if (kind < 5) {
      starpu_data_unregister_submit(data_[at].handle);
      data_.erase(data_.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind < 6) {
      if (data_[at].written) starpu_data_invalidate_submit(data_[at].handle);
      data_[at].written = false;
    } else if (kind < 8 && copies_ == Copies::kOfReductions) {
      if (data_[at].written) reduce(at);
    } else {
      work();
    }
  }

  void add() {
    static starpu_codelet zero = zeroing_codelet(), sum = adding_codelet();
    if (copies_ == Copies::kOfScratch) {
      // Blocks of 64, 32 and 16 KiB, or multiples.
      const auto bytes = static_cast<std::uint32_t>((1 + draw(4)) * 64 * kKiB);
      starpu_csr_data_register(&data_.emplace_back().handle, -1, bytes / 8,
                               bytes / 16 - 1, 0, nullptr, nullptr, 0, 8);
      return;
    }
    data_.push_back({temporary(64 * kKiB)});
    starpu_data_set_reduction_methods(data_.back().handle, &sum, &zero);
  }

  void reduce(std::size_t at) {
    const starpu_data_handle_t result = data_[at].handle;
    for (int left = 1 + draw(5); left > 0; --left) {
      const Datum& other = data_[draw_datum()];
      Accesses accesses{{result, STARPU_REDUX}};
      if (other.written && other.handle != result)
        accesses.emplace_back(other.handle, STARPU_R);
      submit(accesses);
    }
    if (draw(3) > 0) submit({{result, STARPU_RW}});
  }

  void work() {
    Accesses accesses;
    for (int left = 1 + draw(4); left > 0; --left) {
      Datum& datum = data_[draw_datum()];
      const auto same = [&](const auto& access) { return access.first == datum.handle; };
      if (std::ranges::any_of(accesses, same)) continue;
      const auto mode = !datum.written ? STARPU_W
                        : draw(3) == 0 ? STARPU_RW
                        : draw(3) == 0 ? STARPU_W
                                       : STARPU_R;
      datum.written = true;
      accesses.emplace_back(datum.handle, mode);
    }
    if (!scratch_.empty() && draw(2) == 0)
      accesses.emplace_back(scratch_[draw(2)], STARPU_SCRATCH);
    submit(accesses);
  }

  void submit(const Accesses& accesses) {
    starpu_task* const task = make_task(task_, nullptr);
    task->nbuffers = static_cast<int>(accesses.size());
    task->priority = draw(5) - 2;
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      task->handles[i] = accesses[i].first;
      task->modes[i] = accesses[i].second;
    }
    ASSERT_EQ(starpu_task_submit(task), 0);
  }

  std::mt19937 random_;
  const Copies copies_;
  starpu_codelet task_;
  std::vector<Datum> data_;
  std::vector<starpu_data_handle_t> scratch_;
};

void expect_least_is_kept(Copies copies) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    MixedWork unbounded(seed, copies), bounded(seed, copies);
    const auto least = run_bounded("", [&] { unbounded.submit_all(); })["least_bytes"];
    ASSERT_TRUE(least.is_number()) << least;
    const auto report = run_bounded(
        least.dump() + "B", [&] { bounded.submit_all(); }, 2, "warn");
    expect_kept(report);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

// Copies of data of one size are blocks that look alike.
TEST(HandleGate, KeepsTheLeastBoundOfReductionsAmongDataOfOneSize) {
  expect_least_is_kept(Copies::kOfReductions);
}

TEST(HandleGate, KeepsTheLeastBoundOfScratchAmongBlocksOfSparseData) {
  expect_least_is_kept(Copies::kOfScratch);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
