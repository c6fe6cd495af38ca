#include "training/step/conflicts.h"

#include <algorithm>
#include <map>

namespace espalier::training {
namespace {

// Memory in pieces that were last touched alike.
class TouchedMemory {
 public:
  // Who is to be waited for goes into `before`.
  void touch(const MemoryAccess& access, std::int32_t who,
             std::vector<std::int32_t>& before) {
    const std::uintptr_t end =
        access.begin + static_cast<std::uintptr_t>(std::max<Bytes>(0, access.bytes));
    if (end == access.begin) return;
    cut(access.begin);
    cut(end);
    const auto first = pieces_.lower_bound(access.begin);
    const auto last = pieces_.lower_bound(end);
    for (auto piece = first; piece != last; ++piece) {
      Touched& touched = piece->second.touched;
      // Readers have waited for the writer.
      if (touched.writer >= 0 && touched.writer != who &&
          (!access.writes || touched.readers.empty()))
        before.push_back(touched.writer);
      if (access.writes)
        for (const std::int32_t reader : touched.readers)
          if (reader != who) before.push_back(reader);
      if (!access.writes && (touched.readers.empty() || touched.readers.back() != who))
        touched.readers.push_back(who);
    }
    if (access.writes) {
      pieces_.erase(first, last);
      pieces_[access.begin] = {end, {who, {}}};
    } else {
      fill_gaps(access.begin, end, who);
    }
  }

 private:
  struct Touched {
    std::int32_t writer = -1;
    std::vector<std::int32_t> readers;
  };
  struct Piece {
    std::uintptr_t end = 0;
    Touched touched;
  };

  // No piece goes across `at`.
  void cut(std::uintptr_t at) {
    auto piece = pieces_.upper_bound(at);
    if (piece == pieces_.begin()) return;
    --piece;
    if (piece->first == at || piece->second.end <= at) return;
    Piece behind = piece->second;
    piece->second.end = at;
    pieces_.emplace(at, std::move(behind));
  }
  void fill_gaps(std::uintptr_t begin, std::uintptr_t end, std::int32_t reader) {
    while (begin < end) {
      const auto next = pieces_.lower_bound(begin);
      if (next != pieces_.end() && next->first == begin) {
        begin = next->second.end;
        continue;
      }
      const std::uintptr_t to = next == pieces_.end() ? end : std::min(end, next->first);
      pieces_[begin] = {to, {-1, {reader}}};
      begin = to;
    }
  }

  std::map<std::uintptr_t, Piece> pieces_;  // by begin
};

}  // namespace

std::vector<std::vector<std::int32_t>> conflicts(
    std::span<const std::vector<MemoryAccess>> order) {
  TouchedMemory memory;
  std::vector<std::vector<std::int32_t>> before(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto who = static_cast<std::int32_t>(i);
    std::vector<std::int32_t>& mine = before[i];
    // What it reads and writes is waited for as a reader and as a writer.
    for (const MemoryAccess& access : order[i])
      if (!access.writes) memory.touch(access, who, mine);
    for (const MemoryAccess& access : order[i])
      if (access.writes) memory.touch(access, who, mine);
    std::ranges::sort(mine);
    mine.erase(std::unique(mine.begin(), mine.end()), mine.end());
  }
  return before;
}

}  // namespace espalier::training
