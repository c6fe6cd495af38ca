#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace espalier {

/// A sum of tables over a few variables, of which some are to be chosen best.
///
/// Bucket elimination [Dec99]: a variable is taken out by joining the tables that read it
/// and keeping, for each state of the others in them, its best state.
class Elimination {
 public:
  /// @param states  of each variable, by number
  explicit Elimination(std::vector<std::size_t> states) : states_(std::move(states)) {}

  /// @param scope   variables, ascending
  /// @param values  by their states, the last variable's fastest; infinite: not allowed
  void add(std::vector<std::size_t> scope, std::vector<double> values);

  /// Takes out a variable: of those in a list the one that leaves the smallest table.
  /// @return false where that would have more than `most` entries
  [[nodiscard]] bool eliminate(std::vector<std::size_t> variables, std::size_t most);

  /// What was taken out, in that order.
  [[nodiscard]] std::vector<std::size_t> order() const;

  /// The sum over what is left, by the states of these variables.
  [[nodiscard]] std::vector<double> rest(const std::vector<std::size_t>& scope) const;

  /// Sets the best states of those that were taken out, by the states of the others.
  void complete(std::vector<std::int32_t>& chosen) const;

 private:
  struct Factor {
    std::vector<std::size_t> scope;
    std::vector<double> values;
  };
  struct Taken {
    std::size_t variable = 0;
    std::vector<std::size_t> scope;
    std::vector<std::int32_t> best;
  };
  [[nodiscard]] std::vector<std::size_t> neighbours(std::size_t variable) const;
  [[nodiscard]] std::size_t entries(const std::vector<std::size_t>& scope) const;
  void take_out(std::size_t variable);
  [[nodiscard]] std::size_t place(const std::vector<std::size_t>& scope,
                                  const std::vector<std::int32_t>& chosen) const;
  bool next(const std::vector<std::size_t>& scope,
            std::vector<std::int32_t>& chosen) const;

  std::vector<std::size_t> states_;
  std::vector<Factor> factors_;
  std::vector<Taken> taken_;
};

}  // namespace espalier
