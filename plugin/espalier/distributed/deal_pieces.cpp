#include "espalier/distributed/deal_pieces.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "espalier/model/error.h"

namespace espalier {

PieceDealer::PieceDealer(const TaskTree& tree, std::span<const std::int32_t> counts,
                         std::int32_t processes, Bytes level)
    : tree_(tree),
      counts_(counts),
      level_(level),
      loads_(processes),
      peak_(static_cast<std::size_t>(processes), 0),
      first_owner_(tree.size(), 0),
      owners_(tree.size(), 0),
      held_(static_cast<std::size_t>(processes), 0),
      given_(static_cast<std::size_t>(processes), 0) {}

std::span<const Owner> PieceDealer::owners(TaskId task) const {
  return std::span(owner_).subspan(first_owner_[index(task)],
                                   static_cast<std::size_t>(owners_[index(task)]));
}

void PieceDealer::run_local(TaskId task, std::int32_t process) {
  first_owner_[index(task)] = owner_.size();
  owners_[index(task)] = 1;
  owner_.push_back({process, counts_[index(task)]});
  const Bytes load = loads_[process], input = tree_.input_size(task);
  const Bytes rise = tree_.memory_requirement(task) - input;
  Bytes& peak = peak_[static_cast<std::size_t>(process)];
  peak = std::max(peak, checked_add(load, rise));
  loads_.set(process, load + rise - tree_.execution_size(task) - input);
}

void PieceDealer::run_shared(TaskId task, const WorkerRange& group) {
  const std::int32_t count = pieces(counts_[index(task)], group.count);
  gather_input(task);
  list_candidates(group, count);
  deal(cut_task(tree_, task, count, 2));
  run_parts(task, count);
}

// held_ and holders_: where the children's outputs are.
void PieceDealer::gather_input(TaskId task) {
  holders_.clear();
  for_each_input(
      tree_, task, [this](TaskId child) { return owners(child); },
      [this](std::int32_t process, Bytes bytes) {
        Bytes& held = held_[static_cast<std::size_t>(process)];
        if (held == 0) holders_.push_back(process);
        held += bytes;
      });
}

void PieceDealer::list_candidates(const WorkerRange& group, std::int32_t pieces) {
  candidates_.clear();
  if (pieces >= group.count) {
    candidates_.resize(static_cast<std::size_t>(group.count));
    std::iota(candidates_.begin(), candidates_.end(), group.first);
    return;
  }
  candidates_ = holders_;
  loads_.least(group, pieces, candidates_);
  std::ranges::sort(candidates_);
  const auto twice = std::ranges::unique(candidates_);
  candidates_.erase(twice.begin(), twice.end());
}

// The largest goes first in the queue.
bool PieceDealer::Offer::operator<(const Offer& other) const {
  if (above != other.above) return above;
  if (!above && pieces != other.pieces) return pieces > other.pieces;
  return need != other.need ? need > other.need : process > other.process;
}

// What TaskCut::part() says, but for rounding, and faster.
PieceDealer::Offer PieceDealer::offer(const TaskCut& cut, std::int32_t process,
                                      std::int32_t pieces) const {
  const double part = static_cast<double>(pieces + 1) / cut.pieces;
  const auto held = static_cast<double>(held_[static_cast<std::size_t>(process)]);
  const auto execution = static_cast<double>(cut.execution);
  double own = part * static_cast<double>(cut.output + cut.retained) +
               static_cast<double>(cut.buffer);
  if (cut.execution >= 0) {
    own += part * execution;
  } else {
    own += std::min(part, held / static_cast<double>(cut.input)) * execution;
  }
  const double need = static_cast<double>(loads_[process]) + own;
  return {need, process, pieces, need > static_cast<double>(level_)};
}

// given_: pieces of each candidate.
void PieceDealer::deal(const TaskCut& cut) {
  if (cut.pieces == 1 && stays(cut)) return;
  std::vector<Offer> offers;
  for (const std::int32_t process : candidates_) {
    offers.push_back(offer(cut, process, 0));
  }
  std::priority_queue<Offer> queue({}, std::move(offers));
  // Several at a time as long as many are left: half of an equal share of the rest.
  const auto twice = 2 * static_cast<std::int32_t>(candidates_.size());
  for (std::int32_t left = cut.pieces; left > 0;) {
    const std::int32_t given = std::max(1, left / twice);
    const std::int32_t process = queue.top().process;
    const std::int32_t pieces = queue.top().pieces + given;
    queue.pop();
    given_[static_cast<std::size_t>(process)] = pieces;
    left -= given;
    if (left > 0) queue.push(offer(cut, process, pieces));
  }
}

bool PieceDealer::stays(const TaskCut& cut) {
  const auto held = [this](std::int32_t process) {
    return held_[static_cast<std::size_t>(process)];
  };
  const auto most = std::ranges::max_element(
      holders_, [&](std::int32_t a, std::int32_t b) { return held(a) < held(b); });
  if (most == holders_.end() || offer(cut, *most, 0).above) return false;
  given_[static_cast<std::size_t>(*most)] = 1;
  return true;
}

void PieceDealer::run_parts(TaskId task, std::int32_t pieces) {
  takes_part_ = holders_;
  for (const std::int32_t process : candidates_) {
    const auto p = static_cast<std::size_t>(process);
    if (given_[p] > 0 && held_[p] == 0) takes_part_.push_back(process);
  }
  std::ranges::sort(takes_part_);
  const TaskCut cut =
      cut_task(tree_, task, pieces, static_cast<std::int32_t>(takes_part_.size()));
  first_owner_[index(task)] = owner_.size();
  std::int32_t first = 0;
  for (const std::int32_t process : takes_part_) {
    const auto p = static_cast<std::size_t>(process);
    const TaskCut::Part part = cut.part(first, given_[p], held_[p]);
    const Bytes load = loads_[process], kept = part.output + part.retained;
    peak_[p] = std::max(peak_[p], checked_add(load, checked_add(kept, part.execution)));
    loads_.set(process, load + kept - held_[p]);
    if (given_[p] > 0) owner_.push_back({process, given_[p]});
    first += given_[p];
    held_[p] = 0;
    given_[p] = 0;
  }
  owners_[index(task)] =
      static_cast<std::int32_t>(owner_.size() - first_owner_[index(task)]);
}

}  // namespace espalier
