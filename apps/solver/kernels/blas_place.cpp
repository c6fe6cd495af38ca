#include "solver/kernels/blas_place.h"

#include <algorithm>
#include <array>
#include <vector>

#include "solver/kernels/blas.h"
#include "solver/matrix/entry.h"

namespace espalier::solver::kernels {
namespace {

// Rows and columns of no round number, and where operands begin, in entries, from 64
// bytes: of what is aligned in any way, one entry on nothing is, four on only some.
constexpr std::int32_t kRows = 131, kColumns = 71;
constexpr std::array<std::int32_t, 2> kPlaces = {1, 4};

// One matrix and one vector of each length, in memory that is taken once.
template <class T>
class Trial {
 public:
  Trial()
      : matrix_(std::size_t{kRows} * kColumns),
        memory_(std::size_t{kRows + 1} * kColumns + 2 * kRows + 3 * kLine +
                3 * kPlaces.back()) {
    for (std::int32_t j = 0; j < kColumns; ++j)
      for (std::int32_t i = 0; i < kRows; ++i)
        matrix_[i + j * kRows] = T(1) / T(RealOf<T>(100 + (i * 7 + j * 3) % 89));
  }

  // All that solves with one vector call, of operands as far from the start of a line of
  // the cache as asked.
  std::vector<T> result(std::int32_t leading, std::int32_t matrix_at,
                        std::int32_t vectors_at) {
    T* const a = from_line(memory_.data()) + matrix_at;
    T* const x = from_line(a + std::int64_t{leading} * kColumns) + vectors_at;
    T* const y = from_line(x + kRows) + vectors_at;
    for (std::int32_t j = 0; j < kColumns; ++j)
      std::copy_n(&matrix_[j * kRows], kRows, a + std::int64_t{j} * leading);
    for (std::int32_t i = 0; i < kRows; ++i) {
      x[i] = T(1) / T(RealOf<T>(3 + i % 11));
      y[i] = T(1) / T(RealOf<T>(2 + i % 13));
    }
    blas::gemv(CblasNoTrans, kRows, kColumns, a, leading, x, y);
    blas::gemv(blas::kAcross<T>, kRows, kColumns, a, leading, y, x);
    for (const auto uplo : {CblasLower, CblasUpper})
      for (const auto transpose : {CblasNoTrans, blas::kAcross<T>})
        blas::trsv(uplo, transpose, CblasUnit, kColumns, a, leading, x);
    std::vector<T> all(x, x + kColumns);
    all.insert(all.end(), y, y + kRows);
    return all;
  }

 private:
  static constexpr std::int32_t kLine = 64 / sizeof(T);  // entries
  static T* from_line(T* at) {
    const auto address = reinterpret_cast<std::uintptr_t>(at) / sizeof(T);
    return at + (kLine - address % kLine) % kLine;
  }

  std::vector<T> matrix_, memory_;
};

template <class T>
bool differs_somewhere() {
  Trial<T> trial;
  for (const std::int32_t leading : {kRows, kRows + 1}) {
    const std::vector<T> first = trial.result(leading, 0, 0);
    for (const std::int32_t at : kPlaces)
      if (trial.result(leading, at, 0) != first || trial.result(leading, 0, at) != first)
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
