#pragma once

#include <cstdint>
#include <vector>

#include "training/operators/tensor_shape.h"

namespace espalier::training {

/// Where the elements of a box lie: element (i_0, …) at offset + Σ i_d strides[d].
struct Strided {
  std::int64_t offset = 0;
  std::vector<std::int64_t> strides;
};

/// The plain format of `dims`.
[[nodiscard]] Strided plain_strides(const std::vector<std::int64_t>& dims);
/// `from` broadcast to `to`. @throws InvalidInput where it cannot be
[[nodiscard]] Strided broadcast_strides(const std::vector<std::int64_t>& from,
                                        const std::vector<std::int64_t>& to);

/// Calls visit(place in a, place in b) for every element of a box, the last dimension
/// fastest.
template <class Visit>
void for_each_element(const std::vector<std::int64_t>& dims, const Strided& a,
                      const Strided& b, const Visit& visit) {
  for (const std::int64_t dim : dims)
    if (dim == 0) return;
  std::vector<std::int64_t> at(dims.size(), 0);
  std::int64_t in_a = a.offset, in_b = b.offset;
  for (;;) {
    visit(in_a, in_b);
    std::size_t d = dims.size();
    for (; d > 0; --d) {
      in_a += a.strides[d - 1];
      in_b += b.strides[d - 1];
      if (++at[d - 1] < dims[d - 1]) break;
      in_a -= a.strides[d - 1] * dims[d - 1];
      in_b -= b.strides[d - 1] * dims[d - 1];
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

}  // namespace espalier::training
