#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "espalier/model/pipeline.h"
#include "espalier/sharding/pipeline_objective.h"

namespace espalier {

/// The orders of a schedule as words, and the run of them: what a local search changes.
///
/// A letter is a kind (F, B or W) of a chunk; micro-batches of a chunk are alike, so the
/// k-th of a letter is that of micro-batch k. What a letter takes, holds and follows is
/// looked up in a table, and nothing is allocated by a run.
class PipelineWords {
 public:
  using Letter = std::uint32_t;
  using Word = std::vector<Letter>;

  /// Of an operation: its device and where in the word.
  struct Place {
    std::size_t device = 0, at = 0;
  };
  struct Length {
    Nanoseconds longest = 0, sum = 0;  ///< of the objective, over devices
    auto operator<=>(const Length&) const = default;
  };

  /// @param start  of F, B and W alone
  PipelineWords(const Pipeline& pipeline, const PipelineSchedule& start,
                PipelineObjective objective, std::optional<Bytes> memory_bound);

  [[nodiscard]] std::size_t devices() const { return devices_.size(); }
  Word& word(std::size_t device) { return devices_[device].word; }
  [[nodiscard]] Nanoseconds longest_operation() const;

  /// No operation of a word before what it follows on the same device, and never more
  /// than the bound. O(word)
  [[nodiscard]] bool is_possible(std::size_t device);

  /// Every operation as soon as it can; nothing where the words wait for each other in a
  /// circle. O(operations)
  [[nodiscard]] std::optional<Length> run();

  /// Operations, the last one first, each of which begins as the next one's result is
  /// there or its device is free: no run of the same words is shorter. One of several
  /// such ways, by chance. Of words as they last ran. O(operations)
  void longest_way(std::vector<Place>& way, std::mt19937_64& random) const;

  [[nodiscard]] PipelineSchedule schedule() const;

 private:
  struct Kind {
    Nanoseconds time = 0;
    Bytes bytes = 0;            // taken at its begin or, negative, given back at its end
    std::optional<Letter> own;  // what it follows on the same device
    std::optional<Letter> other;        // and by whom its input is made
    Nanoseconds transfer = 0;           // that comes so much later
    std::optional<std::size_t> reader;  // device that uses what it makes
  };
  struct Device {
    Word word;
    std::vector<Nanoseconds> starts;  // by place, of the last run
    std::vector<std::size_t> before;  // operation of another chunk that it followed
    Bytes persistent = 0;
    std::size_t done = 0;
    Nanoseconds first = 0, free = 0;
    std::size_t waits_for = kNothing;
  };

  [[nodiscard]] Letter letter(PipelineKind kind, std::size_t chunk) const;
  void describe(const Pipeline& pipeline, std::size_t chunk);
  void advance(std::size_t device);
  void end(std::size_t device, std::size_t operation, Nanoseconds start,
           std::size_t before);
  [[nodiscard]] Nanoseconds own_length(std::size_t device) const;
  [[nodiscard]] Nanoseconds end_of(const Place& place) const;

  static constexpr std::size_t kNothing = static_cast<std::size_t>(-1);

  bool span_;
  std::optional<Bytes> bound_;
  std::size_t chunks_, micro_batches_;
  std::vector<Kind> letters_;
  std::vector<Nanoseconds> ends_;  // by letter and micro-batch
  std::vector<Place> places_;      // of the same, in the last run
  std::vector<std::size_t> counts_;
  std::vector<Device> devices_;
  std::vector<std::size_t> ready_;
};

}  // namespace espalier
