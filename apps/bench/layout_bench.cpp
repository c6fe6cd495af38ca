// Memory layouts: capacity over the load, what is proved, and seconds, of all CSV files
// of a folder or of generated instances. The sweep alone is timed beside the search.
//
//   layout_bench [FOLDER] [--timeout SECONDS] [--largest N]

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "espalier/io/layout_csv.h"
#include "espalier/layout/layout.h"
#include "espalier/layout/pieces.h"
#include "espalier/layout/sweep_layout.h"
#include "espalier/model/clock.h"
#include "espalier/model/validate_layout.h"

namespace espalier {
namespace {

void measure(const std::string& name, const BufferSet& buffers, Seconds timeout) {
  Clock::time_point start = Clock::now();
  const Pieces pieces = pieces_of(buffers.buffers(), 1);
  const Bytes swept = capacity(pieces, sweep_layout(pieces));
  const Seconds sweep_seconds = since(start);
  start = Clock::now();
  const Layout best = layout(buffers, {.time = timeout});
  const Seconds seconds = since(start);
  const auto over = [&](Bytes bytes) {
    const auto load = static_cast<double>(std::max<Bytes>(best.load_bytes, 1));
    return 100 * static_cast<double>(bytes - best.load_bytes) / load;
  };
  fmt::print(
      "{:<28} {:>8} {:>16} {:>+9.3f} {:>8.3f} {:>+9.3f} {:>+9.3f} {:>7} {:>8.2f}{}\n",
      name, buffers.size(), best.load_bytes, over(swept), sweep_seconds,
      over(best.capacity_bytes), over(best.lower_bound_bytes),
      best.proved() ? "proved" : "open", seconds,
      validate(buffers, best).empty() ? "" : "  NOT VALID");
}

// A rectangle cut across or along whole parts: the optimum is the load. With `holes`, a
// third of the boxes away from the middle is dropped.
BufferSet cut_rectangle(std::size_t count, bool holes) {
  std::mt19937_64 random(count);
  const auto horizon = static_cast<std::int64_t>(4 * count);
  std::vector<std::pair<Buffer, std::size_t>> open = {
      {{0, horizon, Bytes{1} << 36}, count}};
  std::vector<Buffer> buffers;
  while (!open.empty()) {
    const auto [box, pieces] = open.back();
    open.pop_back();
    const bool middle = box.lower <= horizon / 2 && horizon / 2 < box.upper;
    if (pieces == 1 || box.size < 4) {
      if (!holes || middle || random() % 3 != 0) buffers.push_back(box);
      continue;
    }
    Buffer low = box, high = box;
    const auto length = static_cast<std::uint64_t>(box.upper - box.lower);
    double share = 0.2 + 0.6 * static_cast<double>(random() % 1000) / 1000;
    if (length >= 2 && random() % 2 == 0) {
      const auto cut = std::max<std::int64_t>(
          1, static_cast<std::int64_t>(share * static_cast<double>(length)));
      low.upper = high.lower = box.lower + cut;
    } else {
      low.size =
          std::max<Bytes>(1, static_cast<Bytes>(share * static_cast<double>(box.size)));
      high.size = box.size - low.size;
    }
    const auto part = std::clamp<std::size_t>(
        static_cast<std::size_t>(share * static_cast<double>(pieces)), 1, pieces - 1);
    open.push_back({low, part});
    open.push_back({high, pieces - part});
  }
  std::ranges::shuffle(buffers, random);
  return BufferSet(std::move(buffers));
}

void measure_folder(const std::string& folder, Seconds timeout) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::ranges::sort(files);
  for (const std::filesystem::path& file : files)
    measure(file.filename().string(), read_layout_csv(file.string()).buffers, timeout);
}

void measure_generated(std::size_t largest, Seconds timeout) {
  for (std::size_t count = 1000; count <= largest; count *= 10)
    for (const bool holes : {false, true})
      measure(fmt::format("{} {}", holes ? "cut, holes" : "cut", count),
              cut_rectangle(count, holes), timeout);
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  CLI::App app("Memory layouts of a folder's CSV files, or of generated instances.");
  std::string folder;
  double timeout = 10;
  std::size_t largest = 100'000;
  app.add_option("FOLDER", folder, "CSV files; default: generated instances");
  app.add_option("--timeout", timeout, "Seconds for each instance")
      ->capture_default_str();
  app.add_option("--largest", largest, "Buffers of the largest generated instance")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  fmt::print("{:<28} {:>8} {:>16} {:>9} {:>8} {:>9} {:>9} {:>7} {:>8}\n", "instance",
             "buffers", "load", "sweep %", "s", "found %", "bound %", "", "s");
  if (folder.empty())
    espalier::measure_generated(largest, timeout);
  else
    espalier::measure_folder(folder, timeout);
  return 0;
}
