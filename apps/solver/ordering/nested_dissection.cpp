#include "solver/ordering/nested_dissection.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "solver/ordering/bisect.h"
#include "solver/ordering/minimum_degree.h"
#include "solver/ordering/mixed_bits.h"
#include "solver/ordering/split.h"
#include "solver/ordering/vertex_blocks.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kLeaf = 200;
constexpr std::int32_t kCoarsest = 200;
constexpr std::int32_t kCoarsenAgain = 2000;  // vertices from which on levels are shared
constexpr std::int32_t kOneTask = 1000;       // vertices up to which a piece is one task
constexpr std::int32_t kVerticesOfAThread =
    4'000;  // vertices for each of which one is useful

// Parts of the graph down to which flows and layers are tried.
constexpr std::int32_t kFlow = 200, kLayered = 200, kLayeredInThePlane = 32;
constexpr std::int32_t kSharedPart = 12;  // of a piece's vertices where layers begin

// A thread for less than a task of its own would cost more than it brings.
std::int32_t useful(std::int32_t workers, std::int32_t vertices) {
  return std::min(workers, 1 + vertices / kVerticesOfAThread);
}

class Dissection {
 public:
  Dissection(Graph&& graph, std::int32_t workers, std::vector<RecordedTask>* record,
             const Interrupt* interrupt)
      : graph_(std::make_shared<Graph>(std::move(graph))),
        order_(graph_->size()),
        pool_(useful(workers, graph_->size()), record, interrupt) {}

  std::vector<std::int32_t> run() {
    pool_.add(graph_->size(), [this] { order(whole()); });
    pool_.run();
    return std::move(order_);
  }

 private:
  // Its vertices take the places from `first` on.
  struct Part {
    Piece piece;
    std::int32_t first = 0;
    std::uint64_t seed = 0;
    // Of the separator that it is a side of.
    Finder finder = Finder::kAny;
    bool spatial = true;
  };

  // All vertices, each of which weighs 1 where nothing else was said.
  Part whole() {
    Part part;
    UnsetVector<std::int32_t>& vertices = part.piece.vertices;
    vertices.resize(graph_->size());
    const bool weighs = !graph_->weight.empty();
    if (!weighs) graph_->weight.resize(vertices.size());
    const auto blocks = VertexBlocks::fine(graph_->size());
    pool_.for_each_block(blocks.count(), [&](std::int64_t k) {
      for (std::int32_t v = blocks.first(k); v < blocks.first(k + 1); ++v) {
        vertices[v] = v;
        if (!weighs) graph_->weight[v] = 1;
      }
    });
    part.piece.levels.graphs.push_back(graph_);
    return part;
  }
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
  void order_leaf(std::span<const std::int32_t> vertices, std::int32_t first) {
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
    const auto [partition, finder] =
        bisect(part.piece.levels, part.seed, pool_, effort(part));
    order_separator(part, partition);
    std::array<Piece, 2> pieces = split(std::move(part.piece), partition, pool_);
    std::array<Part, 2> sides;
    const bool spatial = is_spatial(partition);
    std::int32_t first = part.first;
    for (const int side : {0, 1}) {
      sides[side] = {std::move(pieces[side]), first, mixed_bits(2 * part.seed + side + 1),
                     finder, spatial};
      first += sides[side].piece.size();
    }
    return sides;
  }
  // The first pieces matter most. What was far from the best is left out on the sides.
  [[nodiscard]] Effort effort(const Part& part) const {
    const std::int32_t size = part.piece.size(), all = graph_->size();
    const std::int32_t layered = part.spatial ? kLayered : kLayeredInThePlane;
    return {.flow = size >= all / kFlow && part.finder != Finder::kLayers,
            .layered = size >= all / layered && part.finder != Finder::kLevels,
            .shared = std::max(kCoarsenAgain, size / kSharedPart)};
  }
  // Behind the places of the sides.
  void order_separator(const Part& part, const Partition& partition) {
    std::int32_t next = part.first + part.piece.size();
    for (std::int32_t v = part.piece.size(); v-- > 0;)
      if (partition.side[v] == Partition::kSeparator)
        order_[--next] = part.piece.vertices[v];
  }

  std::shared_ptr<Graph> graph_;
  std::vector<std::int32_t> order_;
  TaskPool pool_;
};

}  // namespace

std::vector<std::int32_t> nested_dissection(Graph&& graph, std::int32_t workers,
                                            std::vector<RecordedTask>* record,
                                            const Interrupt* interrupt) {
  return Dissection(std::move(graph), workers, record, interrupt).run();
}

}  // namespace espalier::solver
