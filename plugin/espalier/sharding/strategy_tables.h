#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/operator_units.h"
#include "espalier/sharding/tensor_parallel.h"

namespace espalier {

/// The strategies of an operator or an input, and what each costs and holds.
struct StrategyTable {
  std::vector<MeshState> in, out;  ///< by strategy: of the inputs and of the result
  std::vector<Cost> costs;
  std::vector<Bytes> usages;
  std::vector<std::string> names;
};

/// An operator that computes the same way wherever a part of it lies.
struct LocalWork {
  OperatorUnits units;
  double result_bytes = 0;  ///< held until backwards; 0 for a view
  double work_bytes = 0;    ///< of the result, view or not
  double parameters = 0;
  double flops = 0;  ///< forwards and backwards
};

/// A tensor that one node reads of another.
struct ReadTensor {
  SpreadTensor tensor;
  bool as_it_is = false;      ///< in the state of the result: a view
  bool of_same_rank = false;  ///< as the result; else it is read whole
  /// Its first extent, its features, are the result's; else it is whole along them.
  bool same_samples = false, same_features = false;
};

/// Strategies and costs of edges on a mesh by what they follow from: what repeats is made
/// once, and has one number.
class StrategyTables {
 public:
  /// @param mesh, device  outlive it
  StrategyTables(const Mesh& mesh, const DeviceFigures& device)
      : mesh_(mesh), device_(device) {}

  [[nodiscard]] std::int32_t of_input(const SpreadTensor& tensor);
  [[nodiscard]] std::int32_t of_product(const WeightProduct& product);
  [[nodiscard]] std::int32_t of_local(const LocalWork& work);
  [[nodiscard]] const StrategyTable& strategies(std::int32_t number) const {
    return strategies_[static_cast<std::size_t>(number)];
  }

  /// @param from, to  numbers of the strategies of both ends
  [[nodiscard]] std::int32_t of_edge(std::int32_t from, std::int32_t to,
                                     const ReadTensor& read);
  [[nodiscard]] const std::vector<Cost>& costs(std::int32_t edge) const {
    return edges_[static_cast<std::size_t>(edge)];
  }

  [[nodiscard]] std::vector<StrategyTable> take_strategies() && {
    return std::move(strategies_);
  }

 private:
  using Key = std::tuple<int, std::array<std::int64_t, 4>, std::array<double, 4>>;
  [[nodiscard]] bool can_lie(const OperatorUnits& units, MeshState state) const;
  [[nodiscard]] MeshState needed(const ReadTensor& read, MeshState state) const;
  [[nodiscard]] StrategyTable input(const SpreadTensor& tensor) const;
  [[nodiscard]] StrategyTable product(const WeightProduct& product) const;
  [[nodiscard]] StrategyTable local(const LocalWork& work) const;
  [[nodiscard]] const std::vector<Cost>& resharding(const SpreadTensor& tensor);
  [[nodiscard]] std::int32_t number_of(std::vector<Cost> costs);
  template <class Make>
  std::int32_t numbered(const Key& key, Make make);

  const Mesh& mesh_;
  const DeviceFigures& device_;
  std::vector<StrategyTable> strategies_;
  std::vector<std::vector<Cost>> edges_;
  std::map<Key, std::int32_t> numbers_, edge_numbers_;
  std::map<Key, std::vector<Cost>> reshardings_;  // by tensor, from state to state
};

}  // namespace espalier
