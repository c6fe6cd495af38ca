#include "espalier/distributed/least_loaded.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier {
namespace {

constexpr Bytes kTaken = std::numeric_limits<Bytes>::max();

}  // namespace

LeastLoaded::LeastLoaded(std::int32_t processes) {
  while (leaves_ < static_cast<std::size_t>(processes)) leaves_ *= 2;
  load_.assign(2 * leaves_, kTaken);
  least_.resize(2 * leaves_);
  for (std::size_t node = 2 * leaves_; node-- > 1;) {
    if (node >= leaves_) {
      if (node < leaves_ + static_cast<std::size_t>(processes)) load_[node] = 0;
      least_[node] = node;
    } else {
      least_[node] = lesser(least_[2 * node], least_[2 * node + 1]);
    }
  }
}

std::size_t LeastLoaded::lesser(std::size_t a, std::size_t b) const {
  if (load_[a] != load_[b]) return load_[a] < load_[b] ? a : b;
  return std::min(a, b);
}

void LeastLoaded::update(std::size_t leaf) {
  for (std::size_t node = leaf / 2; node >= 1; node /= 2) {
    least_[node] = lesser(least_[2 * node], least_[2 * node + 1]);
  }
}

void LeastLoaded::set(std::int32_t process, Bytes load) {
  load_[leaf(process)] = load;
  update(leaf(process));
}

std::size_t LeastLoaded::least_leaf(const WorkerRange& range) const {
  std::size_t low = leaf(range.first), high = leaf(range.first + range.count - 1);
  std::size_t best = lesser(low, high);
  while (low / 2 != high / 2) {
    if (low % 2 == 0) best = lesser(best, least_[low + 1]);
    if (high % 2 == 1) best = lesser(best, least_[high - 1]);
    low /= 2;
    high /= 2;
  }
  return best;
}

void LeastLoaded::least(const WorkerRange& range, std::int32_t count,
                        std::vector<std::int32_t>& processes) {
  std::vector<std::pair<std::size_t, Bytes>> taken;
  for (std::int32_t k = 0; k < std::min(count, range.count); ++k) {
    const std::size_t found = least_leaf(range);
    taken.emplace_back(found, std::exchange(load_[found], kTaken));
    update(found);
    processes.push_back(static_cast<std::int32_t>(found - leaves_));
  }
  for (const auto& [leaf, load] : taken) {
    load_[leaf] = load;
    update(leaf);
  }
}

}  // namespace espalier
