#pragma once

#include <cstdint>
#include <vector>

#include "training/operators/operator_spec.h"
#include "training/operators/strided.h"

namespace espalier::training {

/// Calls visit(point of the window, place of x, place of y) for everything that a window
/// sees of one channel; what is in the padding is left out. Places count the points of a
/// channel.
template <class Visit>
void for_each_window_point(const Window& window, const TensorShape& x,
                           const TensorShape& y, const Visit& visit) {
  const std::size_t spatial = window.kernel.size();
  std::vector<std::int64_t> in(x.dims.begin() + 2, x.dims.end());
  std::vector<std::int64_t> box(y.dims.begin() + 2, y.dims.end());
  box.insert(box.end(), window.kernel.begin(), window.kernel.end());
  const Strided all = plain_strides(box), x_places = plain_strides(in);
  std::int64_t points = 1;
  for (const std::int64_t size : window.kernel) points *= size;
  for_each_element(box, all, all, [&](std::int64_t place, std::int64_t) {
    std::int64_t at_x = 0;
    for (std::size_t d = 0; d < spatial; ++d) {
      const std::int64_t out = place / all.strides[d] % box[d];
      const std::int64_t point = place / all.strides[spatial + d] % box[spatial + d];
      const std::int64_t at =
          out * window.strides[d] - window.pads_begin[d] + point * window.dilations[d];
      if (at < 0 || at >= in[d]) return;
      at_x += at * x_places.strides[d];
    }
    visit(place % points, at_x, place / points);
  });
}

/// Points of one channel.
[[nodiscard]] inline std::int64_t points_of(const TensorShape& x) {
  std::int64_t points = 1;
  for (std::int64_t i = 2; i < x.rank(); ++i) points *= x.dim(i);
  return points;
}

}  // namespace espalier::training
