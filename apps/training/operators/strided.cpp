#include "training/operators/strided.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier::training {

Strided plain_strides(const std::vector<std::int64_t>& dims) {
  Strided plain{.offset = 0, .strides = std::vector<std::int64_t>(dims.size(), 1)};
  for (std::size_t i = dims.size(); i > 1; --i)
    plain.strides[i - 2] = checked_mul(plain.strides[i - 1], dims[i - 1]);
  return plain;
}

Strided broadcast_strides(const std::vector<std::int64_t>& from,
                          const std::vector<std::int64_t>& to) {
  const Strided plain = plain_strides(from);
  Strided wide{.offset = 0, .strides = std::vector<std::int64_t>(to.size(), 0)};
  bool possible = from.size() <= to.size();
  for (std::size_t i = 0; possible && i < from.size(); ++i) {
    const std::size_t there = to.size() - from.size() + i;
    if (from[i] == to[there])
      wide.strides[there] = from[i] == 1 ? 0 : plain.strides[i];
    else
      possible = from[i] == 1;
  }
  if (!possible)
    throw InvalidInput(fmt::format("{} is not broadcast to {}", espalier::describe(from),
                                   espalier::describe(to)));
  return wide;
}

}  // namespace espalier::training
