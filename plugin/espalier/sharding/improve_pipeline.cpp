#include "espalier/sharding/improve_pipeline.h"

#include <algorithm>
#include <bit>
#include <random>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/sharding/pipeline_words.h"

namespace espalier {

namespace {

using Word = PipelineWords::Word;
using Place = PipelineWords::Place;
using Length = PipelineWords::Length;

class Improvement {
 public:
  Improvement(const Pipeline& pipeline, const PipelineSchedule& start,
              const PipelineImprovementOptions& options)
      : options_(options),
        words_(pipeline, start, options.objective, options.memory_bound),
        random_(options.seed) {}

  PipelineSchedule run() {
    const std::optional<Length> start = words_.run();
    ESPALIER_ASSERT(start.has_value(), "a schedule without a circle");
    now_ = best_ = *start;
    best_schedule_ = words_.schedule();
    words_.longest_way(way_, random_);
    for (std::int64_t k = 0; k < options_.replays && !ended(); ++k) step(k);
    return std::move(best_schedule_);
  }

 private:
  [[nodiscard]] bool ended() const {
    return best_.longest <= options_.lower_bound || (options_.stop && options_.stop());
  }

  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(random_() % static_cast<std::uint64_t>(n));
  }

  // One replay, or as many moves without one as are patiently tried.
  void step(std::int64_t k) {
    for (int patience = 0; patience < kPatience; ++patience) {
      const std::size_t d = change();
      if (d == kNone) continue;
      if (!words_.is_possible(d)) {
        words_.word(d) = before_;
        continue;
      }
      const std::optional<Length> length = words_.run();
      if (length &&
          static_cast<double>(weighed(*length) - weighed(now_)) <= threshold(k)) {
        accept(*length);
      } else {
        words_.word(d) = before_;
      }
      return;
    }
  }

  void accept(const Length& length) {
    now_ = length;
    if (length < best_) {
      best_ = length;
      best_schedule_ = words_.schedule();
    }
    words_.longest_way(way_, random_);
  }

  /// @return the device whose word is another one now, which before_ keeps; or kNone
  std::size_t change() {
    const Place place = way_[below(way_.size())];
    Word& word = words_.word(place.device);
    const auto most = static_cast<std::size_t>(std::bit_width(word.size()));
    const std::size_t far = 1 + below(std::size_t{1} << below(most));
    const bool later = below(2) == 0;
    if (later ? place.at + far >= word.size() : far > place.at) return kNone;
    const std::size_t other = later ? place.at + far : place.at - far;
    if (word[place.at] == word[other]) return kNone;
    before_ = word;
    const auto first =
        word.begin() + static_cast<std::ptrdiff_t>(std::min(place.at, other));
    const auto last =
        word.begin() + static_cast<std::ptrdiff_t>(std::max(place.at, other));
    switch (below(3)) {
      case 0:
        std::rotate(first, first + 1, last + 1);
        break;
      case 1:
        std::rotate(first, last, last + 1);
        break;
      default:
        std::iter_swap(first, last);
    }
    return place.device;
  }

  // The longest device counts most, the others tell equal ones apart.
  [[nodiscard]] Nanoseconds weighed(const Length& length) const {
    return kWeight * static_cast<Nanoseconds>(words_.devices()) * length.longest +
           length.sum;
  }

  // Falls with the square of what is left. In proportion to the times: their unit plays
  // no part in the search.
  double threshold(std::int64_t k) {
    const double left =
        static_cast<double>(options_.replays - k) / static_cast<double>(options_.replays);
    const double most = 2 * left * left *
                        static_cast<double>(words_.longest_operation()) *
                        static_cast<double>(words_.devices());
    return most * static_cast<double>(random_() >> 11U) * 0x1p-53;
  }

  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  static constexpr int kPatience = 16;
  static constexpr Nanoseconds kWeight = 4;

  const PipelineImprovementOptions& options_;
  PipelineWords words_;
  std::mt19937_64 random_;
  Length now_, best_;
  PipelineSchedule best_schedule_;
  std::vector<Place> way_;  // the longest, of the words as they are
  Word before_;
};

}  // namespace

PipelineSchedule improve_pipeline(const Pipeline& pipeline, const PipelineSchedule& start,
                                  const PipelineImprovementOptions& options) {
  return Improvement(pipeline, start, options).run();
}

}  // namespace espalier
