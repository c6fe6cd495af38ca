#include "solver/distributed/process_part.h"

#include <algorithm>
#include <span>
#include <utility>

#include "espalier/model/error.h"
#include "solver/distributed/front_pieces.h"
#include "solver/memory/page_buffer.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// Pages of parts of a buffer that are named in increasing order.
class PageCount {
 public:
  void add(Bytes begin, Bytes end) {
    const Bytes page = PageBuffer::footprint(1);
    const Bytes first = std::max(begin / page, next_);
    const Bytes last = PageBuffer::footprint(end) / page;
    if (begin >= end || last <= first) return;
    bytes_ += (last - first) * page;
    next_ = last;
  }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  Bytes next_ = 0, bytes_ = 0;
};

/// The memory of one shared node at one process.
class SharedPart {
 public:
  SharedPart(const Symbolic& symbolic, const AssemblyTree& whole,
             const FrontDistribution& distribution, std::int32_t node,
             std::int32_t process)
      : symbolic_(symbolic),
        whole_(whole),
        distribution_(distribution),
        node_(node),
        front_(whole.nodes[node].last_front),
        process_(process),
        panel_(whole.panel(symbolic, front_)),
        contribution_(whole.contribution(symbolic, front_)),
        starts_(block_starts(symbolic, whole, front_)),
        pieces_(front_pieces(symbolic, whole, distribution, node)) {
    std::erase_if(pieces_,
                  [](const FrontPiece& piece) { return piece.from == piece.to; });
    for (std::int32_t b = 0; b < blocks(); ++b)
      if (distribution.owner_of(node, b) == process) own_.push_back(b);
    for (auto c = whole.first_child[front_]; c >= 0; c = whole.next_sibling[c])
      children_.push_back(c);
  }

  void add_traffic(Traffic& received) const {
    const std::int32_t sides = whole_.sides();
    for (const FrontPiece& piece : pieces_) {
      if (piece.to != process_) continue;
      received.bytes += sides * entry_bytes() * entries(piece);
      received.messages += sides;
    }
    for (std::int32_t k = 0; !own_.empty() && k < own_.back(); ++k) {
      if (k >= panel_.blocks() || distribution_.owner_of(node_, k) == process_) continue;
      const auto [begin, end] = place(k, 0);
      received.bytes += sides * (end - begin);
      received.messages += sides;
    }
  }

  void describe(AssemblyTree& part) const {
    AssemblyTree::Node& node = part.nodes[node_];
    node.tiled = node.by_blocks = node.shared = true;
    node.factor_bytes = own_bytes(0, panel_.blocks());
    node.contribution_bytes = own_bytes(panel_.blocks(), blocks());
    node.stack_entries = 0;
    node.index_entries = 0;
    for (const std::int32_t child : children_)
      node.index_entries += std::ssize(symbolic_.rows_of(child));
    node.runtime_bytes = runtime_bytes();
    node.part = work_part();
    part.profile[node_] = profile(part);
  }

 private:
  [[nodiscard]] std::int32_t blocks() const {
    return panel_.blocks() + contribution_.blocks();
  }
  [[nodiscard]] Bytes entry_bytes() const { return whole_.entry_bytes; }
  [[nodiscard]] std::int64_t entries(const FrontPiece& piece) const {
    const Trapezoid layout = whole_.contribution(symbolic_, children_[piece.child]);
    return layout.entries_before(piece.last) - layout.entries_before(piece.first);
  }

  // Where block columns lie in the buffer of the panel or of the contribution block.
  [[nodiscard]] std::pair<Bytes, Bytes> place(std::int32_t block,
                                              std::int32_t side) const {
    const bool in_panel = block < panel_.blocks();
    const Trapezoid& layout = in_panel ? panel_ : contribution_;
    const std::int32_t local = in_panel ? block : block - panel_.blocks();
    const std::int64_t begin = side * layout.entries() + layout.offset(local);
    const std::int64_t entries =
        std::int64_t{layout.leading(local)} * layout.width(local);
    return {checked_mul(begin, entry_bytes()),
            checked_mul(begin + entries, entry_bytes())};
  }

