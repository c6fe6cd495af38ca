#include "solver/solve/block_substitution.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "espalier/model/error.h"
#include "solver/matrix/largest_modulus.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kPiece = 8192;  // numbers that are told at once

template <class T>
constexpr bool kConverts = !std::is_same_v<T, Wide<T>>;

// Of real and imaginary parts.
template <class Number>
double largest_part(const Number* first, const Number* last) {
  return largest_modulus(
      {reinterpret_cast<const double*>(first), reinterpret_cast<const double*>(last)});
}

// x times a power of two, as a To.
template <class To, class From>
To scaled(From x, int exponent) {
  using Real = RealOf<To>;
  const auto part = [exponent](double each) {
    return static_cast<Real>(std::ldexp(each, exponent));
  };
  if constexpr (kIsComplex<To>)
    return {part(x.real()), part(x.imag())};
  else
    return part(x);
}

}  // namespace

template <class T>
BlockSubstitution<T>::BlockSubstitution(const FactorView<T>& view, const BlockForm& form,
                                        std::int32_t nrhs, BlockTeam<T>&& team)
    : view_(view), form_(form), team_(std::move(team)), size_(view.symbolic.size) {
  take_turns();  // which needs memory that the vectors have then
  side_.resize(kConverts<T> ? size_ * nrhs : 0);
  solution_.resize(size_ * nrhs);
  exponent_.resize(nrhs);
  work_.resize(SequentialSweep<T>::entries(view, nrhs));
  if (team_.owner.empty()) return;
  piece_.reserve(kPiece);
  place_.reserve(kPiece);
}

template <class T>
Bytes BlockSubstitution<T>::footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                      std::int32_t nrhs, bool together) {
  const std::int64_t vectors =
      checked_mul(std::int64_t{symbolic.size} * (kConverts<T> ? 2 : 1), nrhs);
  const std::int64_t work = SequentialSweep<T>::planned_entries(symbolic, tree, nrhs);
  const Bytes numbers = checked_mul(checked_add(vectors, work), sizeof(T));
  if (!together) return numbers;
  // The order of the blocks, of which there may be as many as fronts, and what finding it
  // takes: of a front its owner, of a block where it is and what it waits for, of a
  // column its block.
  constexpr Bytes kBlock = 2 * sizeof(BlockForm::Block) + sizeof(Turn) + 32;
  constexpr Bytes kColumn = 2 * sizeof(std::int32_t);
  Bytes blocks = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    blocks += symbolic.rows_of(s).empty() ? 1 : 0;
  return checked_add(
      numbers, kBlock * blocks + kColumn * symbolic.size +
                   sizeof(std::int32_t) * (symbolic.parent.size() + tree.nodes.size()) +
                   kPiece * (sizeof(Number) + sizeof(Number*)));
}

// Those of one owner that follow each other are a turn; of what is shared each block.
template <class T>
void BlockSubstitution<T>::take_turns() {
  if (team_.owner.empty()) {
    blocks_ = form_.blocks;
    turns_ = {{0, blocks_.size(), team_.process}};
    return;
  }
  std::vector<std::int32_t> owner;  // of fronts
  owner.reserve(view_.symbolic.parent.size());
  for (const std::int32_t node : view_.tree.node_of_front)
    owner.push_back(team_.owner[node]);
  reordered_ = blocks_by_owner(view_.symbolic, form_.coupling, owner);
  blocks_ = reordered_;
  for (std::size_t k = 0; k < blocks_.size(); ++k) {
    const std::int32_t own = owner[blocks_[k].root];
    if (turns_.empty() || own == BlockForm::kShared || turns_.back().owner != own)
      turns_.push_back({k, k, own});
    turns_.back().end = k + 1;
  }
}

template <class T>
IndexRange BlockSubstitution<T>::columns_of(const BlockForm::Block& block) const {
  const std::vector<std::int32_t>& first = view_.symbolic.first_column;
  return {first[block.first_front], first[block.root + 1]};
}

// Whose fronts are the block's; empty: the calling thread's.
template <class T>
IndexRange BlockSubstitution<T>::nodes_of(const BlockForm::Block& block) const {
  const AssemblyTree& tree = view_.tree;
  const IndexRange nodes{tree.node_of_front[block.first_front],
                         tree.node_of_front[block.root] + 1};
  const bool shared = is_shared(nodes.end - 1);
  if (!shared && (!team_.solve_nodes || nodes.end - nodes.begin == 1)) return {};
  const bool whole = tree.nodes[nodes.begin].first_front == block.first_front &&
                     tree.nodes[nodes.end - 1].last_front == block.root;
  if (shared && !whole) throw Error("a block that processes share has fronts of others");
  return whole ? nodes : IndexRange{};
}

// What other blocks have come to goes into the block's right-hand side.
template <class T>
void BlockSubstitution<T>::pull(IndexRange range, const Solve& at) const {
  const Coupling& c = form_.coupling;
  const CouplingRows& rows = form_.rows;
  Number* x = at.vectors;
  for (std::int32_t v = 0; v < at.b.count; ++v, x += size_)
    for (std::int32_t i = range.begin; i < range.end; ++i)
      if (at.transposed)
        for (auto k = c.column_start[i]; k < c.column_start[i + 1]; ++k)
          x[i] -= c.entry<Number>(k) * x[c.row[k]];
      else
        for (auto k = rows.start[i]; k < rows.start[i + 1]; ++k)
          x[i] -= c.entry<Number>(rows.entry[k]) * x[rows.column[k]];
}

