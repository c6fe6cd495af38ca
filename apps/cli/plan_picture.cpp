#include "cli/plan_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>

#include "espalier/io/text_file.h"

namespace espalier::cli {
namespace {

// Colours that people tell apart whatever they see, and a shape each for those in grey.
struct Look {
  const char* colour;
  const char* shape;  // around (0, 0), about 8 wide
};
constexpr std::array<Look, 8> kLooks = {
    {{"#777777", "M-4-4H4V4H-4Z"},
     {"#56b4e9", "M0-5 5 4H-5Z"},
     {"#0072b2", "M0 5 5-4H-5Z"},
     {"#009e73", "M0-5.5 5.5 0 0 5.5-5.5 0Z"},
     {"#e69f00", "M-4-2H-2V-4H2V-2H4V2H2V4H-2V2H-4Z"},
     {"#d55e00", "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0Z"},
     {"#000000", "M-5-1.5H5V1.5H-5Z"},
     {"#cc79a7", "M-1.5-5H1.5V5H-1.5Z"}}};
constexpr double kPanelWidth = 300, kPanelHeight = 240;
constexpr double kLeft = 62, kTop = 74, kGapX = 26, kGapY = 58, kBottom = 48, kRight = 18;

// A logarithmic axis of a panel: `low` is at pixel 0, `high` at `length`.
struct Axis {
  double low = 1, high = 2, length = 1;
  [[nodiscard]] double at(double value) const {
    return length * std::log(value / low) / std::log(high / low);
  }
};

struct Frame {
  Axis x, y;
  double left = 0, top = 0;
  [[nodiscard]] double px(double value) const { return left + x.at(value); }
  [[nodiscard]] double py(double value) const { return top + y.length - y.at(value); }
};

bool shown(const ComparedBound& bound, const ComparedRun& compared) {
  return compared.run && compared.run->peak <= bound.bytes && bound.bytes > 0;
}

double over(Bytes bytes, Bytes least) {
  return static_cast<double>(bytes) / static_cast<double>(std::max<Bytes>(least, 1));
}

// One scale for all panels, so that they can be compared.
Frame scales(const std::vector<ComparedWorkers>& parts, Bytes least) {
  double widest = 1.1, highest = 1.2;
  for (const ComparedWorkers& part : parts) {
    for (const ComparedBound& bound : part.bounds) {
      for (const ComparedRun& compared : bound.runs) {
        if (!shown(bound, compared)) continue;
        widest = std::max(widest, over(bound.bytes, least));
        highest = std::max(highest, compared.ratio);
      }
    }
  }
  // A little room on all sides: points on the frame would be cut.
  const double by_side = std::pow(widest, 0.04), above = std::pow(highest, 0.04);
  return {{1 / by_side, widest * by_side, kPanelWidth},
          {1 / above, highest * above, kPanelHeight},
          0,
          0};
}

// Those of increasing `values` that are on the axis and at least `apart` pixels apart.
std::vector<double> spaced(const Axis& axis, const std::vector<double>& values,
                           double apart) {
  std::vector<double> result;
  for (const double value : values) {
    if (value < axis.low || value > axis.high) continue;
    if (result.empty() || axis.at(value) - axis.at(result.back()) >= apart) {
      result.push_back(value);
    }
  }
  return result;
}

std::vector<double> ratio_ticks(const Axis& axis) {
  static constexpr std::array kSteps = {1.0, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0};
  std::vector<double> all;
  for (double power = 1; power <= axis.high; power *= 10) {
    for (const double step : kSteps) all.push_back(power * step);
  }
  return spaced(axis, all, 22);
}

// The bounds that were asked for, as multiples of the least.
std::vector<double> bound_ticks(const Axis& axis, const ComparedWorkers& part,
                                Bytes least) {
  std::vector<double> all;
  for (const ComparedBound& bound : part.bounds) all.push_back(over(bound.bytes, least));
  std::ranges::sort(all);
  return spaced(axis, all, 36);
}

std::string text_at(double x, double y, std::string_view more, std::string_view text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" {}>{}</text>\n", x, y, more, text);
}

struct Labels {
  bool left = false, below = false;
};

std::string axes(const Frame& frame, const std::vector<double>& bounds, Labels labels) {
  const double right = frame.left + kPanelWidth, bottom = frame.top + kPanelHeight;
  std::string svg;
  for (const double tick : bounds) {
    const double x = frame.px(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}V{:.1f}\"/>\n", x,
                       frame.top, bottom);
    if (labels.below) {
      svg +=
          text_at(x, bottom + 16, "text-anchor=\"middle\"", fmt::format("×{:.3g}", tick));
    }
  }
  for (const double tick : ratio_ticks(frame.y)) {
    const double y = frame.py(tick);
    svg += fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>\n", frame.left,
                       y, right);
    if (labels.left) {
      svg += text_at(frame.left - 7, y + 4, "text-anchor=\"end\"",
                     fmt::format("{:g}", tick));
    }
  }
  return svg + fmt::format("<path class=\"axis\" d=\"M{:.1f} {:.1f}V{:.1f}H{:.1f}\"/>\n",
                           frame.left, frame.top, bottom, right);
}

