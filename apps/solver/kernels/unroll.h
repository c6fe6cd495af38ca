#pragma once

#include <cstdint>

namespace espalier::solver::kernels {

/// Columns up to which loops over them are unrolled.
constexpr std::int32_t kUnrolled = 7;

/// call<count>(), for a count of 1 to kUnrolled.
template <class Call>
[[gnu::always_inline]] inline auto unroll(std::int32_t count, const Call& call) {
  switch (count) {
    case 1:
      return call.template operator()<1>();
    case 2:
      return call.template operator()<2>();
    case 3:
      return call.template operator()<3>();
    case 4:
      return call.template operator()<4>();
    case 5:
      return call.template operator()<5>();
    case 6:
      return call.template operator()<6>();
    default:
      return call.template operator()<kUnrolled>();
  }
}

}  // namespace espalier::solver::kernels
