// Layout of buffers -> the data of its page.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <numeric>

#include "espalier/model/error.h"
#include "espalier/report/layout_page.h"
#include "espalier/report/page.h"

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostBoxes = 4000, kLargest = 1000, kAliveRows = 20;
constexpr std::size_t kGridColumns = 800, kLines = 400;  // of the grid
constexpr std::string_view kLevels = "0123456789abcdefghijklmnopqrstuvwxyz";

// The window that is drawn.
struct LayoutWindow {
  double from = 0, to = 1, top = 1;
};

LayoutWindow window_of(const LayoutPage& page) {
  LayoutWindow window;
  const auto buffers = page.buffers->buffers();
  if (buffers.empty()) return window;
  window.from = static_cast<double>(std::ranges::min(buffers, {}, &Buffer::lower).lower);
  window.to = static_cast<double>(std::ranges::max(buffers, {}, &Buffer::upper).upper);
  window.top = std::max(1.0, static_cast<double>(page.layout->capacity_bytes));
  return window;
}

std::string name_of(const LayoutPage& page, std::size_t buffer) {
  if (page.ids == nullptr) return std::to_string(buffer);
  return std::string(page.ids->name(buffer));
}

Json box_of(const LayoutPage& page, std::size_t i) {
  const Buffer& buffer = (*page.buffers)[buffer_id(i)];
  return {name_of(page, i), buffer.lower, buffer.upper, page.layout->offsets[i],
          buffer.size};
}

// Numbers of the buffers of largest area, largest first.
std::vector<std::size_t> largest(const BufferSet& buffers, std::size_t most) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto area = [&](std::size_t i) {
    const Buffer& buffer = buffers[buffer_id(i)];
    return static_cast<double>(buffer.size) *
           (static_cast<double>(buffer.upper) - static_cast<double>(buffer.lower));
  };
  const std::size_t shown = std::min(most, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown),
                    order.end(), [&](std::size_t a, std::size_t b) {
                      return std::pair(-area(a), a) < std::pair(-area(b), b);
                    });
  order.resize(shown);
  return order;
}

// How much of each of `cells` cells of length 1 lies in [low, high), as changes from one
// cell to the next, of which there are at most four.
struct Changes {
  std::array<std::pair<std::size_t, double>, 4> list;
  std::size_t count = 0;
  void add(std::size_t cell, double change) {
    if (change != 0) list[count++] = {cell, change};
  }
};

Changes changes_of(double low, double high, std::size_t cells) {
  Changes changes;
  const double limit = static_cast<double>(cells);
  low = std::clamp(low, 0.0, limit);
  high = std::clamp(high, low, limit);
  const auto first = std::min(static_cast<std::size_t>(low), cells - 1);
  const auto last = std::min(static_cast<std::size_t>(high), cells - 1);
  if (first == last) {
    changes.add(first, high - low);
    changes.add(first + 1, low - high);
    return changes;
  }
  const double begun = static_cast<double>(first) + 1 - low;
  const double ended = high - static_cast<double>(last);
  changes.add(first, begun);
  changes.add(first + 1, 1 - begun);
  changes.add(last, ended - 1);
  changes.add(last + 1, -ended);
  return changes;
}

