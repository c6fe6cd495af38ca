#include "espalier/layout/pieces.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// Gives sections to pieces: `events` are in order of time, ends before starts, each twice
// the number of the piece, plus 1 for a start.
std::int32_t number_sections(std::span<const std::uint32_t> events,
                             std::vector<Piece>& pieces) {
  std::int32_t section = -1;
  bool ended = true;  // since the last start
  for (const std::uint32_t event : events) {
    Piece& piece = pieces[event / 2];
    if (event % 2 == 1) {
      section += ended ? 1 : 0;
      ended = false;
      piece.first = section;
    } else {
      ended = true;
      piece.last = section;
    }
  }
  return section + 1;
}

}  // namespace

Pieces pieces_of(std::span<const Buffer> buffers, Bytes alignment) {
  Pieces pieces;
  pieces.list.resize(buffers.size());
  std::vector<std::pair<std::int64_t, std::uint32_t>> keyed;
  keyed.reserve(2 * buffers.size());
  AlignedTotal total(alignment);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const std::optional<Bytes> size = total.add(buffers[i].size);
    if (!size)
      throw OverflowError(
          fmt::format("buffer {}: {}", i, total.overflow_at(buffers[i].size)));
    pieces.list[i].size = *size;
    if (__builtin_sub_overflow(buffers[i].upper, buffers[i].lower,
                               &pieces.list[i].length))
      pieces.list[i].length = std::numeric_limits<std::int64_t>::max();
    keyed.emplace_back(buffers[i].lower, 2 * i + 1);
    keyed.emplace_back(buffers[i].upper, 2 * i);
  }
  std::ranges::sort(keyed, [](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    if (a.second % 2 != b.second % 2) return a.second % 2 < b.second % 2;
    return a.second < b.second;
  });
  std::vector<std::uint32_t> events(keyed.size());
  std::ranges::transform(keyed, events.begin(), &decltype(keyed)::value_type::second);
  pieces.sections = number_sections(events, pieces.list);
  return pieces;
}

Pieces select(const Pieces& pieces, std::span<const std::int32_t> part) {
  Pieces chosen;
  chosen.list.reserve(part.size());
  // Starts and ends by section, counted: starts of a section come before its ends.
  std::vector<std::int32_t> starts(static_cast<std::size_t>(pieces.sections), 0),
      ends(starts);
  for (const std::int32_t p : part) {
    const Piece& piece = pieces.list[static_cast<std::size_t>(p)];
    chosen.list.push_back(piece);
    ++starts[static_cast<std::size_t>(piece.first)];
    ++ends[static_cast<std::size_t>(piece.last)];
  }
  std::vector<std::int32_t> section_of(starts.size());
  std::int32_t section = -1;
  bool ended = true;
  for (std::size_t s = 0; s < starts.size(); ++s) {
    if (starts[s] > 0) {
      section += ended ? 1 : 0;
      ended = false;
    }
    section_of[s] = section;
    if (ends[s] > 0) ended = true;
  }
  for (Piece& piece : chosen.list) {
    piece.first = section_of[static_cast<std::size_t>(piece.first)];
    piece.last = section_of[static_cast<std::size_t>(piece.last)];
  }
  chosen.sections = section + 1;
  return chosen;
}

std::vector<Bytes> loads(const Pieces& pieces) {
  std::vector<Bytes> sum(static_cast<std::size_t>(pieces.sections) + 1, 0);
  for (const Piece& piece : pieces.list) {
    sum[static_cast<std::size_t>(piece.first)] += piece.size;
    sum[static_cast<std::size_t>(piece.last) + 1] -= piece.size;
  }
  sum.pop_back();
  Bytes live = 0;
  for (Bytes& bytes : sum) bytes = live += bytes;
  return sum;
}

Bytes load(const Pieces& pieces) {
  const std::vector<Bytes> sum = loads(pieces);
  return sum.empty() ? 0 : std::ranges::max(sum);
}

Bytes capacity(const Pieces& pieces, std::span<const Bytes> offsets) {
  Bytes highest = 0;
  for (std::size_t i = 0; i < offsets.size(); ++i)
    highest = std::max(highest, offsets[i] + pieces.list[i].size);
  return highest;
}

}  // namespace espalier
