#include "solver/symbolic/bundle_siblings.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "solver/symbolic/front_cost.h"

namespace espalier::solver {
namespace {

class Bundler {
 public:
  // @param work  of all, which is worth it
  Bundler(Symbolic& symbolic, const BundleOptions& options, Flops work)
      : symbolic_(symbolic),
        options_(options),
        parent_work_(one_task_limit(work, options.parent_work)),
        bundle_work_(one_task_limit(work, options.bundle_work)),
        work_(subtree_costs(symbolic, 1)),
        parent_(symbolic.parent) {}

  void run() {
    // Children by parent, in order; those of nobody are the roots.
    const std::int32_t fronts = symbolic_.fronts();
    std::vector<std::int32_t> last(static_cast<std::size_t>(fronts) + 1, -1);
    std::vector<std::int32_t> before(static_cast<std::size_t>(fronts), -1);
    for (std::int32_t s = 0; s < fronts; ++s) {
      const std::int32_t above = symbolic_.parent[s] < 0 ? fronts : symbolic_.parent[s];
      before[s] = std::exchange(last[above], s);
    }
    for (std::int32_t p = 0; p <= fronts; ++p) {
      if (p < fronts && work_[p] < parent_work_) continue;
      siblings_.clear();
      for (std::int32_t c = last[p]; c >= 0; c = before[c]) siblings_.push_back(c);
      std::ranges::reverse(siblings_);
      bundle();
    }
  }

  // Puts them into the structure: from the last front on rows move to where they belong.
  void apply() {
    if (heads_.empty()) return;
    std::ranges::sort(heads_, {}, &Head::front);
    UnsetVector<std::int32_t>& rows = symbolic_.rows;
    std::vector<std::int64_t>& start = symbolic_.row_start;
    std::int64_t end_before = std::ssize(rows), end = end_before + added_rows();
    rows.reserve(end);
    rows.resize(end);
    auto head = heads_.rbegin();
    for (std::int32_t s = symbolic_.fronts(); head != heads_.rend();) {
      start[s--] = end;
      const auto begin_before = start[s];
      if (head->front == s) {
        end =
            std::ranges::copy_backward(head->rows, rows.begin() + end).out - rows.begin();
        ++head;
      } else {
        end = std::copy_backward(rows.begin() + begin_before, rows.begin() + end_before,
                                 rows.begin() + end) -
              rows.begin();
      }
      end_before = begin_before;
    }
    symbolic_.parent = std::move(parent_);
  }

 private:
  struct Head {
    std::int32_t front;
    std::vector<std::int32_t> rows;
  };

  // Beyond those of the heads themselves.
  [[nodiscard]] std::int64_t added_rows() const {
    std::int64_t added = 0;
    for (const auto& [front, rows] : heads_)
      added += std::ssize(rows) - std::ssize(symbolic_.rows_of(front));
    return added;
  }

  void bundle() {
    std::size_t first = 0;
    std::vector<std::int32_t> rows, wider;
    Flops work = 0;
    double bytes = 0;  // of the open bundle
    for (std::size_t k = 0; k < siblings_.size(); ++k) {
      const std::int32_t c = siblings_[k];
      const auto own = symbolic_.rows_of(c);
      const auto members = static_cast<double>(k - first);
      wider.clear();
      std::ranges::set_union(rows, own, std::back_inserter(wider));
      const double alone = bytes_of(c, std::ssize(own));
      const double joined = bytes_of(c, std::ssize(wider));
      const double added = joined - bytes;
      if (k > first && work + work_[c] <= bundle_work_ && added * members <= bytes &&
          added <= alone) {
        rows.swap(wider);
        work += work_[c];
        bytes = joined;
        continue;
      }
      close(first, k, rows);
      first = k;
      rows.assign(own.begin(), own.end());
      work = work_[c];
      bytes = alone;
    }
    close(first, siblings_.size(), rows);
  }

  // Siblings [first, end) become one bundle; the last is its head.
  void close(std::size_t first, std::size_t end, const std::vector<std::int32_t>& rows) {
    if (end - first < 2) return;
    const std::int32_t head = siblings_[end - 1];
    for (std::size_t k = first; k + 1 < end; ++k) parent_[siblings_[k]] = head;
    heads_.push_back({head, rows});
  }

  // Of a bundle with this head and so many rows.
  [[nodiscard]] double bytes_of(std::int32_t head, std::int64_t rows) const {
    const auto all = static_cast<double>(rows);
    const auto zeros = static_cast<double>(symbolic_.pivots(head)) *
                       (all - static_cast<double>(symbolic_.rows_of(head).size()));
    return (all * (all + 1) / 2 + zeros) * sizeof(double) +
           static_cast<double>(options_.task_bytes);
  }

  Symbolic& symbolic_;
  const BundleOptions& options_;
  Flops parent_work_, bundle_work_;
  std::vector<Flops> work_;  // of subtrees
  std::vector<std::int32_t> parent_;
  std::vector<std::int32_t> siblings_;
  std::vector<Head> heads_;
};

}  // namespace

Symbolic bundle_siblings(Symbolic symbolic, const BundleOptions& options) {
  Flops work = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) work += front_cost(symbolic, s, 1);
  if (work < one_task_limit(work, options.parent_work)) return symbolic;
  Bundler bundler(symbolic, options, work);
  bundler.run();
  bundler.apply();
  return symbolic;
}

}  // namespace espalier::solver
