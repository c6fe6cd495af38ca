#include "cli/train_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <istream>
#include <set>
#include <string>
#include <vector>

#include "cli/remedy.h"
#include "espalier/io/text_file.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 16;  // bytes
constexpr std::int64_t kPieces = 64;                  // of samples, about

// 64 bits of what was added, in order.
class FileDigest {
 public:
  void add(std::uint64_t word) {
    value_ = (value_ ^ word) * 0x9e3779b97f4a7c15U;
    value_ ^= value_ >> 32;
  }
  // All of a file, or its size and pieces of it.
  void add(const std::string& path, bool all) {
    read_file(path, [&](std::istream& in) {
      in.seekg(0, std::ios::end);
      const std::int64_t size = in.tellg();
      add(static_cast<std::uint64_t>(size));
      const std::int64_t piece = std::int64_t{kPiece};
      const std::int64_t step = all ? piece : std::max(piece, size / kPieces);
      for (std::int64_t at = 0; at < size && in; at += step) {
        std::ranges::fill(words_, 0);
        in.seekg(at);
        in.read(reinterpret_cast<char*>(words_.data()), std::min(piece, size - at));
        for (const std::uint64_t word : words_) add(word);
      }
      if (!in) throw FileError(path, 0, "cannot be read");
    });
  }
  [[nodiscard]] std::int64_t value() const { return std::bit_cast<std::int64_t>(value_); }

 private:
  std::uint64_t value_ = 0;
  std::vector<std::uint64_t> words_ = std::vector<std::uint64_t>(kPiece / 8);
};

std::int64_t digest_of_model(const std::string& path, const OperatorGraph& model) {
  std::set<std::string> weights;
  for (const Tensor& tensor : model.tensors())
    if (tensor.value && tensor.value->file() != nullptr)
      weights.insert(*tensor.value->file());
  FileDigest digest;
  digest.add(path, true);
  for (const std::string& each : weights) digest.add(each, true);
  return digest.value();
}

void check_same(const std::string& path, std::int64_t digest,
                const TrainingPeers& peers) {
  const std::vector<std::int64_t> all = peers.gather_all(digest);
  std::vector<std::size_t> others;
  for (std::size_t rank = 1; rank < all.size(); ++rank)
    if (all[rank] != all[0]) others.push_back(rank);
  if (others.empty()) return;
  throw InvalidInput(fmt::format(
      "the processes of this job differ: {} of rank{} {} has other contents than that of "
      "rank 0",
      path, others.size() == 1 ? "" : "s", fmt::join(others, ", ")));
}

}  // namespace

void check_same_files(const TrainCommand& command, const OperatorGraph& model,
                      const TrainingPeers& peers) {
  if (peers.size == 1) return;
  if (!command.source.file.empty())
    check_same(command.source.file, digest_of_model(command.source.file, model), peers);
  if (command.data.empty()) return;
  const std::int64_t data = refusing(drop_option("--data"), [&] {
    FileDigest digest;
    digest.add(command.data, false);
    return digest.value();
  });
  check_same(command.data, data, peers);
}

}  // namespace espalier::cli
