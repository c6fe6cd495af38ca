// One factorisation under StarPU, from its first task to its report: over 300 lines.

#include "solver/runtime/factorise.h"

#include <espalier.h>
#include <fmt/format.h>
#include <starpu.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "espalier/model/clock.h"
#include "solver/front/front_tasks.h"
#include "solver/front/shared_nodes.h"
#include "solver/runtime/run_recorder.h"
#include "solver/runtime/starpu_tasks.h"
#include "solver/runtime/task_group.h"
#include "solver/runtime/tiled_front.h"

namespace espalier::solver {
namespace {

/// Tells the policy of every buffer, next to what it has booked.
class JobMeter : public MemoryMeter {
 public:
  void attach(espalier_job* job) { job_ = job; }
  void record_to(RunRecorder* recorder) { recorder_ = recorder; }

 private:
  void changed(Bytes delta) noexcept override {
    if (job_ != nullptr) espalier_job_allocated(job_, -1, delta);
    if (recorder_ != nullptr) recorder_->changed(delta);
  }
  espalier_job* job_ = nullptr;
  RunRecorder* recorder_ = nullptr;
};

void check_policy(int status) {
  if (status != 0) throw Error(espalier_last_error());
}

template <class T>
class Factorisation {
 public:
  Factorisation(const FactorInput& input, const Runtime& runtime,
                const espalier_plan* plan, SharedNodes<T>* shared)
      : tree_(input.tree),
        shared_(shared),
        reserve_(input.pivoting.delay_reserve),
        scratch_(runtime.workers(), scratch_bytes(input.symbolic, tree_, tree_.kind),
                 worker_rank),
        file_(input.file),
        pool_(input.pool != nullptr
                  ? *input.pool
                  : own_pool_.emplace(input.pool_limit, input.resident)),
        factor_(input.symbolic, tree_),
        contributions_(tree_.nodes.size()),
        context_{.symbolic = input.symbolic,
                 .permuted = input.permuted,
                 .tree = tree_,
                 .pivoting = input.pivoting,
                 .factor = factor_,
                 .contributions = contributions_,
                 .log = log_,
                 .reserve = reserve_,
                 .scratch = scratch_,
                 .file = file_.get(),
                 .meter = &meter_,
                 .pool = &pool_,
                 .former = input.former,
                 .done = &done_,
                 .stop = [this] { stop(); },
                 .told = &told_,
                 .low_rank = input.low_rank},
        arguments_(tree_.nodes.size()),
        children_left_(tree_.nodes.size()),
        tiled_(tree_.nodes.size()),
        group_(runtime) {
    count_nodes();
    list_told();
    if (plan != nullptr) begin_job(plan, input.hoped_bound, runtime.context());
    if (input.record) meter_.record_to(&recorder_.emplace(runtime.workers()));
    if (shared_ != nullptr) shared_run_ = shared_->begin(context_);
  }

  void run(const std::function<void(double)>& progress) {
    try {
      for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
        const auto node = static_cast<std::int32_t>(i);
        if (!takes_part(i)) {
          if (job_ != nullptr) check_policy(espalier_node_close(job_, node));
        } else if (is_leaf(i)) {
          submit_node(node);
        }
      }
    } catch (...) {
      stop();  // the tasks that run refer to this object: wait for them
    }
    wait(progress);
    group_.wait();
    try {
      if (file_) file_->wait();
    } catch (...) {
      stop();
    }
    // After a failure nodes end when their writes do, and submit their parents.
    group_.wait();
    shared_run_.reset();
  }

  void end_job(FactorReport& report) {
    espalier_report run = ESPALIER_REPORT_INIT;
    meter_.attach(nullptr);
    check_policy(espalier_job_end(job_, &run));
    report.booked_peak = run.booked_peak;
    report.held_seconds = run.held_seconds;
    report.stolen_tasks = run.stolen_tasks;
    report.busy_seconds = run.busy_seconds;
    report.given_back = run.given_back_bytes;
    if (run.overruns > 0 && !error_)
      throw Error(fmt::format("more was allocated than booked, by up to {}",
                              format_size(run.overrun_bytes)));
  }

  void finish(FactorReport& report) {
    if (job_ != nullptr) end_job(report);
    report.allocated_peak = meter_.peak();
    report.tasks = tasks_.load();
    report.pivots = log_.statistics();
    report.low_rank = factor_.low_rank();
    meter_.record_to(nullptr);
    if (error_) std::rethrow_exception(error_);
    if (recorder_ && !log_.failed()) report.run = recorder_->record(tree_);
  }

  [[nodiscard]] tl::expected<Factor<T>, NotPositiveDefinite> result() {
    if (const auto bad = log_.failure()) return tl::make_unexpected(*bad);
    if (context_.symbolic.kept() > 0) factor_.kept = std::move(contributions_.back());
    factor_.forget_meter();
    if (own_pool_) factor_.forget_pool();
    factor_.file = file_;
    return std::move(factor_);
  }

