#include "solver/runtime/node_team.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/clock.h"
#include "solver/front/flush_subnormals.h"
#include "solver/front/front_tasks.h"
#include "solver/front/node_run.h"
#include "solver/front/tile_work.h"
#include "solver/memory/page_buffer.h"
#include "solver/memory/pages_on_demand.h"

namespace espalier::solver {
namespace {

// Buffers whose memory comes where a thread first uses it.
class TeamMemory {
 public:
  void add(PageBuffer& buffer) { buffers_.emplace_back(buffer); }

  void need(std::span<const std::byte> place) {
    for (PagesOnDemand& each : buffers_) each.need(place);
  }
  // By the thread that is about to add into it.
  template <class T>
  void clear(std::span<T> place) {
    need(std::as_bytes(place));
    std::ranges::fill(place, T{});
  }

 private:
  std::deque<PagesOnDemand> buffers_;
};

// A front in tiles that is being computed.
template <class T>
class OpenFront {
 public:
  OpenFront(const FrontContext<T>& context, std::int32_t front, T* panel, T* output,
            TeamMemory& memory)
      : context_(context),
        memory_(memory),
        front_(context, front, panel, output),
        shape_(shape_of(context, front_)),
        end_(context.symbolic.first_column[front] + context.symbolic.pivots(front)),
        graph_(shape_) {
    const AssemblyTree& tree = context.tree;
    for (auto c = tree.first_child[front]; c >= 0; c = tree.next_sibling[c]) {
      auto& [child, positions] = children_.emplace_back();
      child = c;
      positions.resize(context.symbolic.rows_of(c).size());
      front_.child_positions(c, positions);
    }
  }

  [[nodiscard]] std::vector<TileTask> start() {
    std::vector<TileTask> ready;
    graph_.start(ready);
    return ready;
  }

  void run(const TileTask& task) {
    const FlushSubnormals flush;
    if (context_.log.failed_before(end_)) return;
    if (task.kind == TileTask::Kind::kAssemble)
      assemble(task.source);
    else
      compute_tile(shape_, task, front_);
  }

  // @return what is ready now, and whether nothing is left to do
  [[nodiscard]] std::pair<std::vector<TileTask>, bool> end(const TileTask& task) {
    std::vector<TileTask> ready;
    const std::scoped_lock lock(mutex_);
    graph_.end(task, ready);
    return {std::move(ready), graph_.done()};
  }

 private:
  void assemble(std::int32_t slice) {
    const BlockColumn<T> column = slice_of(front_.storage(), slice, shape_.slices);
    const std::int32_t begin = column.first, end = column.first + column.width;
    if (begin == end) return;
    for (std::int32_t side = 0; side < front_.storage().sides; ++side)
      memory_.clear(column.entries(side));
    if (slice / shape_.slices < front_.panels()) front_.add_original(begin, end);
    for (const auto& [child, positions] : children_) {
      front_.add_child(child, nullptr, positions, begin, end);
      if (front_.has_delayed()) front_.add_delayed(child, positions, begin, end);
    }
  }

  const FrontContext<T>& context_;
  TeamMemory& memory_;
  Front<T> front_;
  TileShape shape_;
  std::int32_t end_;  // of its columns
  std::vector<std::pair<std::int32_t, std::vector<std::int32_t>>> children_;
  std::mutex mutex_;
  TileGraph graph_;
};

template <class T>
class NodeTeam {
 public:
  NodeTeam(const FrontContext<T>& context, const NodePieces& cut, const Interrupt& ask,
           std::atomic<Flops>& done)
      : node_context_(context),
        cut_(cut),
        beside_(PageBuffer::reserve(cut.bytes_beside(context.tree), context.meter,
                                    context.pool)),
        context_(context),
        children_left_(cut.pieces.size()),
        fronts_(cut.pieces.size()),
        stacks_(static_cast<std::size_t>(cut.threads)),
        done_(done),
        pool_(cut.threads, nullptr, &ask) {
    context_.pieces = &cut;
    context_.blocks = reinterpret_cast<T*>(beside_.data() +
                                           cut.threads * cut.stack_bytes(context.tree));
    for (std::size_t p = 0; p < cut.pieces.size(); ++p)
      children_left_[p] = cut.children[p];
  }

  void run() {
    open_storage();
    for (std::size_t p = 0; p < cut_.pieces.size(); ++p)
      if (cut_.children[p] == 0) add_piece(p);
    pool_.run();
    // What is between panels, or of fronts whose panels stand elsewhere, too.
    const PageBuffer& panels = context_.factor.storage[0];
    memory_.need({panels.data(), static_cast<std::size_t>(panels.size())});
  }
  [[nodiscard]] Seconds busy() const { return busy_; }
  [[nodiscard]] std::int64_t tasks() const { return tasks_; }

