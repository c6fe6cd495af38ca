#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/units.h"

namespace espalier::cli {

/// What a subcommand answers: one list of values, printed as a table for people or as one
/// JSON object. Rows keep the order in which they were added. An empty label leaves the
/// row out of the table; keys are snake_case and unique.
class Report {
 public:
  void heading(std::string_view text);  ///< table only
  void text(std::string_view key, std::string_view label, std::string_view value);
  void flag(std::string_view key, std::string_view label, bool value);
  void count(std::string_view key, std::string_view label, std::int64_t value);
  void bytes(std::string_view key, std::string_view label, Bytes value);
  /// One value for each process or the like: an array in JSON.
  void bytes(std::string_view key, std::string_view label, std::span<const Bytes> values);
  void seconds(std::string_view key, std::string_view label, Seconds value);
  void flops(std::string_view key, std::string_view label, Flops value);
  void ratio(std::string_view key, std::string_view label, double value);
  /// "gap": how far `found` is above what is proved to be the least, as a part of that;
  /// in the table only where it is above.
  void gap(std::int64_t found, std::int64_t lower_bound);
  /// "1.3e-16"
  void number(std::string_view key, std::string_view label, double value);
  /// Of the table alone, and of JSON alone.
  void line(std::string_view label, std::string_view value);
  void object(std::string_view key, nlohmann::ordered_json value);
  void numbers(std::string_view key, std::string_view label,
               std::span<const double> values);

  /// Prints on standard output. @throws Error when that cannot be written
  void print(bool json) const;

  [[nodiscard]] std::string table() const;
  [[nodiscard]] const nlohmann::ordered_json& json() const { return json_; }

 private:
  struct Row {
    std::string label, value;  // an empty value: a heading
  };
  template <class T>
  void add(std::string_view key, std::string_view label, T value, std::string shown);

  std::vector<Row> rows_;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::object();
};

/// Prints on standard output. @throws Error when that cannot be written
void print(std::string_view text);

/// An object as it is printed, with a line end.
[[nodiscard]] std::string dump(const nlohmann::ordered_json& object);

/// The value of `reason` in JSON.
[[nodiscard]] std::string_view reason_text(Infeasible::Reason reason);

/// The answer "it does not fit": a line on standard error and, with `json`, the report's
/// object with "feasible": false and the memory that would do. What `report` already
/// holds stays in it.
/// @param more  goes on the end of the line
void print_infeasible(Report report, const Infeasible& answer, bool json,
                      std::string_view more = {});

/// The same with a line in words of its own.
void print_refusal(Report report, const Infeasible& answer, bool json,
                   std::string_view message);

/// "espalier: " and the message, a line on standard error (printable.h). Where that
/// cannot be written the message is lost: what the program answers, and how it ends, is
/// the same.
void note(std::string_view message);

/// What is being done, on standard error, for steps that take over a second. Nothing is
/// written unless standard error is a terminal; the line is erased at the end.
class Progress {
 public:
  explicit Progress(std::string_view step);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress();

  /// From now on `step` is being done, and its extent is not known.
  void step(std::string_view step);
  /// Done so far, 0 … 1. Any thread may call it.
  void update(double fraction) { fraction_ = fraction; }

 private:
  void draw_until_stopped(const std::stop_token& stop);

  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string step_;                   // under mutex_
  std::atomic<double> fraction_ = -1;  // negative: not known
  std::jthread painter_;               // last: it uses the members above
};

}  // namespace espalier::cli