 private:
  struct Argument {
    Factorisation* self;
    std::int32_t node;
  };

  void begin_job(const espalier_plan* plan, std::optional<Bytes> hoped,
                 unsigned context) {
    hopes_ = hoped.has_value();
    check_policy(hopes_ ? espalier_job_begin_within(&job_, plan, *hoped, context)
                        : espalier_job_begin(&job_, plan, context));
    meter_.attach(job_);
  }

  void count_nodes() {
    for (std::size_t i = 0; i < tree_.nodes.size(); ++i) {
      arguments_[i] = {this, static_cast<std::int32_t>(i)};
      if (!takes_part(i)) continue;
      ++nodes_left_;
      for (const TaskId child : tree_.tasks.children(task_id(i)))
        if (takes_part(index(child))) ++children_left_[i];
      work_ += tree_.tasks.work(task_id(i));
    }
  }

  // Entries come before tasks, which find them without a lock.
  void list_told() {
    for (const AssemblyTree::Node& node : tree_.nodes)
      for (auto c = node.shared ? tree_.first_child[node.last_front] : -1; c >= 0;
           c = tree_.next_sibling[c])
        told_.emplace(c, nullptr);
  }

  static void open_task(void* /*buffers*/[], void* argument) noexcept {
    const auto& [self, node] = *static_cast<const Argument*>(argument);
    RunRecorder* const recorder = self->recorder();
    if (recorder != nullptr) recorder->begin(node, nullptr, 0);
    self->open(node);
    if (recorder != nullptr) recorder->end();
  }

  [[nodiscard]] RunRecorder* recorder() { return recorder_ ? &*recorder_ : nullptr; }
  [[nodiscard]] bool takes_part(std::size_t node) const {
    return shared_ == nullptr || shared_->takes_part(static_cast<std::int32_t>(node));
  }
  [[nodiscard]] bool is_leaf(std::size_t node) const {
    const auto children = tree_.tasks.children(task_id(node));
    return std::none_of(children.begin(), children.end(),
                        [this](TaskId child) { return takes_part(index(child)); });
  }

  // The node's first task: all of a sequential node, or what starts a tiled one.
  void open(std::int32_t node) noexcept {
    bool tiled = false;
    pool_.use_beside(tree_.nodes[node].runtime_bytes);
    try {
      if (tree_.nodes[node].shared) {
        // Others wait for it, also when nothing is to be computed any more.
        shared_run_->open(
            node, [this, node](starpu_task* task) { submit(task, node); },
            [this, node] { end_node(node); });
        tiled = true;
      } else if (log_.failed() || stopped_.load()) {
        // Nothing is computed any more; only the tree is run down.
      } else if (!tree_.nodes[node].tiled) {
        run_sequential_node(context_, node);
      } else {
        tiled_[node] = std::make_unique<TiledFront<T>>(context_, node, recorder());
        tiled = true;
        tiled_[node]->submit([this, node](starpu_task* task) { submit(task, node); },
                             [this, node] {
                               const bool written = tiled_[node]->written();
                               tiled_[node].reset();
                               finish_node(node, written);
                             });
      }
    } catch (...) {
      stop();
    }
    if (!tiled) finish_node(node, false);
  }

  // What compression has left of a node's panels is all that they will take.
  void give_back(std::int32_t node) {
    if (job_ == nullptr || !tree_.nodes[node].low_rank) return;
    const AssemblyTree::Node& sizes = tree_.nodes[node];
    const Bytes gone =
        sizes.factor_bytes - factor_.low_rank_of(sizes.last_front)->bytes();
    if (gone > 0) check_policy(espalier_node_give_back(job_, node, gone));
  }

  // The node is computed: what does not stay in memory is written.
  void finish_node(std::int32_t node, bool written) noexcept {
    if (log_.failed() && shared_run_) shared_run_->tell_failure();
    try {
      if (!stopped_.load() && !log_.failed()) {
        give_back(node);
        spill_node<T>(context_, node, written, [this, node] { end_node(node); });
        return;
      }
    } catch (...) {
      stop();
    }
    if (log_.failed()) forget(node);
    end_node(node);
  }

  // What a node was about to leave is not whole: to its parent it has not been computed.
  // And what its children have left is not booked beyond its end.
  void forget(std::int32_t node) noexcept {
    if (!factor_.delays.empty()) factor_.delays[tree_.nodes[node].last_front].reset();
    contributions_[node].release();
    for (const TaskId child :
         tree_.tasks.children(task_id(static_cast<std::size_t>(node))))
      contributions_[index(child)].release();
  }

  void submit(starpu_task* task, std::int32_t node) {
    if (job_ != nullptr) check_policy(espalier_bind(job_, task, node));
    try {
      group_.submit(task);
    } catch (...) {
      if (job_ != nullptr) espalier_unbind(job_, task);
      throw;
    }
    ++tasks_;
  }

