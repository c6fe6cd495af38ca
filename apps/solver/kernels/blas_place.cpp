#include "solver/kernels/blas_place.h"

#include <algorithm>
#include <vector>

#include "solver/kernels/blas.h"
#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {
namespace {

// Rows and columns of no round number, and where operands begin, in entries, from 64
// bytes.
constexpr std::int32_t kRows = 131, kColumns = 71, kPlaces = 8;

// One matrix and one vector of each length, as far from the start of their memory as
// asked.
template <class T>
class Trial {
 public:
  Trial(std::int32_t leading, std::int32_t matrix_at, std::int32_t vectors_at)
      : leading_(leading),
        memory_(std::int64_t{leading} * kColumns + kRows + kColumns + 5 * kRows) {
    const auto start = [&](std::int64_t at) {
      constexpr std::uintptr_t kLine = 64;
      const auto address = reinterpret_cast<std::uintptr_t>(memory_.data() + at);
      return at +
             static_cast<std::int64_t>((kLine - address % kLine) % kLine / sizeof(T));
    };
    a_ = memory_.data() + start(0) + matrix_at;
    x_ = memory_.data() + start(std::int64_t{leading} * kColumns + kRows) + vectors_at;
    y_ = memory_.data() + start(x_ - memory_.data() + kRows) + vectors_at;
    for (std::int32_t j = 0; j < kColumns; ++j)
      for (std::int32_t i = 0; i < kRows; ++i)
        a_[i + std::int64_t{j} * leading] =
            T(1) / T(RealOf<T>(100 + (i * 7 + j * 3) % 89));
    for (std::int32_t i = 0; i < kRows; ++i) {
      x_[i] = T(1) / T(RealOf<T>(3 + i % 11));
      y_[i] = T(1) / T(RealOf<T>(2 + i % 13));
    }
  }

  // All that solves with one vector call.
  std::vector<T> result() {
    blas::gemv(CblasNoTrans, kRows, kColumns, a_, leading_, x_, y_);
    blas::gemv(blas::kAcross<T>, kRows, kColumns, a_, leading_, y_, x_);
    for (const auto uplo : {CblasLower, CblasUpper})
      for (const auto transpose : {CblasNoTrans, blas::kAcross<T>})
        blas::trsv(uplo, transpose, CblasUnit, kColumns, a_, leading_, x_);
    std::vector<T> all(x_, x_ + kColumns);
    all.insert(all.end(), y_, y_ + kRows);
    return all;
  }

 private:
  std::int32_t leading_;
  std::vector<T> memory_;
  T *a_, *x_, *y_;
};

template <class T>
bool differs_somewhere() {
  for (const std::int32_t leading : {kRows, kRows + 1}) {
    const std::vector<T> first = Trial<T>(leading, 0, 0).result();
    for (std::int32_t at = 1; at < kPlaces; ++at)
      if (Trial<T>(leading, at, 0).result() != first ||
          Trial<T>(leading, 0, at).result() != first)
        return true;
  }
  return false;
}

}  // namespace

template <class T>
bool bits_follow_place() {
  static const bool follow = differs_somewhere<T>();
  return follow;
}

#define ESPALIER_INSTANTIATE(T) template bool bits_follow_place<T>();
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver::kernels
