#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "solver/matrix/general_matrix.h"
#include "solver/scaling/matching.h"
#include "solver/scaling/nearest_first.h"

namespace espalier::solver {

/// What maximum_product_matching() does where the largest entries of the columns do not
/// stand in rows of their own. Duals u of rows and v of columns keep every
///   reduced cost  c_ij - u_i - v_j >= 0, = 0 on the matching, but for rounding;
/// entries at 0 are tight. Three steps, the last two in turn until no column waits:
///
/// 1. Least costs of rows, then of columns, are the first duals; tight entries are paired
///    where that takes no search, those of the diagonal first.
/// 2. A search of shortest paths from each waiting column to a free row [DK01]. It cannot
///    know where free rows are, and the fewer there are left the more of the matrix it
///    goes through.
/// 3. When searches have looked at as many entries as would have paid for it, one search
///    back from all free rows at once moves the duals so that from every column the way
///    to the nearest of them is tight [GK97], and waiting columns take such ways side by
///    side, each row tried once [PF90].
///
///   example, reduced costs
///     0 . 0   pairs (0, 0) and (1, 1); column 2 waits, row 2 is free: columns 0, 1, 2
///     are 1 0 .   3, 2, 3 away from it. With u_1 + 1, v_1 - 1 and u_2 + 3 the way of
///     column 2 . 2 .   by the entries (0, 2), (1, 0), (2, 1) is tight.
class ProductAssignment {
 public:
  static constexpr std::int32_t kPatience = 4;

  /// @param ask  as of maximum_product_matching(), which says what is thrown
  /// @param patience  the first search back is made when the others have looked at so
  ///                  many times the entries and rows of the matrix, the next ones after
  ///                  half of that; 0: after each of them
  ProductAssignment(const GeneralMatrix& matrix, const std::function<void()>& ask,
                    std::int32_t patience = kPatience);

  [[nodiscard]] Matching result() const;

 private:
  // Done for ever where no path from it leads to a free row.
  enum class State : std::int8_t { kUnseen, kReached, kDone };
  static constexpr std::int32_t kUnmatched = -1;

  void set_costs();
  void match_cheaply();
  void shift_neighbour(std::int32_t column);
  void search_all(std::int32_t patience);
  void augment(std::int32_t column);
  void ask_now_and_then();
  void scan(std::int32_t column, double so_far);
  void update_duals(std::int32_t root);
  void follow_back();
  void lower_dead_rows();
  void raise_unmatched();

  void transpose();
  void look_back();
  void scan_back(std::int32_t row, double so_far);
  double reach_back();
  void move_duals(double reach);
  void give_up();
  void match_tight();
  bool goes_down(std::int32_t root);
  bool takes_free_row(const std::vector<std::int32_t>& way);

  [[nodiscard]] std::int64_t begin(std::int32_t column) const {
    return a_.column_start[column];
  }
  [[nodiscard]] std::int64_t end(std::int32_t column) const {
    return a_.column_start[column + 1];
  }
  // Not negative but for rounding; infinite where the matrix is zero.
  [[nodiscard]] double reduced(std::int64_t at, std::int32_t column) const {
    return cost_[at] - row_dual_[a_.row[at]] - column_dual_[column];
  }
  [[nodiscard]] bool is_tight(std::int64_t at, std::int32_t column) const;
  void pair(std::int64_t at, std::int32_t column) {
    row_match_[a_.row[at]] = column;
    pair_[column] = at;
  }
  [[nodiscard]] bool is_free(std::int32_t row) const {
    return row_match_[row] == kUnmatched;
  }

  const GeneralMatrix& a_;
  const std::function<void()>& ask_;
  std::int32_t scanned_ = 0;        // since ask_ was called
  std::int64_t looked_at_ = 0;      // entries, since look_back()
  std::vector<double> cost_;        // of each nonzero
  std::vector<double> column_max_;  // log2 of the largest modulus
  std::vector<double> row_dual_, column_dual_;
  std::vector<std::int32_t> row_match_;  // column of a row
  std::vector<std::int64_t> pair_;       // nonzero of a column
  std::vector<std::int32_t> waiting_;    // columns without a pair, the first one last

  // The search that is under way. Between two of them distances are infinite.
  std::vector<double> distance_;         // of rows; of columns in look_back()
  std::vector<std::int64_t> came_from_;  // nonzero by which a row was reached; next one
                                         // of a column in match_tight()
  std::vector<State> state_;
  std::vector<std::int32_t> death_;       // of a row: the number of its search, or 0
  std::int32_t deaths_ = 0;               // searches that left columns without a path
  std::vector<std::int32_t> touched_;     // rows
  NearestFirst open_;                     // rows; columns in look_back()
  std::vector<std::int32_t> reached_by_;  // column that reached a row
  double shortest_;                       // length of the best path to a free row
  std::int32_t path_end_ = kUnmatched;    // its free row

  // Row by row, from the first look_back() on.
  std::vector<std::int64_t> row_start_;
  std::vector<std::int32_t> across_;  // column of each nonzero
  std::vector<double> across_cost_;
};

}  // namespace espalier::solver
