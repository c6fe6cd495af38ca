#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/matrix/matrix_part.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/block_form.h"
#include "solver/symbolic/symbolic.h"

namespace espalier::solver {

/// Collective. Every process gets the root's vector.
template <class T, class Allocator>
void broadcast(Communicator& communicator, std::vector<T, Allocator>& values,
               std::int32_t root = 0) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::int64_t size = std::ssize(values);
  communicator.broadcast(std::as_writable_bytes(std::span(&size, 1)), root);
  values.resize(static_cast<std::size_t>(size));
  if (size == 0) return;
  communicator.broadcast(std::as_writable_bytes(std::span(values)), root);
}

/// Collective. Every process gets process 0's value.
template <class T>
void broadcast_value(Communicator& communicator, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
}

/// Collective. Every process gets the structure that process 0 has.
/// @throws Error when what arrives is not what was sent; the message names the process
/// @par Memory  nothing beside the structure
void broadcast(Communicator& communicator, Symbolic& symbolic);

/// Collective. Every process gets the form that process 0 has of a matrix: none where
/// that is factored whole.
/// @param symbolic  the same everywhere
void broadcast(Communicator& communicator, const Symbolic& symbolic, BlockForm& form);

/// Collective. Every process gets the values that process 0 has.
void broadcast_values(Communicator& communicator, Coupling& coupling);

/// Collective. Every process gets what process 0 has, but for the matrix: enough for
/// ScaledPermutation.
void broadcast_maps(Communicator& communicator, PreparedMatrix& prepared);

/// Which lists of values a matrix has at every process, whether it has entries here or
/// not.
struct ValueLists {
  bool opposite = false;   ///< it is not symmetric
  bool imaginary = false;  ///< it is complex
};

/// Calls part(list) with all that a matrix keeps for each entry, in one order everywhere.
template <class Matrix, class Part>
void for_each_list(Matrix& matrix, const ValueLists& lists, const Part& part) {
  part(matrix.lower.row);
  part(matrix.lower.value);
  if (lists.opposite) part(matrix.upper);
  if (lists.imaginary) part(matrix.lower_imaginary);
  if (lists.opposite && lists.imaginary) part(matrix.upper_imaginary);
}

/// Collective. Every process gets the columns of process 0's matrix that it owns, in
/// place of what `permuted` was; other columns are empty. An entry is then at exactly one
/// process. Process 0 gives the memory of the others' entries back.
///
/// Entries are sent from where they stand to where they stay: nowhere is there a second
/// copy, but for those that process 0 keeps of one list at a time.
///
/// @param ranges  of all columns, the same everywhere: column_ranges()
/// @param permuted  whether it is complex is known everywhere
/// @par Cost  a message for each list and each range of another process
void distribute_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                        SquareMatrix& permuted);

/// The matrix that is spread over the processes.
/// @param permuted, communicator, rows, coupling  outlive it
[[nodiscard]] inline MatrixPart matrix_part(const SquareMatrix& permuted,
                                            Communicator& communicator,
                                            SpreadRows* rows = nullptr,
                                            const Coupling* coupling = nullptr) {
  return {permuted, communicator.rank() == 0,
          [&communicator](std::span<double> values) { communicator.sum(values); }, rows,
          coupling};
}

}  // namespace espalier::solver
