#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "espalier/model/operator_graph.h"

namespace espalier::training {

/// How a tensor is divided: each of `groups` equal pieces of the axis among all parts, in
/// their order. Queries, keys and values that one product gives are three groups.
struct TensorDivision {
  std::size_t axis = 0;
  std::int64_t groups = 1;
  bool operator==(const TensorDivision&) const = default;
};

/// A product of an activation and a weight of two axes, y = x w (+ b).
struct LinearLayer {
  TensorId x{}, w{}, y{};
  std::optional<TensorId> b = {};
  std::size_t in = 0, out = 1;  ///< axes of w
};
[[nodiscard]] std::optional<LinearLayer> linear_layer(const OperatorGraph& graph,
                                                      const Operator& op);

/// What follows from dividing one tensor: the divisions of all that it meets on the way
/// to and from linear layers, at which a region ends.
class DivisionRegion {
 public:
  DivisionRegion(const OperatorGraph& graph, std::int32_t parts);

  /// @return whether everything that follows is possible
  [[nodiscard]] bool grow(TensorId seed, TensorDivision division);

  // Of a region that is possible.
  [[nodiscard]] const std::unordered_map<TensorId, TensorDivision>& divisions() const {
    return divisions_;
  }
  [[nodiscard]] const std::set<OperatorId>& by_columns() const { return by_columns_; }
  [[nodiscard]] const std::set<OperatorId>& by_rows() const { return by_rows_; }

  /// Of a region that is not: in so many groups the first tensor should be divided; 0:
  /// that would not help.
  [[nodiscard]] std::int64_t wanted_groups() const { return wanted_groups_; }

 private:
  using Division = std::optional<TensorDivision>;
  [[nodiscard]] Division of(TensorId id) const;
  [[nodiscard]] bool demand(TensorId id, TensorDivision division);
  [[nodiscard]] bool follow(OperatorId id);
  [[nodiscard]] bool follow_linear(OperatorId id, const LinearLayer& layer);
  [[nodiscard]] bool follow_elementwise(const Operator& op);
  [[nodiscard]] bool follow_split(const Operator& op);
  [[nodiscard]] bool follow_pair(const Operator& op, const Division& there,
                                 const Division& back);
  [[nodiscard]] bool follow_reshape(const Operator& op);
  [[nodiscard]] bool follow_transpose(const Operator& op);
  [[nodiscard]] bool follow_leading(const Operator& op, std::size_t axes);
  [[nodiscard]] Division reshaped(TensorId from, TensorId to) const;
  [[nodiscard]] bool may_be_trained(TensorId id) const;

  const OperatorGraph& graph_;
  std::int64_t parts_;
  bool has_parameters_ = false;
  std::unordered_map<TensorId, TensorDivision> divisions_;
  std::set<OperatorId> by_columns_, by_rows_;
  std::vector<TensorId> queue_;
  std::int64_t wanted_groups_ = 0;
};

}  // namespace espalier::training