 private:
  // Whose memory comes with the pieces.
  void open_storage() {
    take_panels(context_, 0, true, PageContent::kZeros);
    PageBuffer& output = context_.contributions[0];
    output = PageBuffer::reserve(context_.tree.nodes[0].contribution_bytes,
                                 context_.meter, context_.pool);
    for (PageBuffer* const each : {&context_.factor.storage[0], &output, &beside_})
      memory_.add(*each);
  }

  [[nodiscard]] T* panels_of(std::size_t p) const {
    return context_.factor.storage[0].template as<T>() + cut_.panels[p];
  }

  // Of what is ready the earliest goes first, as one thread would take it.
  [[nodiscard]] std::int64_t size_of(std::size_t p) const { return -std::int64_t(p); }

  template <class Work>
  void add(std::size_t p, const Work& work) {
    pool_.add(size_of(p), [this, work] {
      const Clock::time_point start = Clock::now();
      work();
      busy_.fetch_add(since(start));
      tasks_.fetch_add(1);
    });
  }

  void add_piece(std::size_t p) {
    add(p, [this, p] { begin_piece(p); });
  }

  void begin_piece(std::size_t p) {
    const AssemblyTree::Node& piece = cut_.pieces[p];
    if (piece.tiled) return open(p);
    T* const block = block_of(p);
    memory_.clear(std::span(panels_of(p), panels_of(p + 1)));
    memory_.clear(std::span(block, static_cast<std::size_t>(entries_of_block(p))));
    NodeRun<T>(context_, piece, cut_.panels[p], block, stack()).run();
    end_piece(p);
  }

  [[nodiscard]] std::int64_t entries_of_block(std::size_t p) const {
    return context_.tree.contribution_entries(context_.symbolic,
                                              cut_.pieces[p].last_front);
  }
  // The last one's goes on.
  [[nodiscard]] T* block_of(std::size_t p) const {
    return p + 1 == cut_.pieces.size()
               ? context_.contributions[0].template as<T>()
               : context_.contribution_of(cut_.pieces[p].last_front);
  }

  // The calling thread's: its pages are where it first writes them.
  FrontStack<T>& stack() {
    auto& own = stacks_[static_cast<std::size_t>(TaskPool::rank())];
    if (own) return *own;
    const Bytes bytes = cut_.stack_bytes(context_.tree);
    std::byte* const place = beside_.data() + TaskPool::rank() * bytes;
    memory_.need({place, static_cast<std::size_t>(bytes)});
    return own.emplace(place, cut_.stack_entries);
  }

  void open(std::size_t p) {
    fronts_[p] = std::make_unique<OpenFront<T>>(context_, cut_.pieces[p].last_front,
                                                panels_of(p), block_of(p), memory_);
    add_tiles(p, fronts_[p]->start());
  }

  void add_tiles(std::size_t p, const std::vector<TileTask>& tasks) {
    for (const TileTask& task : tasks) add(p, [this, p, task] { run_tile(p, task); });
  }

  void run_tile(std::size_t p, const TileTask& task) {
    fronts_[p]->run(task);
    const auto [ready, done] = fronts_[p]->end(task);
    if (!done) return add_tiles(p, ready);
    fronts_[p].reset();
    end_piece(p);
  }

  void end_piece(std::size_t p) {
    done_.fetch_add(cut_.work[p]);
    const std::int32_t parent = cut_.parent[p];
    if (parent >= 0 && --children_left_[static_cast<std::size_t>(parent)] == 0)
      add_piece(static_cast<std::size_t>(parent));
  }

  const FrontContext<T>& node_context_;
  const NodePieces& cut_;
  PageBuffer beside_;  // the stacks, then the blocks
  TeamMemory memory_;
  FrontContext<T> context_;
  std::vector<std::atomic<std::int32_t>> children_left_;
  std::vector<std::unique_ptr<OpenFront<T>>> fronts_;  // of pieces in tiles, open ones
  std::vector<std::optional<FrontStack<T>>> stacks_;   // of each thread
  std::atomic<Flops>& done_;
  std::atomic<Seconds> busy_ = 0;
  std::atomic<std::int64_t> tasks_ = 0;
  TaskPool pool_;
};

}  // namespace

template <class T>
void run_in_threads(const FrontContext<T>& context, const NodePieces& cut,
                    const Interrupt& ask, std::atomic<Flops>& done,
                    FactorReport& report) {
  NodeTeam<T> team(context, cut, ask, done);
  team.run();
  report.busy_seconds = team.busy();
  report.tasks = team.tasks();
}

#define ESPALIER_INSTANTIATE(T)                                           \
  template void run_in_threads(const FrontContext<T>&, const NodePieces&, \
                               const Interrupt&, std::atomic<Flops>&, FactorReport&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