  // Of own blocks in [first, last), which are all of panel or all of contribution block.
  [[nodiscard]] Bytes own_bytes(std::int32_t first, std::int32_t last) const {
    PageCount pages;
    for (std::int32_t side = 0; side < whole_.sides(); ++side)
      for (const std::int32_t b : own_)
        if (b >= first && b < last)
          pages.add(place(b, side).first, place(b, side).second);
    return pages.bytes();
  }

  // Of a child's columns that are held here, what is left when those before `column` have
  // gone: whole pages of them only, and none that reaches into the other side.
  [[nodiscard]] Bytes child_bytes(std::int32_t child, const HeldColumns& held,
                                  std::int32_t column) const {
    const Trapezoid layout = whole_.contribution(symbolic_, child);
    const Bytes page = PageBuffer::footprint(1);
    PageCount pages;
    for (std::int32_t side = 0; side < whole_.sides(); ++side) {
      const std::int64_t before = side * layout.entries();
      const Bytes gone = (before + layout.entries_before(column)) * entry_bytes();
      for (const auto& [first, last] : held)
        pages.add(std::max((before + layout.entries_before(first)) * entry_bytes(),
                           gone / page * page),
                  (before + layout.entries_before(last)) * entry_bytes());
    }
    return pages.bytes() + (held.empty() ? 0 : (whole_.sides() - 1) * page);
  }

  // Of what is received at once, and of the pages that what was received leaves: those at
  // its ends that it does not fill.
  [[nodiscard]] Bytes piece_window() const {
    const Bytes page = PageBuffer::footprint(1);
    std::vector<FrontPiece> incoming;
    Bytes largest = 0;
    for (const FrontPiece& piece : pieces_) {
      if (piece.to != process_) continue;
      incoming.push_back(piece);
      largest =
          std::max(largest, PageBuffer::footprint(entries(piece) * entry_bytes()) + page);
    }
    std::ranges::sort(incoming, {}, [](const FrontPiece& piece) {
      return std::pair(piece.child, piece.first);
    });
    Bytes left = 0;
    for (std::int32_t side = 0; side < whole_.sides(); ++side)
      left += ends(incoming, side);
    return whole_.sides() * SharedFrontRules::kPieces * largest + left;
  }

  // Pages of the children's buffers in which pieces begin or end, but not with the page.
  [[nodiscard]] Bytes ends(std::span<const FrontPiece> pieces, std::int32_t side) const {
    const Bytes page = PageBuffer::footprint(1);
    std::int64_t count = 0, next = 0;
    std::int32_t child = -1;
    for (const FrontPiece& piece : pieces) {
      if (std::exchange(child, piece.child) != piece.child) next = 0;
      const Trapezoid layout = whole_.contribution(symbolic_, children_[piece.child]);
      const std::int64_t before = side * layout.entries();
      const Bytes begin = (before + layout.entries_before(piece.first)) * entry_bytes();
      const Bytes end = (before + layout.entries_before(piece.last)) * entry_bytes();
      for (const Bytes at : {begin, end}) {
        if (at % page == 0 || at / page < next) continue;
        ++count;
        next = at / page + 1;
      }
    }
    return count * page;
  }
  [[nodiscard]] Bytes panel_window() const {
    const Bytes page = PageBuffer::footprint(1), sides = whole_.sides();
    Bytes largest = 0;
    std::int64_t count = 0;
    for (std::int32_t k = 0; !own_.empty() && k < panel_.blocks(); ++k) {
      if (distribution_.owner_of(node_, k) == process_ || k > own_.back()) continue;
      const auto [begin, end] = place(k, 0);
      largest = std::max(largest, PageBuffer::footprint(end - begin) + page);
      ++count;
    }
    return sides *
           (std::min<Bytes>(count, SharedFrontRules::kPanels) * largest + count * page);
  }

