#include "solver/save/save_factor.h"

#include <fmt/format.h>

#include <algorithm>

namespace espalier::solver {
namespace {

using Indices = std::vector<std::int32_t>;

bool left_out(std::span<const std::int8_t> without, std::size_t node) {
  return !without.empty() && without[node] != 0;
}

// Calls field(name, array) for all arrays of a front's delays but the panel.
template <class Delays, class Field>
void for_each_field(Delays& delays, const Field& field) {
  field("children", delays.from_child);
  field("rows in", delays.rows_in);
  field("cols in", delays.columns_in);
  field("d-rows", delays.row_order);
  field("d-cols", delays.column_order);
  field("d-d", delays.d);
  field("elimin", delays.eliminated);
  field("slotrow", delays.slot_row);
  field("slotcol", delays.slot_column);
  field("passed0", delays.passed[0]);
  field("passed1", delays.passed[1]);
  field("tail0", delays.tail[0]);
  field("tail1", delays.tail[1]);
  field("tailrow", delays.tail_row_order);
  field("tailcol", delays.tail_column_order);
  field("tail d", delays.tail_d);
}

template <class T>
std::span<const T> panel_of(const FactorView<T>& view, std::int32_t s, const T* storage) {
  const std::int64_t entries = view.factor.panel(view.symbolic, view.tree, s).entries();
  return {view.factor.panel_data(s, storage),
          static_cast<std::size_t>(view.tree.sides() * entries)};
}

// Puts what is read into a factor, having found it to be one of the tree's.
template <class T>
class FactorLoader {
 public:
  FactorLoader(const Symbolic& symbolic, const AssemblyTree& tree, SectionReader& file,
               std::span<const std::int8_t> without)
      : symbolic_(symbolic),
        tree_(tree),
        file_(file),
        without_(without),
        factor_(symbolic, tree) {}

  Factor<T> load() {
    file_.take<std::int32_t>("roworder", factor_.row_order);
    file_.take<std::int32_t>("colorder", factor_.column_order);
    file_.take<T>("d", factor_.d);
    Indices delayed = file_.take<std::int32_t>("delays");
    std::reverse(delayed.begin(), delayed.end());
    for (std::int32_t s = 0; s < symbolic_.fronts(); ++s) {
      const bool next = !delayed.empty() && delayed.back() == s;
      if (next) delayed.pop_back();
      take_front(s, next);
    }
    require(delayed.empty(), symbolic_.fronts(), "delays");
    for (std::size_t k = 0; k < tree_.nodes.size(); ++k)
      if (!left_out(without_, k)) take_panels(k);
    return std::move(factor_);
  }

 private:
  void require(bool holds, std::int32_t front, const char* what) const {
    if (!holds) file_.fail(fmt::format("has impossible {} in front {}", what, front));
  }

  void take_front(std::int32_t s, bool with_delays) {
    if (with_delays) {
      require(tree_.kind != FactorKind::kCholesky, s, "delays");
      factor_.delays[s] = std::make_unique<FrontDelays<T>>();
      take_delays(s, *factor_.delays[s]);
    }
    const std::int64_t incoming = factor_.delayed_in(s);
    if (!is_part(s)) check_incoming(s, incoming);
    if (tree_.kind == FactorKind::kLdlt)
      check_pivots(s, incoming > 0 ? factor_.delays_of(s)->d.data()
                                   : factor_.d.data() +
                                         2 * std::int64_t{symbolic_.first_column[s]});
    if (incoming > 0 || tree_.kind == FactorKind::kCholesky) return;
    const auto own = [&](std::span<const std::int32_t> order) {
      return order.subspan(symbolic_.first_column[s], symbolic_.pivots(s));
    };
    check_order(s, own(factor_.row_order));
    if (tree_.kind == FactorKind::kLu) check_order(s, own(factor_.column_order));
  }

  // Of a front that is not all here, and whose children need not be.
  [[nodiscard]] bool is_part(std::int32_t s) const {
    return left_out(without_, static_cast<std::size_t>(tree_.node_of_front[s]));
  }

  void check_incoming(std::int32_t s, std::int64_t incoming) const {
    for (auto c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c])
      incoming -= factor_.delayed_out(c);
    require(incoming == 0, s, "delays");
  }