// Into T, divided by the power of two that brings the largest entry near 1: the range of
// float is smaller than that of double.
template <class T>
void BlockSubstitution<T>::load(IndexRange range, const Solve& at) {
  if constexpr (kConverts<T>) {
    for (std::int32_t v = 0; v < at.b.count; ++v) {
      const Number* const b = at.vectors + v * size_;
      const double largest = largest_part(b + range.begin, b + range.end);
      exponent_[v] = 0;
      if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponent_[v]);
      T* const to = at.b.data + v * size_;
      for (std::int32_t j = range.begin; j < range.end; ++j)
        to[j] = scaled<T>(b[j], -exponent_[v]);
    }
  }
}

template <class T>
void BlockSubstitution<T>::store(IndexRange range, const Solve& at) const {
  for (std::int32_t v = 0; v < at.x.count; ++v) {
    const T* const x = at.x.data + v * size_;
    Number* const to = at.vectors + v * size_;
    for (std::int32_t j = range.begin; j < range.end; ++j)
      if constexpr (kConverts<T>)
        to[j] = scaled<Number>(widened(x[j]), exponent_[v]);
      else
        to[j] = x[j];
  }
}

// Of a block of order 1, which many are: the pivot.
template <class T>
auto BlockSubstitution<T>::pivot_of(const BlockForm::Block& block,
                                    SequentialSweep<T>& sweep) const
    -> std::optional<Number> {
  const std::int32_t s = block.root;
  const bool one = block.first_front == s && view_.symbolic.front_order(s) == 1 &&
                   view_.factor.delays_of(s) == nullptr;
  if (!one) return std::nullopt;
  if (view_.tree.kind == FactorKind::kLdlt)
    return widened(view_.factor.d[2 * std::int64_t{view_.symbolic.first_column[s]}]);
  return widened(*view_.factor.panel_data(s, sweep.panels_of(s)));
}

template <class T>
void BlockSubstitution<T>::solve_block(const BlockForm::Block& block, const Solve& at) {
  const IndexRange range = columns_of(block);
  at.paced.before(std::int64_t{range.end - range.begin} * at.b.count);
  pull(range, at);
  const IndexRange nodes = nodes_of(block);
  if (nodes.end == 0)
    if (const auto pivot = pivot_of(block, at.sweep)) {
      for (std::int32_t v = 0; v < at.b.count; ++v)
        at.vectors[range.begin + v * size_] /= *pivot;
      return;
    }
  load(range, at);
  if (nodes.end > 0) {
    at.sweep.release();
    team_.solve_nodes(nodes, is_shared(nodes.end - 1), at.transposed, at.b, at.x, at.ask);
  } else {
    const IndexRange fronts{block.first_front, block.root + 1};
    at.sweep.forward(fronts);
    at.sweep.backward(fronts);
  }
  store(range, at);
}

// What the owner's blocks have come to, to everybody, by pieces.
template <class T>
void BlockSubstitution<T>::share(const Turn& turn, Number* vectors, std::int32_t nrhs) {
  if (turn.owner == BlockForm::kShared || team_.owner.empty()) return;
  const auto tell = [&] {
    if (piece_.empty()) return;
    team_.broadcast({reinterpret_cast<double*>(piece_.data()),
                     piece_.size() * sizeof(Number) / sizeof(double)},
                    turn.owner);
    for (std::size_t k = 0; k < piece_.size(); ++k) *place_[k] = piece_[k];
    piece_.clear();
    place_.clear();
  };
  for (std::size_t k = turn.begin; k < turn.end; ++k) {
    const IndexRange range = columns_of(blocks_[k]);
    for (std::int32_t v = 0; v < nrhs; ++v)
      for (std::int32_t j = range.begin; j < range.end; ++j) {
        place_.push_back(vectors + j + v * size_);
        piece_.push_back(*place_.back());
        if (piece_.size() == kPiece) tell();
      }
  }
  tell();
}

template <class T>
void BlockSubstitution<T>::solve(bool transposed, std::span<double> block,
                                 std::int32_t nrhs, const std::function<void()>& ask) {
  auto* const vectors = reinterpret_cast<Number*>(block.data());
  T* side = side_.data();
  if constexpr (!kConverts<T>) side = vectors;
  const Vectors<T> b{side, size_, nrhs}, x{solution_.data(), size_, nrhs};
  const std::function<void()> nobody;  // each process is at another place
  const std::function<void()>& asked = team_.owner.empty() ? ask : nobody;
  PacedAsk paced(asked);
  SequentialSweep<T> sweep(view_, transposed, b, x, work_, paced);
  const Solve at{transposed, vectors, b, x, paced, asked, sweep};
  for (const std::int32_t each : form_.coupling.unmatched)
    for (std::int32_t v = 0; v < nrhs; ++v) vectors[each + v * size_] = Number(0);
  for (std::size_t k = 0; k < turns_.size(); ++k) {
    const Turn& turn = turns_[transposed ? turns_.size() - 1 - k : k];
    for (std::size_t i = turn.begin; is_mine(turn) && i < turn.end; ++i)
      solve_block(blocks_[transposed ? turn.begin + turn.end - 1 - i : i], at);
    share(turn, vectors, nrhs);
  }
}

#define ESPALIER_INSTANTIATE(T) template class BlockSubstitution<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
