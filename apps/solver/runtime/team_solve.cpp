#include "solver/runtime/team_solve.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "solver/solve/grain_sums.h"
#include "solver/solve/paced_ask.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {
namespace {

// Entries of panels, times vectors, from which on threads are started.
constexpr std::int64_t kWorthThreads = 1 << 19;

template <class T>
class TeamSolve : private TileRunner {
 public:
  TeamSolve(const FactorView<T>& view, const NodePieces& cut, bool transposed,
            const Vectors<T>& b, const Vectors<T>& x, const std::function<void()>& ask)
      : view_(view),
        cut_(cut),
        b_(b),
        x_(x),
        storage_(view, 0),
        pool_(cut.threads, nullptr, &ask),
        fronts_(view, transposed, Halves::kTogether, this),
        children_(cut.pieces.size()),
        children_left_(cut.pieces.size()),
        sums_at_(cut.pieces.size() + 1),
        local_entries_(fronts_.local_entries() * b.count),
        threads_(static_cast<std::size_t>(cut.threads)) {
    const std::int64_t count = b.count;
    for (std::size_t p = 0; p < cut.pieces.size(); ++p) {
      const auto rows = view.symbolic.rows_of(cut.pieces[p].last_front);
      sums_at_[p + 1] = sums_at_[p] + std::ssize(rows) * count;
      if (cut.parent[p] >= 0) children_[cut.parent[p]].push_back(p);
      children_left_[p] = cut.children[p];
      most_.add(view.symbolic, grains_of(p));
    }
    sums_.resize(static_cast<std::size_t>(sums_at_.back()));
  }

  void run() {
    for (std::size_t p = 0; p < cut_.pieces.size(); ++p)
      if (cut_.children[p] == 0) add_forward(p);
    pool_.run();
  }

 private:
  // A thread's vectors of a front, then of grains, then places of rows.
  struct Scratch {
    std::vector<T> vectors;
    std::vector<std::int32_t> places;
  };

  void run(std::int32_t tiles, const std::function<void(std::int32_t)>& tile) override {
    pool_.for_each_block(tiles,
                         [&](std::int64_t t) { tile(static_cast<std::int32_t>(t)); });
  }

  [[nodiscard]] std::span<const IndexRange> grains_of(std::size_t p) const {
    return view_.tree.grains_of(cut_.pieces[p]);
  }

  // The calling thread's.
  Scratch& scratch() {
    auto& own = threads_[static_cast<std::size_t>(TaskPool::rank())];
    if (!own) {
      const std::int64_t vectors = local_entries_ + most_.sums * b_.count;
      own = Scratch{std::vector<T>(static_cast<std::size_t>(vectors)),
                    std::vector<std::int32_t>(static_cast<std::size_t>(most_.places))};
    }
    return *own;
  }

  // What a piece does to rows beyond it.
  [[nodiscard]] Vectors<T> sums_of(std::size_t p) {
    return {sums_.data() + sums_at_[p],
            (sums_at_[p + 1] - sums_at_[p]) / std::max(1, b_.count), b_.count};
  }

  // Of what is ready the earliest goes first, as one thread would take it; on the way
  // back the latest, of which the others wait.
  void add_forward(std::size_t p) {
    pool_.add(-static_cast<std::int64_t>(p), [this, p] { forward(p); });
  }
  void add_backward(std::size_t p) {
    pool_.add(static_cast<std::int64_t>(p), [this, p] { backward(p); });
  }

  void forward(std::size_t p) {
    Scratch& own = scratch();
    const std::function<void()> ask = [this] { pool_.ask(); };
    PacedAsk paced(ask);
    GrainSums<T> sums(view_.symbolic, b_, own.vectors.data() + local_entries_,
                      own.places.data());
    for (const std::size_t child : children_[p])
      sums.add_child(cut_.pieces[child].last_front, sums_of(child));
    const std::span<const IndexRange> grains = grains_of(p);
    for (const IndexRange& grain : grains) {
      const AncestorRows<T> ancestors = grain.end == grains.back().end
                                            ? sums.open(grain, sums_of(p))
                                            : sums.open(grain);
      for (std::int32_t s = grain.begin; s < grain.end; ++s) {
        paced.before(fronts_.panel_entries(s) * b_.count);
        fronts_.forward(s, storage_.data(), b_, ancestors, own.vectors.data());
      }
    }
    const std::int32_t parent = cut_.parent[p];
    if (parent < 0) return add_backward(p);
    if (--children_left_[parent] == 0) add_forward(static_cast<std::size_t>(parent));
  }

  void backward(std::size_t p) {
    const AssemblyTree::Node& piece = cut_.pieces[p];
    T* const local = scratch().vectors.data();
    const std::function<void()> ask = [this] { pool_.ask(); };
    PacedAsk paced(ask);
    for (std::int32_t s = piece.last_front; s >= piece.first_front; --s) {
      paced.before(fronts_.panel_entries(s) * b_.count);
      fronts_.backward(s, storage_.data(), b_, x_, local);
    }
    for (const std::size_t child : children_[p]) add_backward(child);
  }

  const FactorView<T>& view_;
  const NodePieces& cut_;
  const Vectors<T> b_, x_;
  const NodeStorage<T> storage_;
  TaskPool pool_;
  const FrontSolve<T> fronts_;
  std::vector<std::vector<std::size_t>> children_;  // of each piece, ascending
  std::vector<std::atomic<std::int32_t>> children_left_;
  std::vector<std::int64_t> sums_at_;  // of each piece, in entries
  std::vector<T> sums_;
  GrainSizes<T> most_;
  std::int64_t local_entries_;
  std::vector<std::optional<Scratch>> threads_;
};

}  // namespace

bool worth_a_team(const NodePieces& cut, std::int32_t count) {
  return cut.pieces.size() > 1 && cut.panels.back() >= kWorthThreads / std::max(1, count);
}

template <class T>
void solve_in_threads(const FactorView<T>& view, const NodePieces& cut, bool transposed,
                      const Vectors<T>& b, const Vectors<T>& x,
                      const std::function<void()>& ask) {
  TeamSolve<T>(view, cut, transposed, b, x, ask).run();
}

#define ESPALIER_INSTANTIATE(T)                                                 \
  template void solve_in_threads(const FactorView<T>&, const NodePieces&, bool, \
                                 const Vectors<T>&, const Vectors<T>&,          \
                                 const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