  // Own block number i begins when all blocks up to own block number i - window are
  // finished; the elimination begins when all are.
  [[nodiscard]] AssemblyTree::Profile profile(const AssemblyTree& part) const {
    AssemblyTree::Profile profile;
    const Bytes pieces = piece_window();
    const auto count = static_cast<std::int32_t>(own_.size());
    std::vector<std::int32_t> finished;  // blocks that are, at each entry
    for (std::int32_t i = 0; i < std::max(count, 1); ++i) {
      const std::int32_t last = count > 0 ? own_[i] + 1 : 0;
      profile.own.push_back(checked_add(
          pieces, own_bytes(0, std::min(last, panel_.blocks())) +
                      own_bytes(panel_.blocks(), std::max(last, panel_.blocks()))));
      finished.push_back(i >= whole_.window ? own_[i - whole_.window] + 1 : 0);
    }
    profile.own.push_back(checked_add(
        panel_window(),
        own_bytes(0, panel_.blocks()) + own_bytes(panel_.blocks(), blocks())));
    finished.push_back(blocks());
    std::vector<std::int32_t> positions;
    for (const std::int32_t c : children_) {
      const std::int32_t child = whole_.node_of_front[c];
      if (!distribution_.takes_part(child, process_)) continue;
      positions.resize(symbolic_.rows_of(c).size());
      relative_indices(symbolic_, c, front_, positions);
      const HeldColumns held =
          held_columns(symbolic_, whole_, distribution_, c, process_);
      auto& bytes = profile.children.emplace_back();
      bytes.first = child;
      for (const std::int32_t done : finished) {
        const std::int32_t column = rows_before(positions, starts_[done]);
        bytes.second.push_back(
            std::min(child_bytes(c, held, column), part.nodes[child].contribution_bytes));
      }
    }
    return profile;
  }

  // The runtime's own structures: tasks that are submitted at once, and messages.
  [[nodiscard]] Bytes runtime_bytes() const {
    constexpr Bytes kTask = AssemblyOptions{}.bytes_per_task;
    constexpr Bytes kBlock = AssemblyOptions{}.bytes_per_block;
    const TileShape shape = tile_shape(symbolic_, whole_, front_, true);
    Bytes tasks = 2;  // the first, and the one that opens it when it is known what comes
    for (const std::int32_t b : own_) tasks += shape.groups() - shape.group_of(b);
    Bytes sent = 0;
    for (const FrontPiece& piece : pieces_)
      sent += piece.from == process_ || piece.to == process_;
    const Bytes messages = distribution_.group[node_].count * SharedFrontRules::kPanels +
                           std::min<Bytes>(sent, 8 * distribution_.group[node_].count);
    return PageBuffer::footprint(tasks * kTask + messages * kBlock);
  }

  [[nodiscard]] double work_part() const {
    const auto cost = [&](std::int32_t b) {
      const double rows = panel_.rows() - starts_[b];
      const double columns = starts_[b + 1] - starts_[b];
      return rows * columns * (1.0 + std::min(starts_[b], panel_.columns()));
    };
    double own = 0, all = 0;
    for (std::int32_t b = 0; b < blocks(); ++b) {
      all += cost(b);
      if (distribution_.owner_of(node_, b) == process_) own += cost(b);
    }
    return all > 0 ? own / all : 0;
  }

  const Symbolic& symbolic_;
  const AssemblyTree& whole_;
  const FrontDistribution& distribution_;
  std::int32_t node_, front_, process_;
  Trapezoid panel_, contribution_;
  std::vector<std::int32_t> starts_;
  std::vector<FrontPiece> pieces_;
  std::vector<std::int32_t> own_;       // blocks
  std::vector<std::int32_t> children_;  // fronts
};

}  // namespace

AssemblyTree part_of(const Symbolic& symbolic, const AssemblyTree& whole,
                     const FrontDistribution& distribution, std::int32_t process,
                     Traffic* received) {
  AssemblyTree part = whole;
  for (std::size_t i = 0; i < whole.nodes.size(); ++i) {
    const auto node = static_cast<std::int32_t>(i);
    if (distribution.shared(node) && distribution.takes_part(node, process)) {
      const SharedPart here(symbolic, whole, distribution, node, process);
      here.describe(part);
      if (received != nullptr) here.add_traffic(*received);
    } else if (!distribution.takes_part(node, process)) {
      AssemblyTree::Node& absent = part.nodes[i];
      absent = {.first_front = absent.first_front,
                .last_front = absent.last_front,
                .shared = distribution.shared(node),
                .part = 0};
      part.profile[i] = {};
    }
  }
  describe_tasks(symbolic, part);
  return part;
}

}  // namespace espalier::solver