// How full the cells are, a line of levels from 0 to z each, the lowest addresses first.
Json grid_of(const LayoutPage& page, const LayoutWindow& window) {
  constexpr std::size_t kWide = kGridColumns + 1;
  std::vector<double> full(kWide * (kLines + 1), 0);
  const double per_time = kGridColumns / (window.to - window.from);
  const double per_byte = kLines / window.top;
  for (std::size_t i = 0; i < page.buffers->size(); ++i) {
    const Buffer& buffer = (*page.buffers)[buffer_id(i)];
    const auto offset = static_cast<double>(page.layout->offsets[i]);
    const Changes across = changes_of(
        (static_cast<double>(buffer.lower) - window.from) * per_time,
        (static_cast<double>(buffer.upper) - window.from) * per_time, kGridColumns);
    const Changes up =
        changes_of(offset * per_byte,
                   (offset + static_cast<double>(buffer.size)) * per_byte, kLines);
    for (std::size_t y = 0; y < up.count; ++y)
      for (std::size_t x = 0; x < across.count; ++x)
        full[up.list[y].first * kWide + across.list[x].first] +=
            up.list[y].second * across.list[x].second;
  }
  Json lines = Json::array();
  std::vector<double> column(kWide, 0);
  for (std::size_t y = 0; y < kLines; ++y) {
    std::string text;
    double share = 0;
    for (std::size_t x = 0; x < kGridColumns; ++x) {
      share += column[x] += full[y * kWide + x];
      const double level = std::ceil(share * 35 - 1e-6);  // empty: nothing at all
      text += kLevels[static_cast<std::size_t>(std::clamp(level, 0.0, 35.0))];
    }
    lines.push_back(std::move(text));
  }
  return lines;
}

// A time at which most is alive, and the largest buffers then.
Json peak_of(const LayoutPage& page) {
  std::vector<std::pair<std::int64_t, Bytes>> changes;
  for (const Buffer& buffer : page.buffers->buffers()) {
    changes.emplace_back(buffer.lower, buffer.size);
    changes.emplace_back(buffer.upper, -buffer.size);
  }
  if (changes.empty()) return nullptr;
  std::ranges::sort(changes);
  Bytes live = 0, most = -1;
  std::int64_t time = 0;
  for (const auto& [at, change] : changes) {
    live += change;
    if (live > most) {
      most = live;
      time = at;
    }
  }
  std::vector<std::size_t> alive;
  for (std::size_t i = 0; i < page.buffers->size(); ++i) {
    const Buffer& buffer = (*page.buffers)[buffer_id(i)];
    if (buffer.lower <= time && time < buffer.upper && buffer.size > 0)
      alive.push_back(i);
  }
  std::ranges::sort(alive, [&](std::size_t a, std::size_t b) {
    const Bytes x = (*page.buffers)[buffer_id(a)].size;
    const Bytes y = (*page.buffers)[buffer_id(b)].size;
    return x != y ? x > y : a < b;
  });
  Json rows = Json::array();
  for (std::size_t k = 0; k < std::min(kAliveRows, alive.size()); ++k)
    rows.push_back(box_of(page, alive[k]));
  return {{"time", time}, {"bytes", most}, {"alive", alive.size()}, {"largest", rows}};
}

}  // namespace

std::string data_of(const LayoutPage& page) {
  const BufferSet& buffers = *page.buffers;
  const Layout& layout = *page.layout;
  if (layout.offsets.size() != buffers.size())
    throw InvalidInput("a page needs an offset for each buffer");
  const LayoutWindow window = window_of(page);
  Json json = {{"kind", "layout"}, {"title", page.title}, {"facts", page.facts}};
  json["figures"] = {{"buffers", buffers.size()},
                     {"total_bytes", buffers.total_bytes()},
                     {"load_bytes", layout.load_bytes},
                     {"capacity_bytes", layout.capacity_bytes},
                     {"lower_bound_bytes", layout.lower_bound_bytes},
                     {"proved", layout.proved()}};
  json["window"] = {window.from, window.to, window.top};
  const bool all = buffers.size() <= kMostBoxes;
  json["grid"] = all ? Json(nullptr) : grid_of(page, window);
  Json boxes = Json::array();
  for (const std::size_t i : largest(buffers, all ? kMostBoxes : kLargest))
    boxes.push_back(box_of(page, i));
  json["boxes"] = std::move(boxes);
  json["peak"] = peak_of(page);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_page(const std::string& path, const LayoutPage& page) {
  write_html(path, data_of(page));
}

}  // namespace espalier::report
