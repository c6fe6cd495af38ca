#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "policy/living.h"

namespace espalier::policy {

/// A vector of int that may be divided, with codelets that fill it with 1 and that add 1
/// to each entry.
template <std::size_t Length, unsigned Parts>
class VectorInParts {
 public:
  static constexpr std::size_t kLength = Length;
  static constexpr unsigned kParts = Parts;

  /// @param home  -1: StarPU allocates it
  explicit VectorInParts(int home = -1) : own_(home >= 0 ? kLength : 0) {
    starpu_vector_data_register(&handle, home,
                                reinterpret_cast<std::uintptr_t>(own_.data()), kLength,
                                sizeof(int));
    filter.filter_func = starpu_vector_filter_block;
    filter.nchildren = kParts;
  }
  VectorInParts(const VectorInParts&) = delete;
  VectorInParts& operator=(const VectorInParts&) = delete;

  [[nodiscard]] long sum() const {
    EXPECT_EQ(starpu_data_acquire(handle, STARPU_R), 0);
    const auto* const first = static_cast<int*>(starpu_data_get_local_ptr(handle));
    const long total = std::accumulate(first, first + kLength, 0L);
    starpu_data_release(handle);
    return total;
  }

  /// Divides it so often, adds 1 to each entry of each part, and joins it again.
  void increment_in_parts(int times) {
    for (int round = 0; round < times; ++round) {
      starpu_data_partition(handle, &filter);
      for (unsigned i = 0; i < kParts; ++i)
        ASSERT_EQ(submit(increment, nullptr, {starpu_data_get_sub_data(handle, 1, i)}),
                  0);
      starpu_data_unpartition(handle, STARPU_MAIN_RAM);
    }
  }

  starpu_data_handle_t handle = nullptr;
  starpu_data_filter filter{};
  starpu_codelet fill = on_variable(
      [](void** buffers, void*) {
        std::fill_n(entries(buffers[0]), STARPU_VECTOR_GET_NX(buffers[0]), 1);
      },
      STARPU_W);
  starpu_codelet increment = on_variable(
      [](void** buffers, void*) {
        for (std::size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); ++i)
          ++entries(buffers[0])[i];
      },
      STARPU_RW);

 private:
  static int* entries(void* buffer) {
    return reinterpret_cast<int*>(STARPU_VECTOR_GET_PTR(buffer));
  }

  std::vector<int> own_;
};

}  // namespace espalier::policy
