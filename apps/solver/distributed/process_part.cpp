// The part of a shared front at one process, whose sizes follow from one another: over
// 300 lines.

#include "solver/distributed/process_part.h"

#include <algorithm>
#include <span>
#include <utility>

#include "espalier/model/error.h"
#include "solver/distributed/front_pieces.h"
#include "solver/distributed/front_tiles.h"
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
        tiles_(symbolic, whole, distribution, front_),
        pieces_(front_pieces(symbolic, whole, distribution, node)) {
    std::erase_if(pieces_,
                  [](const FrontPiece& piece) { return piece.from == piece.to; });
    for (std::int32_t b = 0; b < tiles_.blocks(); ++b)
      if (tiles_.has_any(process, b)) own_.push_back(b);
    for (auto c = whole.first_child[front_]; c >= 0; c = whole.next_sibling[c]) {
      children_.push_back(c);
      child_tiles_.emplace_back(symbolic, whole, distribution, c);
    }
  }

  void add_traffic(Traffic& received) const {
    const std::int32_t sides = whole_.sides();
    for (const FrontPiece& piece : pieces_) {
      if (piece.to != process_) continue;
      const auto [begin, end] = place(piece, 0);
      received.bytes += sides * (end - begin);
      received.messages += sides;
    }
    for (std::int32_t k = 0; k < panels(); ++k)
      for (const std::int32_t strip : tiles_.needed_strips(process_, k)) {
        const auto [begin, end] = tiles_.bytes(strip, k, 0);
        received.bytes += sides * (end - begin);
        if (distribution_.panels_at_once == 1) received.waited += sides * (end - begin);
        received.messages += sides;
      }
  }

  void describe(AssemblyTree& part) const {
    AssemblyTree::Node& node = part.nodes[node_];
    node.tiled = node.by_blocks = node.shared = true;
    node.unit = 0;
    node.factor_bytes = own_bytes(0, panels());
    node.contribution_bytes = own_bytes(panels(), tiles_.blocks());
    node.stack_entries = 0;
    node.index_entries = 0;
    for (const std::int32_t child : children_)
      node.index_entries += std::ssize(symbolic_.rows_of(child));
    node.runtime_bytes = runtime_bytes();
    node.part = work_part();
    part.profile[node_] = profile(part);
  }

 private:
  [[nodiscard]] std::int32_t panels() const { return tiles_.panels(); }
  [[nodiscard]] Bytes entry_bytes() const { return whole_.entry_bytes; }

  // Where a piece lies in the buffer of its child's contribution block.
  [[nodiscard]] std::pair<Bytes, Bytes> place(const FrontPiece& piece,
                                              std::int32_t side) const {
    const FrontTiles& child = child_tiles_[piece.child];
    const Trapezoid& layout = child.contribution();
    const std::int32_t block = child.panels() + layout.block_of(piece.first);
    const auto [begin, end] =
        tile_columns(layout, child.place(piece.strip, block), piece.first, piece.last);
    const std::int64_t before = side * layout.entries();
    return {checked_mul(before + begin, entry_bytes()),
            checked_mul(before + end, entry_bytes())};
  }

  // Of own tiles of blocks in [first, last), which are all of panel or all of
  // contribution block.
  [[nodiscard]] Bytes own_bytes(std::int32_t first, std::int32_t last) const {
    PageCount pages;
    for (std::int32_t side = 0; side < whole_.sides(); ++side)
      for (const std::int32_t b : own_)
        for (std::int32_t s = 0; b >= first && b < last && s < tiles_.strips(); ++s)
          if (tiles_.has(process_, s, b)) {
            const auto [begin, end] = tiles_.bytes(s, b, side);
            pages.add(begin, end);
          }
    return pages.bytes();
  }

  // Of a child's tiles that are held here, what is left when the columns before `column`
  // have gone: whole pages of them only.
  [[nodiscard]] Bytes child_bytes(const FrontTiles& child, std::int32_t column) const {
    const Bytes page = PageBuffer::footprint(1);
    const auto gone =
        columns_before(child.contribution(), child.contribution_strips(), column);
    PageCount pages;
    for (std::int32_t side = 0; side < whole_.sides(); ++side) {
      const std::int64_t before = side * child.contribution().entries();
      auto next = gone.begin();
      for (std::int32_t b = child.panels(); b < child.blocks(); ++b)
        for (std::int32_t s = 0; s < child.strips(); ++s) {
          if (!child.has(process_, s, b)) continue;
          const auto [begin, end] = child.bytes(s, b, side);
          while (next != gone.end() && (before + next->second) * entry_bytes() <= begin)
            ++next;
          if (next == gone.end()) {
            pages.add(begin, end);
            continue;
          }
          const Bytes first = (before + next->first) * entry_bytes(),
                      last = (before + next->second) * entry_bytes();
          pages.add(begin, std::min(end, PageBuffer::footprint(first)));
          pages.add(std::max(begin, last / page * page), end);
        }
    }
    return pages.bytes();
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
      const auto [begin, end] = place(piece, 0);
      largest = std::max(largest, PageBuffer::footprint(end - begin) + page);
    }
    std::ranges::sort(incoming, {}, [this](const FrontPiece& piece) {
      return std::pair(piece.child, place(piece, 0).first);
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
      const auto [begin, end] = place(piece, side);
      for (const Bytes at : {begin, end}) {
        if (at % page == 0 || at / page < next) continue;
        ++count;
        next = at / page + 1;
      }
    }
    return count * page;
  }

  // Tiles of panels that are here at once, and the pages at the ends of all that came.
  [[nodiscard]] Bytes panel_window() const {
    const Bytes page = PageBuffer::footprint(1), sides = whole_.sides();
    Bytes largest = 0;
    std::int64_t count = 0, panels_of_others = 0;
    for (std::int32_t k = 0; k < panels(); ++k) {
      const auto strips = tiles_.needed_strips(process_, k);
      Bytes bytes = 0;
      for (const std::int32_t strip : strips) {
        const auto [begin, end] = tiles_.bytes(strip, k, 0);
        bytes += PageBuffer::footprint(end - begin) + page;
      }
      largest = std::max(largest, bytes);
      count += std::ssize(strips);
      panels_of_others += strips.empty() ? 0 : 1;
    }
    return sides *
           (std::min<Bytes>(panels_of_others, distribution_.panels_at_once) * largest +
            count * page);
  }

  // Of tested panels whose rows several processes have: a diagonal block to be sent, one
  // to be received, and the rows of others in columns that are tried again.
  [[nodiscard]] Bytes acceptance() const {
    if (whole_.kind == FactorKind::kCholesky || tiles_.strips() == 1) return 0;
    const Trapezoid& panel = tiles_.panel();
    std::int64_t rest = 0;
    bool owns = false, helps = false;
    for (std::int32_t k = 0; k < panels(); ++k) {
      const std::vector<std::int32_t> others = tiles_.others_in(k);
      if (others.empty() || !tiles_.has_any(process_, k)) continue;
      const bool own = tiles_.owner(tiles_.strip_of(k), k) == process_;
      (own ? owns : helps) = true;
      if (!own) continue;
      std::int64_t rows = 0;
      for (const std::int32_t other : others)
        for (const std::int32_t s : tiles_.strips_in(other, k))
          rows += tiles_.place(s, k).rows();
      rest = std::max(rest, rows * panel.width(k));
    }
    const Bytes trial = PageBuffer::footprint(
        checked_mul(std::int64_t{panel.width(0)} * panel.width(0), entry_bytes()));
    return ((owns ? 1 : 0) + (helps ? 1 : 0)) * trial +
           PageBuffer::footprint(checked_mul(whole_.sides() * rest, entry_bytes()));
  }

  // Before the first own block, at the start of each, and of the elimination, which
  // begins when all blocks are finished.
  [[nodiscard]] AssemblyTree::Profile profile(const AssemblyTree& part) const {
    AssemblyTree::Profile profile{.own = {0}, .children = {}};
    const Bytes beside = acceptance(), pieces = checked_add(piece_window(), beside);
    std::vector<std::int32_t> finished = {0};  // blocks that are, at each entry
    for (std::size_t i = 0; i < own_.size(); ++i) {
      const std::int32_t last = own_[i] + 1;
      profile.own.push_back(
          checked_add(pieces, own_bytes(0, std::min(last, panels())) +
                                  own_bytes(panels(), std::max(last, panels()))));
      finished.push_back(SharedFrontRules::finished_before(
          own_, i, whole_.window, distribution_.grid_columns(node_)));
    }
    profile.own.push_back(
        checked_add(panel_window() + beside,
                    own_bytes(0, panels()) + own_bytes(panels(), tiles_.blocks())));
    finished.push_back(tiles_.blocks());
    std::vector<std::int32_t> positions;
    for (std::size_t i = 0; i < children_.size(); ++i) {
      const std::int32_t c = children_[i], child = whole_.node_of_front[c];
      if (!distribution_.takes_part(child, process_)) continue;
      positions.resize(symbolic_.rows_of(c).size());
      relative_indices(symbolic_, c, front_, positions);
      auto& bytes = profile.children.emplace_back();
      bytes.first = child;
      for (const std::int32_t done : finished) {
        const std::int32_t column = rows_before(positions, tiles_.starts()[done]);
        bytes.second.push_back(std::min(child_bytes(child_tiles_[i], column),
                                        part.nodes[child].contribution_bytes));
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
    for (const std::int32_t b : own_)
      for (std::int32_t row = shape.group_of(b); row < shape.groups(); ++row)
        tasks += tiles_.has(process_, strip_of_group(shape, row), b) ? 1 : 0;
    Bytes sent = 0;
    for (const FrontPiece& piece : pieces_)
      sent += piece.from == process_ || piece.to == process_;
    // Of panels that are accepted together two to each of the others.
    const Bytes together = tiles_.strips() > 1 ? 2 * distribution_.group[node_].count : 0;
    const Bytes messages = distribution_.group[node_].count *
                               distribution_.panels_at_once * tiles_.strips() +
                           together +
                           std::min<Bytes>(sent, 8 * distribution_.group[node_].count);
    return PageBuffer::footprint(tasks * kTask + messages * kBlock);
  }

  [[nodiscard]] std::int32_t strip_of_group(const TileShape& shape,
                                            std::int32_t row) const {
    return tiles_.strip_of(shape.first_block(row));
  }

  [[nodiscard]] double work_part() const {
    const std::vector<std::int32_t>& starts = tiles_.starts();
    const auto cost = [&](std::int32_t s, std::int32_t b) {
      const double rows = tiles_.place(s, b).rows();
      const double columns = starts[b + 1] - starts[b];
      return rows * columns * (1.0 + std::min(starts[b], tiles_.panel().columns()));
    };
    double own = 0, all = 0;
    for (std::int32_t b = 0; b < tiles_.blocks(); ++b)
      for (std::int32_t s = tiles_.strip_of(b); s < tiles_.strips(); ++s) {
        all += cost(s, b);
        if (tiles_.owner(s, b) == process_) own += cost(s, b);
      }
    return all > 0 ? own / all : 0;
  }

  const Symbolic& symbolic_;
  const AssemblyTree& whole_;
  const FrontDistribution& distribution_;
  std::int32_t node_, front_, process_;
  FrontTiles tiles_;
  std::vector<FrontPiece> pieces_;
  std::vector<std::int32_t> own_;        // block columns with tiles here
  std::vector<std::int32_t> children_;   // fronts
  std::vector<FrontTiles> child_tiles_;  // of each child
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
