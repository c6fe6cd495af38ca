// CHOLMOD's supernodal Cholesky on the same matrix and the same ordering, for comparison.
// A program of its own, so that its memory is its own. Never part of the product.

#include <cholmod.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <string>

#include "solver/grid.h"
#include "solver/matrix_market.h"
#include "solver/ordering.h"
#include "solver/process_memory.h"

extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

namespace {

using namespace espalier::solver;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

cholmod_sparse* convert(const SymmetricMatrix& matrix, cholmod_common& common) {
  const auto n = static_cast<std::size_t>(matrix.size);
  cholmod_sparse* a =
      cholmod_allocate_sparse(n, n, matrix.row.size(), 1, 1, -1, CHOLMOD_REAL, &common);
  std::copy(matrix.column_start.begin(), matrix.column_start.end(),
            static_cast<int*>(a->p));
  std::copy(matrix.row.begin(), matrix.row.end(), static_cast<int*>(a->i));
  std::copy(matrix.value.begin(), matrix.value.end(), static_cast<double*>(a->x));
  return a;
}

int run(const std::string& input, int threads) {
  keep_heap_small();
  SymmetricMatrix matrix = input.starts_with("grid:")
                               ? make_grid(parse_grid(input.substr(5)))
                               : read_matrix_market(input);
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);

  cholmod_common common;
  cholmod_start(&common);
  common.supernodal = CHOLMOD_SUPERNODAL;
  common.final_ll = 1;
  common.nmethods = 1;
  common.method[0].ordering = CHOLMOD_GIVEN;
  cholmod_sparse* a = convert(matrix, common);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::int32_t> permutation = compute_ordering(matrix, OrderingKind::kMetis);
  cholmod_factor* factor = cholmod_analyze_p(a, permutation.data(), nullptr, 0, &common);
  const double analyse = seconds_since(start);
  matrix = {};
  trim_heap();

  const espalier::Bytes baseline = resident_bytes();
  reset_peak_resident();
  const auto factor_start = std::chrono::steady_clock::now();
  cholmod_factorize(a, factor, &common);
  const double factorise = seconds_since(factor_start);
  const espalier::Bytes growth = peak_resident_bytes() - baseline;
  if (common.status != CHOLMOD_OK) {
    fmt::print(stderr, "cholmod: status {}\n", common.status);
    return 1;
  }
  const std::size_t n = a->nrow;
  cholmod_dense* ones = cholmod_ones(n, 1, CHOLMOD_REAL, &common);
  cholmod_dense* b = cholmod_zeros(n, 1, CHOLMOD_REAL, &common);
  double one[2] = {1, 0}, zero[2] = {0, 0};
  cholmod_sdmult(a, 0, one, zero, ones, b, &common);
  const auto solve_start = std::chrono::steady_clock::now();
  cholmod_dense* x = cholmod_solve(CHOLMOD_A, factor, b, &common);
  const double solve = seconds_since(solve_start);
  double error = 0;
  for (std::size_t i = 0; i < n; ++i)
    error = std::max(error, std::abs(static_cast<double*>(x->x)[i] - 1));
  fmt::print(
      "{{\"analyse_seconds\": {}, \"factor_seconds\": {}, \"solve_seconds\": {}, "
      "\"factor_rss_bytes\": {}, \"factor_flops\": {}, \"factor_entries\": {}, "
      "\"forward_error\": {}}}\n",
      analyse, factorise, solve, growth, common.fl, common.lnz, error);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: cholmod_peer MATRIX|grid:NXxNYxNZ THREADS\n");
    return 2;
  }
  try {
    return run(argv[1], std::atoi(argv[2]));
  } catch (const std::exception& error) {
    fmt::print(stderr, "cholmod_peer: {}\n", error.what());
    return 2;
  }
}