  // Places inside the blocks of a panel.
  void check_order(std::int32_t s, std::span<const std::int32_t> order) const {
    const Trapezoid layout = factor_.panel(symbolic_, tree_, s);
    for (std::int32_t j = 0; j < layout.columns(); ++j)
      require(order[j] >= 0 && order[j] < layout.width(layout.block_of(j)), s,
              "order of pivots");
  }

  // No 2 x 2 pivot reaches beyond the columns that its block, or the tail, eliminated.
  void check_pairs(std::int32_t s, const T* d, std::int32_t eliminated) const {
    std::int32_t k = 0;
    while (k < eliminated) k += d[2 * k + 1] != T(0) ? 2 : 1;
    require(k == eliminated, s, "pivots");
  }

  void check_pivots(std::int32_t s, const T* d) const {
    const Trapezoid layout = factor_.panel(symbolic_, tree_, s);
    const FrontDelays<T>* const delays = factor_.delays_of(s);
    for (std::int32_t k = 0; k < layout.blocks(); ++k)
      check_pairs(s, d + 2 * std::int64_t{layout.first(k)},
                  delays != nullptr ? delays->eliminated[k] : layout.width(k));
    if (delays != nullptr) check_pairs(s, delays->tail_d.data(), delays->tail_eliminated);
  }

  void check_range(std::int32_t s, const Indices& values, std::int64_t end) const {
    for (const std::int32_t value : values)
      require(value >= 0 && value < end, s, "indices of delays");
  }

  void check_children(std::int32_t s, const FrontDelays<T>& delays) const {
    std::int64_t children = 0, incoming = 0;
    for (auto c = tree_.first_child[s]; c >= 0; c = tree_.next_sibling[c]) ++children;
    for (const std::int32_t count : delays.from_child) {
      require(count >= 0, s, "delays");
      incoming += count;
    }
    require(incoming == delays.delayed_in &&
                std::ssize(delays.from_child) == (incoming > 0 ? children : 0),
            s, "delays");
  }

  void take_delays(std::int32_t s, FrontDelays<T>& delays) {
    std::array<std::int32_t, 2> counts{};
    file_.take<std::int32_t>("delayed", counts);
    require(counts[0] >= 0 && counts[0] <= symbolic_.size, s, "delays");
    delays.delayed_in = counts[0];
    delays.tail_eliminated = counts[1];
    for_each_field(delays, [this]<class V>(const char* name, std::vector<V>& array) {
      array = file_.take<V>(name);
    });
    check_delays(s, delays);
  }

  void check_delays(std::int32_t s, const FrontDelays<T>& delays) const {
    const Trapezoid layout = factor_.panel(symbolic_, tree_, s);
    const std::int64_t columns = layout.columns(), slots = std::ssize(delays.slot_row);
    const std::int64_t rows = layout.rows() - columns;
    const bool lu = tree_.kind == FactorKind::kLu, moved = delays.delayed_in > 0;
    const auto size = [&](const auto& array, std::int64_t entries) {
      require(std::ssize(array) == entries, s, "sizes of delays");
    };
    check_children(s, delays);
    size(delays.rows_in, delays.delayed_in);
    size(delays.columns_in, delays.delayed_in);
    size(delays.row_order, moved ? columns : 0);
    size(delays.column_order, moved && lu ? columns : 0);
    size(delays.d, moved && tree_.kind == FactorKind::kLdlt ? 2 * columns : 0);
    size(delays.eliminated, layout.blocks());
    size(delays.slot_column, slots);
    for (std::int32_t side = 0; side < 2; ++side) {
      const std::int64_t kept = side < tree_.sides() ? slots : 0;
      size(delays.passed[side], kept * columns);
      if (!is_part(s) || !delays.tail[side].empty())
        size(delays.tail[side], kept * (slots + rows));
    }
    size(delays.tail_row_order, slots);
    size(delays.tail_column_order, slots);
    size(delays.tail_d, 2 * slots);
    std::int64_t left = 0;
    for (std::int32_t k = 0; k < layout.blocks(); ++k) {
      const std::int32_t eliminated = delays.eliminated[k];
      require(eliminated >= 0 && eliminated <= layout.width(k), s, "delays");
      left += layout.width(k) - eliminated;
    }
    require(
        left == slots && delays.tail_eliminated >= 0 && delays.tail_eliminated <= slots &&
            (symbolic_.parent[s] >= 0 || is_part(s) || delays.tail_eliminated == slots),
        s, "delays");
    check_range(s, delays.rows_in, symbolic_.size);
    check_range(s, delays.columns_in, symbolic_.size);
    if (moved) check_order(s, delays.row_order);
    if (moved && lu) check_order(s, delays.column_order);
    check_range(s, delays.slot_row, columns);
    check_range(s, delays.slot_column, columns);
    check_range(s, delays.tail_row_order, slots);
    check_range(s, delays.tail_column_order, slots);
  }