std::string curve(const Frame& frame, const ComparedWorkers& part, std::size_t strategy,
                  Bytes least) {
  std::vector<std::pair<double, double>> points;
  for (const ComparedBound& bound : part.bounds) {
    const ComparedRun& compared = bound.runs[strategy];
    if (!shown(bound, compared)) continue;
    points.emplace_back(frame.px(over(bound.bytes, least)), frame.py(compared.ratio));
  }
  std::ranges::sort(points);
  const Look& look = kLooks[strategy % kLooks.size()];
  std::string line, marks;
  for (const auto& [x, y] : points) {
    line += fmt::format("{}{:.1f} {:.1f}", line.empty() ? "M" : "L", x, y);
    marks += fmt::format(
        "<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" fill=\"{}\"/>\n", x, y,
        look.shape, look.colour);
  }
  if (points.empty()) return "";
  return fmt::format("<path class=\"curve\" d=\"{}\" stroke=\"{}\"/>\n", line,
                     look.colour) +
         marks;
}

std::string legend() {
  std::string svg;
  double x = kLeft, y = 22;
  for (std::size_t s = 0; s < kStrategies.size(); ++s) {
    const Look& look = kLooks[s % kLooks.size()];
    svg += fmt::format(
        "<path transform=\"translate({:.1f} {:.1f})\" d=\"{}\" fill=\"{}\"/>\n", x + 6, y,
        look.shape, look.colour);
    svg += text_at(x + 17, y + 4, "", name(kStrategies[s]));
    x += 34 + 6.6 * static_cast<double>(name(kStrategies[s]).size());
    if (s % 4 == 3) {
      x = kLeft;
      y += 18;
    }
  }
  return svg;
}

std::string panel(Frame frame, const ComparedWorkers& part, Bytes least) {
  std::string svg =
      text_at(frame.left, frame.top - 8, "class=\"title\"",
              fmt::format("{} worker{}, {}", part.workers, part.workers == 1 ? "" : "s",
                          part.moldable ? "moldable tasks" : "one worker a task"));
  // The last one, without a bound, lies below the others.
  svg += curve(frame, part, kStrategies.size() - 1, least);
  for (std::size_t s = 0; s + 1 < kStrategies.size(); ++s) {
    svg += curve(frame, part, s, least);
  }
  return svg;
}

}  // namespace

std::string draw(const Comparison& comparison) {
  const std::vector<ComparedWorkers>& parts = comparison.parts;
  const Bytes least = comparison.least_bytes;
  const auto sequential = static_cast<std::size_t>(
      std::ranges::count(parts, false, &ComparedWorkers::moldable));
  const std::size_t columns = std::max<std::size_t>(2, sequential);  // room for a legend
  const bool second_row = parts.size() > sequential;
  const auto across = static_cast<double>(columns);
  const double width = kLeft + across * kPanelWidth + (across - 1) * kGapX + kRight;
  const double height =
      kTop + kPanelHeight * (second_row ? 2 : 1) + (second_row ? kGapY : 0) + kBottom;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<style>.grid{{stroke:#ddd;fill:none}}"
      ".axis{{stroke:#333;fill:none}}.curve{{stroke-width:1.6;fill:none}}"
      ".title{{font-weight:bold}}</style>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, height);
  svg += legend();
  Frame frame = scales(parts, least);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool lower = i >= sequential;
    const std::size_t column = lower ? i - sequential : i;
    frame.left = kLeft + static_cast<double>(column) * (kPanelWidth + kGapX);
    frame.top = kTop + (lower ? kPanelHeight + kGapY : 0);
    svg += axes(frame, bound_ticks(frame.x, parts[i], least),
                {column == 0, lower || !second_row});
    svg += panel(frame, parts[i], least);
  }
  svg += text_at(kLeft, height - 12, "", "memory bound over the least that suffices");
  svg += fmt::format(
      "<text transform=\"translate(16 {:.1f}) rotate(-90)\" text-anchor=\"middle\">"
      "makespan over lower bound</text>\n</svg>\n",
      kTop + kPanelHeight / 2);
  return svg;
}

void write_picture(const std::string& path, const Comparison& comparison) {
  write_file(path, [&](std::ostream& file) { file << draw(comparison); });
}

}  // namespace espalier::cli