  void submit_node(std::int32_t node) {
    static starpu_codelet codelet = make_codelet(open_task, "front");
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &arguments_[node];
    submit(task, node);
  }

  // Called once a node: from the last of its tasks, or when it has been written.
  void end_node(std::int32_t node) noexcept {
    const TaskId task = task_id(static_cast<std::size_t>(node));
    pool_.use_beside(-tree_.nodes[node].runtime_bytes);
    try {
      if (job_ != nullptr) check_policy(espalier_node_close(job_, node));
      if (const auto parent = tree_.tasks.parent(task);
          parent && --children_left_[index(*parent)] == 0)
        submit_node(static_cast<std::int32_t>(index(*parent)));
    } catch (...) {
      stop();
    }
    if (!tree_.nodes[node].tiled) done_.fetch_add(tree_.tasks.work(task));
    const std::scoped_lock lock(mutex_);
    if (--nodes_left_ == 0) changed_.notify_all();
  }

  // Keeps the first error; the caller of factorise() gets it.
  void stop() noexcept {
    if (shared_ != nullptr) shared_->stopped();
    const std::scoped_lock lock(mutex_);
    if (!error_) error_ = std::current_exception();
    stopped_ = true;
    if (job_ != nullptr) espalier_job_cancel(job_);
    changed_.notify_all();
  }

  // Where others wait for this process, the tree is run down as after a bad pivot;
  // whoever gave the progress function knows what it threw.
  void end() noexcept {
    if (!shared_run_) return stop();
    log_.fail(PivotLog::kEnded);
    shared_run_->tell_failure();
  }

  // Asks at once, then 20 times a second, and when all is done.
  void wait(const std::function<void(double)>& progress) {
    using namespace std::chrono_literals;
    const auto ended = [this] { return nodes_left_ == 0 || error_; };
    for (bool begun = false;; begun = true) {
      ask(progress, work_ > 0 ? std::min(1.0, done_ / work_) : 1, begun && hopes_);
      std::unique_lock lock(mutex_);
      if (changed_.wait_for(lock, 50ms, ended)) break;
    }
    if (!stopped_) ask(progress, 1, false);
  }

  void ask(const std::function<void(double)>& progress, double done,
           bool may_not_fit) noexcept {
    try {
      if (may_not_fit) check_going_on();
      if (progress && !log_.failed()) progress(done);
    } catch (...) {
      end();  // the tasks that run refer to this object: they are waited for
    }
  }

  // In a hoped bound, while tasks run.
  void check_going_on() const {
    Bytes missing = 0;
    const int stands = espalier_job_missing(job_, &missing);
    check_policy(std::min(stands, 0));
    if (stands > 0)
      throw DoesNotFit(
          fmt::format("the next front misses {} in the bound", format_size(missing)));
  }

  const AssemblyTree& tree_;
  SharedNodes<T>* shared_;
  std::optional<RunRecorder> recorder_;
  JobMeter meter_;
  PivotLog log_;
  DelayReserve reserve_;
  WorkerScratch scratch_;
  std::shared_ptr<SpillFile> file_;
  std::optional<PagePool> own_pool_;
  PagePool& pool_;
  Factor<T> factor_;
  std::vector<PageBuffer> contributions_;
  std::map<std::int32_t, std::unique_ptr<FrontDelays<T>>> told_;
  FrontContext<T> context_;
  std::unique_ptr<SharedRun<T>> shared_run_;
  espalier_job* job_ = nullptr;
  bool hopes_ = false;  // that its bound suffices
  std::vector<Argument> arguments_;
  std::vector<std::atomic<std::int32_t>> children_left_;
  std::vector<std::unique_ptr<TiledFront<T>>> tiled_;
  std::atomic<std::int64_t> tasks_{0};
  std::atomic<bool> stopped_{false};
  Flops work_ = 0;
  std::atomic<Flops> done_{0};
  TaskGroup group_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::size_t nodes_left_ = 0;
  std::exception_ptr error_;
};

}  // namespace

template <class T>
tl::expected<Factor<T>, NotPositiveDefinite> factorise(
    const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
    FactorReport& report, const std::function<void(double)>& progress,
    SharedNodes<T>* shared) {
  if (runtime.espalier() != (plan != nullptr))
    throw InvalidInput("a plan goes with the scheduler espalier, and only with it");
  const auto start = Clock::now();
  Factorisation<T> factorisation(input, runtime, plan, shared);
  {
    const Awake awake(runtime);
    factorisation.run(progress);
  }
  report.seconds = since(start);
  factorisation.finish(report);
  return factorisation.result();
}

#define ESPALIER_INSTANTIATE(T)                                                \
  template tl::expected<Factor<T>, NotPositiveDefinite> factorise<T>(          \
      const FactorInput&, const Runtime&, const espalier_plan*, FactorReport&, \
      const std::function<void(double)>&, SharedNodes<T>*);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
