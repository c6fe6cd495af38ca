#include "solver/ordering/nested_dissection.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <utility>

#include "solver/ordering/bisect.h"
#include "solver/ordering/minimum_degree.h"
#include "solver/ordering/mixed_bits.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kLeaf = 200;
constexpr std::int32_t kCoarsest = 200;
constexpr std::int32_t kCoarsenAgain = 2000;  // vertices from which on levels are shared
constexpr std::int32_t kOneTask = 1000;       // vertices up to which a piece is one task
constexpr std::int32_t kVerticesOfAThread =
    16'000;  // vertices for each of which one is useful

constexpr std::int32_t kLarge = 200'000, kTiny = 20'000;  // vertices of a whole graph
constexpr std::int32_t kFirst = 32;  // parts of a large graph that are first pieces
constexpr std::int32_t kCandidatesOfFirst = 6, kPassesOfSmall = 4, kDrawsOfTiny = 4;

// A thread for less than a task of its own would cost more than it brings.
std::int32_t useful(std::int32_t workers, std::int32_t vertices) {
  return std::min(workers, 1 + vertices / kVerticesOfAThread);
}

Partition better_of(Partition&& one, Partition&& other) {
  return is_better(other, one) ? std::move(other) : std::move(one);
}

class Dissection {
 public:
  Dissection(Graph&& graph, std::int32_t workers, std::vector<RecordedTask>* record,
             const Interrupt* interrupt)
      : graph_(std::make_shared<const Graph>(std::move(graph))),
        order_(graph_->size()),
        pool_(useful(workers, graph_->size()), record, interrupt) {}

  std::vector<std::int32_t> run() {
    Part whole;
    whole.piece.vertices.resize(graph_->size());
    std::iota(whole.piece.vertices.begin(), whole.piece.vertices.end(), 0);
    whole.piece.levels.graphs.push_back(graph_);
    add(std::move(whole));
    pool_.run();
    return std::move(order_);
  }

 private:
  // Its vertices take the places from `first` on.
  struct Part {
    Piece piece;
    std::int32_t first = 0;
    std::uint64_t seed = 0;
  };

  void add(Part&& part) {
    const auto shared = std::make_shared<Part>(std::move(part));
    pool_.add(shared->piece.size(), [this, shared] { order(std::move(*shared)); });
  }
  // Small parts down to their leaves, large ones down to their sides.
  void order(Part&& part) {
    std::vector<Part> stack;
    const bool alone = part.piece.size() <= kOneTask;
    stack.push_back(std::move(part));
    while (!stack.empty()) {
      Part top = std::move(stack.back());
      stack.pop_back();
      if (top.piece.size() <= kLeaf) {
        order_leaf(top.piece.vertices, top.first);
        continue;
      }
      for (Part& side : dissect(std::move(top))) {
        if (alone)
          stack.push_back(std::move(side));
        else if (side.piece.size() > 0)
          add(std::move(side));
      }
    }
  }
  void order_leaf(const std::vector<std::int32_t>& vertices, std::int32_t first) {
    for (const std::int32_t k : minimum_degree_order(*graph_, vertices))
      order_[first++] = vertices[k];
  }
  void coarsen_anew(Piece& piece) {
    const bool has_levels = piece.levels.graphs.size() > 1;
    if (has_levels && piece.size() > kCoarsenAgain)
      return restore_level_1(piece.levels, pool_);
    piece.levels = coarsen(std::move(piece.levels.graphs.front()), kCoarsest, pool_);
  }
  std::array<Part, 2> dissect(Part&& part) {
    coarsen_anew(part.piece);
    const Partition partition = separator(part);
    order_separator(part, partition);
    std::array<Piece, 2> pieces = split(std::move(part.piece), partition, pool_);
    std::array<Part, 2> sides;
    std::int32_t first = part.first;
    for (const int side : {0, 1}) {
      sides[side] = {std::move(pieces[side]), first,
                     mixed_bits(2 * part.seed + side + 1)};
      first += sides[side].piece.size();
    }
    return sides;
  }
  // The more is done the more a separator matters: where it is larger than those of
  // meshes in the plane, in the first pieces of a large graph and in all of a small one,
  // which takes little time.
  Partition separator(const Part& part) {
    const bool large = graph_->size() >= kLarge;
    const Effort effort{.passes = large ? 2 : kPassesOfSmall,
                        .follow = !large,
                        .if_spatial = large ? followed_of(part) : 0};
    Partition best = bisect(part.piece.levels, part.seed, pool_, effort);
    return large || !is_spatial(best) ? std::move(best)
                                      : drawn_anew(part, effort, std::move(best));
  }
  // Candidates for the first pieces of a large graph.
  [[nodiscard]] std::int32_t followed_of(const Part& part) const {
    const std::int32_t size = graph_->size();
    if (part.piece.size() < size / kFirst) return 0;
    return part.piece.size() < size / 3 ? 3 : kCandidatesOfFirst;
  }
  // Coarse levels may mislead: other ones are tried.
  Partition drawn_anew(const Part& part, const Effort& effort, Partition&& best) {
    const auto& finest = part.piece.levels.graphs.front();
    const std::int32_t draws = graph_->size() < kTiny ? kDrawsOfTiny : 2;
    for (std::int32_t k = 1; k < draws; ++k) {
      const Levels other = coarsen(finest, kCoarsest, pool_, part.seed + k);
      best =
          better_of(std::move(best), bisect(other, part.seed + 100 * k, pool_, effort));
    }
    return std::move(best);
  }
  // Behind the places of the sides.
  void order_separator(const Part& part, const Partition& partition) {
    std::int32_t next = part.first + part.piece.size();
    for (std::int32_t v = part.piece.size(); v-- > 0;)
      if (partition.side[v] == Partition::kSeparator)
        order_[--next] = part.piece.vertices[v];
  }

  std::shared_ptr<const Graph> graph_;
  std::vector<std::int32_t> order_;
  TaskPool pool_;
};

}  // namespace

std::vector<std::int32_t> nested_dissection(Graph&& graph, std::int32_t workers,
                                            std::vector<RecordedTask>* record,
                                            const Interrupt* interrupt) {
  if (graph.weight.empty()) graph.weight.assign(graph.size(), 1);
  return Dissection(std::move(graph), workers, record, interrupt).run();
}

}  // namespace espalier::solver
