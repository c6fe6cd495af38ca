#pragma once

#include <random>

#include "training/operators/operator_cases.h"

namespace espalier::training {

/// Values for the inputs of a case.
[[nodiscard]] std::vector<Values> random_inputs(const OperatorCase& test,
                                                std::mt19937_64& random);
[[nodiscard]] Values random_values(const TensorShape& shape, double low, double high,
                                   std::mt19937_64& random);

/// Runs an operator by the oracle. Whole numbers and bytes are values too.
/// @return the outputs
[[nodiscard]] std::vector<Values> run_oracle(const OperatorSpec& spec,
                                             const std::vector<TensorShape>& inputs,
                                             const std::vector<TensorShape>& outputs,
                                             const std::vector<Values>& values);
/// The same through oneDNN in single precision, each tensor in the format of its shape.
[[nodiscard]] std::vector<Values> run_dnnl(const OperatorSpec& spec,
                                           const std::vector<TensorShape>& inputs,
                                           const std::vector<TensorShape>& outputs,
                                           const std::vector<Values>& values);

/// The shapes and values that a backward operator of a case reads.
struct BackwardRun {
  std::vector<TensorShape> inputs, outputs;
  std::vector<Values> values;
};
[[nodiscard]] BackwardRun backward_run(const OperatorCase& test,
                                       const BackwardCase& backward,
                                       const std::vector<Values>& inputs,
                                       const std::vector<Values>& outputs,
                                       const Values& gradient);

}  // namespace espalier::training
