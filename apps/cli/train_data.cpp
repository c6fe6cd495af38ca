#include "cli/train_data.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

std::int64_t batch_of(const OperatorGraph& graph, const std::string& path) {
  for (const Tensor& tensor : graph.tensors())
    if (tensor.role == TensorRole::kInput && !tensor.shape.empty()) {
      const std::int64_t batch = tensor.shape.front();
      if (batch > 0 && tensor.bytes % batch == 0) return batch;
    }
  throw FileError(path, 0, "the model has no input that counts samples");
}

}  // namespace

SampleFile::SampleFile(std::string path, const OperatorGraph& model,
                       const TrainingGraph& training)
    : path_(std::move(path)),
      batch_(batch_of(training.graph, path_)),
      offsets_(training.graph.tensors().size()) {
  for (const Tensor& tensor : model.tensors())
    if (tensor.role == TensorRole::kInput)
      add_to_record(tensor, training.graph.find_tensor(tensor.name));
  for (const TensorId label : training.labels)
    add_to_record(training.graph.tensor(label), label);
  file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (file_ < 0 || fstat(file_, &status) != 0) {
    const std::string why = std::strerror(errno);
    if (file_ >= 0) close(file_);
    throw FileError(path_, 0, "cannot be read: " + why);
  }
  samples_ = status.st_size / record_;
  if (samples_ == 0 || status.st_size % record_ != 0) {
    close(file_);
    throw FileError(
        path_, 0,
        fmt::format("has {} bytes, which are no whole number of samples of {} "
                    "bytes",
                    static_cast<Bytes>(status.st_size), record_));
  }
}

// `here`: nothing for an input that the step does not read.
void SampleFile::add_to_record(const Tensor& tensor, std::optional<TensorId> here) {
  if (tensor.bytes % batch_ != 0)
    throw FileError(
        path_, 0,
        fmt::format("{} is not divided by a batch of {}", label(tensor), batch_));
  if (here) offsets_[index(*here)] = record_;
  record_ = checked_add(record_, tensor.bytes / batch_);
}

SampleFile::~SampleFile() { close(file_); }

void SampleFile::fill(std::int64_t step, TensorId id, std::span<std::byte> bytes) const {
  const Bytes each = std::ssize(bytes) / batch_;
  for (std::int64_t i = 0; i < batch_; ++i) {
    const std::int64_t sample = (step % samples_ * batch_ + i) % samples_;
    const Bytes at = sample * record_ + offsets_[index(id)];
    for (Bytes done = 0; done < each;) {
      const auto got = pread(file_, bytes.data() + i * each + done,
                             static_cast<std::size_t>(each - done), at + done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw FileError(path_, 0, "cannot be read, or became shorter");
      done += got;
    }
  }
}

}  // namespace espalier::cli
