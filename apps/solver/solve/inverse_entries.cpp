#include "solver/solve/inverse_entries.h"

#include <algorithm>
#include <vector>

#include "solver/symbolic/front_of_column.h"

namespace espalier::solver {
namespace {

template <class T>
class InverseColumns {
 public:
  InverseColumns(const FactorView<T>& view, std::int32_t at_once)
      : view_(view),
        solve_(view, false),
        size_(view.symbolic.size),
        b_(static_cast<std::size_t>(size_ * at_once)),
        x_(b_.size()),
        local_(static_cast<std::size_t>(solve_.local_entries() * at_once)),
        marked_(static_cast<std::size_t>(view.symbolic.fronts())) {}

  // Of no more columns than are found at once.
  void find(std::span<const InversePlace> places, std::span<double> values) {
    std::vector<std::int32_t> columns;
    for (const InversePlace& each : places)
      if (columns.empty() || columns.back() != each.column)
        columns.push_back(each.column);
    const auto count = static_cast<std::int32_t>(columns.size());
    const Vectors<T> b{b_.data(), size_, count}, x{x_.data(), size_, count};
    for (std::int32_t v = 0; v < count; ++v) b_[columns[v] + v * size_] = T{1};
    const std::vector<std::int32_t> up = fronts_above(columns);
    for (const std::int32_t s : up)
      sweep(s,
            [&](const T* storage) { solve_.forward(s, storage, b, {}, local_.data()); });
    std::vector<std::int32_t> rows;
    for (const InversePlace& each : places) rows.push_back(each.row);
    std::vector<std::int32_t> down = fronts_above(rows);
    std::ranges::reverse(down);
    for (const std::int32_t s : down)
      sweep(s,
            [&](const T* storage) { solve_.backward(s, storage, b, x, local_.data()); });
    take(places, columns, values);
    for (const std::int32_t s : up) clear(s, b);
    for (const std::int32_t s : down) clear(s, x);
  }

 private:
  // Those of the given columns and all above them, children first.
  std::vector<std::int32_t> fronts_above(std::span<const std::int32_t> columns) {
    std::vector<std::int32_t> result;
    for (const std::int32_t column : columns)
      for (std::int32_t s = front_of_column(view_.symbolic, column);
           s >= 0 && marked_[s] == 0; s = view_.symbolic.parent[s]) {
        marked_[s] = 1;
        result.push_back(s);
      }
    for (const std::int32_t s : result) marked_[s] = 0;
    std::ranges::sort(result);
    return result;
  }

  template <class Step>
  void sweep(std::int32_t front, Step step) const {
    const NodeStorage<T> storage(view_, view_.tree.node_of_front[front]);
    step(storage.data());
  }

  void take(std::span<const InversePlace> places,
            const std::vector<std::int32_t>& columns, std::span<double> values) const {
    auto* const numbers = reinterpret_cast<Wide<T>*>(values.data());
    std::int64_t v = 0;
    for (std::size_t k = 0; k < places.size(); ++k) {
      while (columns[static_cast<std::size_t>(v)] != places[k].column) ++v;
      numbers[k] = widened(x_[places[k].row + v * size_]);
    }
  }

  // Whatever a front may have written to.
  void clear(std::int32_t front, const Vectors<T>& vectors) const {
    const Symbolic& symbolic = view_.symbolic;
    const FrontDelays<T>* const delays = view_.factor.delays_of(front);
    for (std::int32_t v = 0; v < vectors.count; ++v) {
      T* const vector = vectors.data + v * vectors.stride;
      std::fill(vector + symbolic.first_column[front],
                vector + symbolic.first_column[front + 1], T{0});
      for (const std::int32_t row : symbolic.rows_of(front)) vector[row] = T{0};
      if (delays == nullptr) continue;
      for (const std::int32_t row : delays->rows_in) vector[row] = T{0};
      for (const std::int32_t column : delays->columns_in) vector[column] = T{0};
    }
  }

  FactorView<T> view_;
  FrontSolve<T> solve_;
  std::int64_t size_;
  std::vector<T> b_, x_, local_;
  std::vector<std::int8_t> marked_;
};

}  // namespace

template <class T>
void inverse_entries(const FactorView<T>& view, std::span<const InversePlace> places,
                     std::int32_t at_once, std::span<double> values,
                     const std::function<void(double)>& progress) {
  InverseColumns<T> inverse(view, at_once);
  const std::size_t parts = kParts<T>;
  for (std::size_t begin = 0, end = 0; begin < places.size(); begin = end) {
    if (progress)
      progress(static_cast<double>(begin) / static_cast<double>(places.size()));
    for (std::int32_t columns = 0; end < places.size(); ++end) {
      const bool next = end == begin || places[end].column != places[end - 1].column;
      if (next && columns++ == at_once) break;
    }
    inverse.find(places.subspan(begin, end - begin),
                 values.subspan(begin * parts, (end - begin) * parts));
  }
}

#define ESPALIER_INSTANTIATE(T)                                                      \
  template void inverse_entries(const FactorView<T>&, std::span<const InversePlace>, \
                                std::int32_t, std::span<double>,                     \
                                const std::function<void(double)>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
