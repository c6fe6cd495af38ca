#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "espalier/model/clock.h"
#include "espalier/model/printable.h"

namespace espalier::cli {
namespace {

// Mebibytes over a wide range: the figures of a report are held side by side.
std::string size_in_report(Bytes value) {
  constexpr Bytes kMebi = Bytes{1} << 20, kMost = Bytes{16} << 30;
  return value < kMebi || value > kMost
             ? format_size(value)
             : fmt::format("{:.1f} MiB", static_cast<double>(value) / double{kMebi});
}

}  // namespace

template <class T>
void Report::add(std::string_view key, std::string_view label, T value,
                 std::string shown) {
  json_[std::string(key)] = value;
  if (!label.empty()) rows_.push_back({std::string(label), std::move(shown)});
}

void Report::heading(std::string_view text) { rows_.push_back({std::string(text), ""}); }

void Report::text(std::string_view key, std::string_view label, std::string_view value) {
  add(key, label, std::string(value), value.empty() ? "-" : std::string(value));
}

void Report::flag(std::string_view key, std::string_view label, bool value) {
  add(key, label, value, value ? "yes" : "no");
}

void Report::count(std::string_view key, std::string_view label, std::int64_t value) {
  add(key, label, value, fmt::format("{}", value));
}

void Report::bytes(std::string_view key, std::string_view label, Bytes value) {
  add(key, label, value, size_in_report(value));
}

void Report::bytes(std::string_view key, std::string_view label,
                   std::span<const Bytes> values) {
  std::vector<std::string> shown;
  for (const Bytes value : values) shown.push_back(size_in_report(value));
  add(key, label, std::vector<Bytes>(values.begin(), values.end()),
      fmt::format("{}", fmt::join(shown, "  ")));
}

void Report::seconds(std::string_view key, std::string_view label, Seconds value) {
  add(key, label, value, fmt::format("{:.3f} s", value));
}

void Report::flops(std::string_view key, std::string_view label, Flops value) {
  add(key, label, value, fmt::format("{:.4g}", value));
}

void Report::ratio(std::string_view key, std::string_view label, double value) {
  add(key, label, value, fmt::format("{:.3f}", value));
}

void Report::gap(std::int64_t found, std::int64_t lower_bound) {
  const auto least = static_cast<double>(std::max<std::int64_t>(1, lower_bound));
  ratio("gap", found == lower_bound ? "" : "gap",
        (static_cast<double>(found) - static_cast<double>(lower_bound)) / least);
}

void Report::number(std::string_view key, std::string_view label, double value) {
  add(key, label, value, fmt::format("{:.1e}", value));
}

void Report::line(std::string_view label, std::string_view value) {
  rows_.push_back({std::string(label), std::string(value)});
}

void Report::object(std::string_view key, nlohmann::ordered_json value) {
  json_[std::string(key)] = std::move(value);
}

void Report::numbers(std::string_view key, std::string_view label,
                     std::span<const double> values) {
  std::vector<std::string> shown;
  for (const double value : values) shown.push_back(fmt::format("{:.4g}", value));
  add(key, label, std::vector<double>(values.begin(), values.end()),
      fmt::format("{}", fmt::join(shown, "  ")));
}

std::string Report::table() const {
  std::size_t width = 0;
  for (const Row& row : rows_) {
    if (!row.value.empty()) width = std::max(width, row.label.size());
  }
  std::string text;
  for (const Row& row : rows_) {
    if (row.value.empty()) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", row.label);
    } else {
      text += fmt::format("  {:<{}}  {}\n", row.label, width, printable(row.value));
    }
  }
  return text;
}

void Report::print(bool json) const { cli::print(json ? dump(json_) : table()); }

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() ||
      std::fflush(stdout) != 0) {
    throw Error("standard output cannot be written");
  }
}

// A file name need not be UTF-8, but JSON has to be.
std::string dump(const nlohmann::ordered_json& object) {
  return object.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
         '\n';
}

namespace {

// Not by fmt::print(), which throws where standard error is closed, full or a terminal
// that has gone.
void put_on_standard_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

}  // namespace

void note(std::string_view message) {
  put_on_standard_error(fmt::format("espalier: {}\n", printable(message, true)));
}

std::string_view reason_text(Infeasible::Reason reason) {
  return reason == Infeasible::Reason::kImpossible ? "impossible" : "none_found";
}

void print_infeasible(Report report, const Infeasible& answer, bool json,
                      std::string_view more) {
  print_refusal(std::move(report), answer, json,
                fmt::format("{}{}", answer.message(), more));
}

void print_refusal(Report report, const Infeasible& answer, bool json,
                   std::string_view message) {
  note(message);
  if (!json) return;
  report.flag("feasible", "", false);
  report.text("reason", "", reason_text(answer.reason));
  report.bytes("bound_bytes", "", answer.bound_bytes);
  if (answer.least_bytes > 0)  // else none is known
    report.bytes("least_bytes", "", answer.least_bytes);
  report.bytes("lower_bound_bytes", "", answer.lower_bound_bytes);
  report.print(json);
}

Progress::Progress(std::string_view step) : step_(step) {
  if (isatty(STDERR_FILENO) == 0) return;
  painter_ = std::jthread([this](std::stop_token stop) { draw_until_stopped(stop); });
}

Progress::~Progress() = default;

void Progress::step(std::string_view step) {
  const std::scoped_lock lock(mutex_);
  step_ = step;
  fraction_ = -1;
}

void Progress::draw_until_stopped(const std::stop_token& stop) {
  constexpr int kCells = 30;
  const Clock::time_point start = Clock::now();
  const auto never = [] { return false; };
  auto pause = std::chrono::milliseconds(1000);
  bool drawn = false;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, pause, never);
    if (stop.stop_requested()) break;
    const double fraction = std::min(fraction_.load(), 1.0);
    const double elapsed = since(start);
    if (fraction < 0) {
      put_on_standard_error(fmt::format("\r\033[K{} … {:.0f} s", step_, elapsed));
    } else {
      const int filled = static_cast<int>(fraction * kCells);
      put_on_standard_error(fmt::format("\r\033[K{} [{:#<{}}{:.<{}}] {:3.0f} %", step_,
                                        "", filled, "", kCells - filled, 100 * fraction));
    }
    drawn = true;
    pause = std::chrono::milliseconds(100);
  }
  if (drawn) put_on_standard_error("\r\033[K");
}

}  // namespace espalier::cli
