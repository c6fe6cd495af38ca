#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/matrix/matrix_part.h"

namespace espalier::solver {

/// The products that a process sends to the owners of their rows, and those that it
/// receives, with room for them.
///
/// @par Test  MatrixParts.HaveTheBitsOfTheWholeMatrix
class RowExchange final : public SpreadRows {
 public:
  /// Collective.
  /// @param ranges  of all columns, the same everywhere
  /// @param here    columns that are here; outlives this, with its pattern as it is
  RowExchange(Communicator& communicator, std::vector<ColumnRange> ranges,
              const SquareMatrix& here);

  [[nodiscard]] bool is_here(std::int32_t row) const override;
  void in_order(const Product<double>& product, const Columns& columns,
                const Arrived<double>& arrived) override;
  void in_order(const Product<Complex>& product, const Columns& columns,
                const Arrived<Complex>& arrived) override;
  void clear_others(std::span<double> sums) const override;

  /// What it keeps, but for `ranges`.
  [[nodiscard]] Bytes bytes() const;
  /// Collective. The same of every process, before the columns go there.
  /// @param here  those that are here now; none of a complex matrix is complex, too
  /// @par Cost  O(entries here log ranges)
  [[nodiscard]] static std::vector<Bytes> bytes_under(Communicator& communicator,
                                                      std::span<const ColumnRange> ranges,
                                                      const SquareMatrix& here);

 private:
  struct Peer {
    std::vector<std::int32_t> row;      // of what comes, in its order
    std::vector<double> coming, going;  // products, of complex numbers part by part
  };
  template <class T>
  void sum_in_order(const Product<T>& product, const Columns& columns,
                    const Arrived<T>& arrived);
  template <class Part>
  void for_each_pair(const Part& part);
  void exchange_rows(std::vector<std::vector<std::int32_t>>& rows,
                     std::vector<std::vector<std::int32_t>>& counts);

  Communicator& communicator_;
  std::vector<ColumnRange> ranges_;
  const SymmetricMatrix& here_;
  std::size_t parts_;                // real numbers in an entry
  std::vector<Peer> peers_;          // by process
  std::vector<std::int32_t> count_;  // of each range: products that come of it
};

}  // namespace espalier::solver
