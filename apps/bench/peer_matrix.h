#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace espalier::bench {

/// A system as every peer gets it: compressed columns, rows increasing in each.
struct PeerMatrix {
  std::int32_t size = 0;
  bool symmetric = false;                  ///< then the lower triangle only
  std::vector<std::int64_t> column_start;  ///< size + 1 offsets
  std::vector<std::int32_t> row;
  std::vector<double> value;
};

/// A Matrix Market file, "grid:NXxNYxNZ" or "pattern:NAME" of patterns.h. @throws
/// espalier::Error as the readers do
[[nodiscard]] PeerMatrix read_input(const std::string& input);

/// Both triangles of a symmetric matrix; any other as it is.
[[nodiscard]] PeerMatrix expand(const PeerMatrix& a);

/// The product's METIS ordering of A, of A + A^T where A is not symmetric:
/// result[new] = old.
[[nodiscard]] std::vector<std::int32_t> metis_ordering(const PeerMatrix& a);

/// A times ones: the right-hand side whose solution is known.
[[nodiscard]] std::vector<double> apply_to_ones(const PeerMatrix& a);

/// max_i |b - A x|_i / (|A| |x| + |b|)_i, as the product defines it; infinite for a NaN.
[[nodiscard]] double backward_error(const PeerMatrix& a, std::span<const double> x,
                                    std::span<const double> b);

/// Symmetric, with a positive diagonal and no 2 x 2 minor that rules out a positive
/// definite matrix. Necessary, not sufficient.
[[nodiscard]] bool may_be_definite(const PeerMatrix& a);

}  // namespace espalier::bench
