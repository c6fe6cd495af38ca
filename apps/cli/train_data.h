#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "espalier/training/training_graph.h"

namespace espalier::cli {

/// Samples in a file, one record after the other: of each sample the inputs in the order
/// of the model, those that the step does not read too, then its labels, elements as the
/// model has them and little-endian. After the last sample the first comes again.
class SampleFile {
 public:
  /// @throws FileError for a file that cannot be read, or holds no whole number of
  /// records
  SampleFile(std::string path, const OperatorGraph& model, const TrainingGraph& training);
  ~SampleFile();
  SampleFile(const SampleFile&) = delete;
  SampleFile& operator=(const SampleFile&) = delete;

  /// What an input holds in a step.
  void fill(std::int64_t step, TensorId id, std::span<std::byte> bytes) const;
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  void add_to_record(const Tensor& tensor, std::optional<TensorId> here);

  std::string path_;
  int file_ = -1;
  std::int64_t batch_ = 1, samples_ = 0;
  Bytes record_ = 0;
  std::vector<Bytes> offsets_;  // in a record, by tensor of the step
};

}  // namespace espalier::cli
