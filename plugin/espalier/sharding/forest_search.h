#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "espalier/sharding/held_memory.h"
#include "espalier/sharding/pairwise.h"

namespace espalier {

/// A choice that is made better by choosing all variables of a forest anew, exactly for
/// given prices of memory: the rest stays as it is, and dynamic programming from the
/// leaves to the roots gives the best states of a forest in time linear in the costs of
/// its edges. A neighbourhood of exponential size, after [HF04].
class ForestSearch {
 public:
  /// @param states  by variable; may be forbidden, or hold too much
  ForestSearch(const Pairwise& problem, std::vector<std::int32_t> states);

  [[nodiscard]] std::span<const std::int32_t> states() const { return states_; }
  /// Of what is allowed, without the problem's constant.
  [[nodiscard]] double cost() const { return sum_.cost; }
  /// How many of the chosen states and pairs are not allowed.
  [[nodiscard]] std::int64_t forbidden() const { return sum_.forbidden; }
  [[nodiscard]] const HeldMemory& memory() const { return memory_; }
  [[nodiscard]] bool allowed() const {
    return sum_.forbidden == 0 && memory_.over() <= 0;
  }

  /// Starts again from other states.
  void set_states(std::span<const std::int32_t> states);

  /// A forest of at most `most` variables that grows from the seeds at random: a
  /// variable joins when exactly one of its neighbours is in it.
  void grow(std::span<const std::int32_t> seeds, std::size_t most,
            std::mt19937_64& random);

  /// The same over all variables, from seeds at random.
  void grow_everywhere(std::mt19937_64& random);

  /// The best states of the forest, when a byte of hold h costs prices[h] * scale.
  /// The choice is changed; take_back() undoes it.
  void choose(std::span<const double> prices, double scale);
  void take_back();

  /// Variables of the forest, roots first.
  [[nodiscard]] std::span<const std::int32_t> forest() const { return order_; }

 private:
  // Kept apart, so that costs that are not allowed take no digits from those that are.
  struct Sum {
    double cost = 0;
    std::int64_t forbidden = 0;
    void add(double term) {
      if (Pairwise::never(term)) {
        ++forbidden;
      } else {
        cost += term;
      }
    }
    void take(double term) {
      if (Pairwise::never(term)) {
        --forbidden;
      } else {
        cost -= term;
      }
    }
  };
  struct Change {
    std::int32_t variable, state;  // the state it had
  };
  void join(std::int32_t v, std::int32_t parent_link);
  void set(std::size_t v, std::int32_t state);
  void move_memory(std::size_t v, std::size_t before, std::size_t after);
  void weigh(std::size_t v, std::span<const double> prices, double scale);
  void send(std::size_t v);
  void start_forest();
  void spread_from(std::size_t first, std::size_t most, std::mt19937_64& random);

  const Pairwise* problem_;
  std::vector<std::int32_t> states_;
  Sum sum_, sum_before_;
  HeldMemory memory_;
  std::vector<std::int32_t> order_;            // of the forest, parents first
  std::vector<std::int32_t> parent_;           // by variable: its link to it, or -1
  std::vector<std::int32_t> stamp_, touches_;  // by variable: in the forest; neighbours
  std::vector<std::int32_t> touched_stamp_;
  std::int32_t now_ = 0;
  std::vector<std::int32_t> border_;
  std::vector<double> weights_;  // by state, of variables of the forest
  std::vector<Change> changes_;
};

}  // namespace espalier