  void take_panels(std::size_t node) {
    const AssemblyTree::Node& place = tree_.nodes[node];
    const auto entries = [&](std::int32_t s) {
      return tree_.sides() * factor_.panel(symbolic_, tree_, s).entries();
    };
    std::int64_t whole = 0;
    for (std::int32_t s = place.first_front; s <= place.last_front; ++s)
      if (factor_.delayed_in(s) == 0) whole += entries(s);
    require_room(place.last_front, whole);
    factor_.storage[node] = PageBuffer(whole * static_cast<Bytes>(sizeof(T)));
    std::int64_t offset = 0;
    for (std::int32_t s = place.first_front; s <= place.last_front; ++s) {
      const auto count = static_cast<std::size_t>(entries(s));
      if (factor_.delayed_in(s) > 0) {
        require_room(s, entries(s));
        PageBuffer& panel = factor_.delays_of(s)->panel;
        panel = PageBuffer(entries(s) * static_cast<Bytes>(sizeof(T)));
        file_.take<T>("panel", std::span(panel.template as<T>(), count));
        continue;
      }
      factor_.offset[s] = offset;
      file_.take<T>("panel",
                    std::span(factor_.storage[node].template as<T>() + offset, count));
      offset += entries(s);
    }
  }

  void require_room(std::int32_t front, std::int64_t entries) const {
    require(entries <= file_.bytes_left() / static_cast<Bytes>(sizeof(T)), front,
            "size of panels");
  }

  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  SectionReader& file_;
  std::span<const std::int8_t> without_;
  Factor<T> factor_;
};

}  // namespace

template <class T>
void save_factor(const FactorView<T>& view, SectionWriter& file,
                 std::span<const std::int8_t> without) {
  const Factor<T>& factor = view.factor;
  file.put("roworder", factor.row_order);
  file.put("colorder", factor.column_order);
  file.put("d", factor.d);
  Indices delayed;
  for (std::int32_t s = 0; s < view.symbolic.fronts(); ++s)
    if (factor.delays_of(s) != nullptr) delayed.push_back(s);
  file.put("delays", delayed);
  for (const std::int32_t s : delayed) {
    const FrontDelays<T>& delays = *factor.delays_of(s);
    const std::array<std::int32_t, 2> counts{delays.delayed_in, delays.tail_eliminated};
    file.put("delayed", std::span<const std::int32_t>(counts));
    for_each_field(delays,
                   [&](const char* name, const auto& array) { file.put(name, array); });
  }
  for (std::size_t k = 0; k < view.tree.nodes.size(); ++k) {
    if (left_out(without, k)) continue;
    const NodeStorage<T> storage(view, static_cast<std::int32_t>(k));
    const AssemblyTree::Node& node = view.tree.nodes[k];
    for (std::int32_t s = node.first_front; s <= node.last_front; ++s)
      file.put("panel", panel_of(view, s, storage.data()));
  }
}

template <class T>
Factor<T> load_factor(const Symbolic& symbolic, const AssemblyTree& tree,
                      SectionReader& file, std::span<const std::int8_t> without) {
  return FactorLoader<T>(symbolic, tree, file, without).load();
}

#define ESPALIER_INSTANTIATE(T)                                                        \
  template void save_factor(const FactorView<T>&, SectionWriter&,                      \
                            std::span<const std::int8_t>);                             \
  template Factor<T> load_factor(const Symbolic&, const AssemblyTree&, SectionReader&, \
                                 std::span<const std::int8_t>);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
