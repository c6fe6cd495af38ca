#include "solver/distributed/replace_columns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/distribute.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kSentAtOnce = (std::size_t{64} << 10) / sizeof(PlacedEntry);

// Puts entries in the columns that are here; keeps the first that has no place.
class Receiver {
 public:
  explicit Receiver(SquareMatrix& permuted) : permuted_(permuted) {
    clear_values(permuted_);
  }
  void take(const PlacedEntry& entry) {
    if (!put_entry(permuted_, entry) && !stray_) stray_ = entry;
  }
  // Everything that process 0 sends.
  void receive_all(Communicator& communicator) {
    std::vector<PlacedEntry> piece;
    do {
      std::int64_t count = 0;
      receive(communicator, std::span(&count, 1), 0, MessageTag::kValues);
      piece.resize(static_cast<std::size_t>(count));
      if (count > 0) receive(communicator, std::span(piece), 0, MessageTag::kValues);
      for (const PlacedEntry& entry : piece) take(entry);
    } while (!piece.empty());
  }
  [[nodiscard]] const std::optional<PlacedEntry>& stray() const { return stray_; }

 private:
  SquareMatrix& permuted_;
  std::optional<PlacedEntry> stray_;
};

// At process 0: entries on their way to the other processes.
class Sender {
 public:
  explicit Sender(Communicator& communicator)
      : communicator_(communicator),
        pieces_(static_cast<std::size_t>(communicator.size())) {}
  void send_entry(std::int32_t to, const PlacedEntry& entry) {
    std::vector<PlacedEntry>& piece = pieces_[static_cast<std::size_t>(to)];
    piece.reserve(kSentAtOnce);
    piece.push_back(entry);
    if (piece.size() == kSentAtOnce) flush(to);
  }
  // An empty piece is the last.
  void finish() {
    for (std::int32_t to = 1; to < communicator_.size(); ++to) {
      if (!pieces_[static_cast<std::size_t>(to)].empty()) flush(to);
      flush(to);
    }
  }

 private:
  void flush(std::int32_t to) {
    std::vector<PlacedEntry>& piece = pieces_[static_cast<std::size_t>(to)];
    const std::int64_t count = std::ssize(piece);
    send(communicator_, std::span(&count, 1), to, MessageTag::kValues);
    if (count > 0)
      send(communicator_, std::span<const PlacedEntry>(piece), to, MessageTag::kValues);
    piece.clear();
  }

  Communicator& communicator_;
  std::vector<std::vector<PlacedEntry>> pieces_;
};

// What keeps the matrix from being placed at all.
std::string complaint(std::span<const std::int32_t> permutation,
                      const PreparedMatrix& prepared, const InputMatrix& matrix) {
  try {
    check_refill(prepared, static_cast<std::int32_t>(permutation.size()), matrix);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return {};
}

// Collective. @throws InvalidInput everywhere when an entry had no place anywhere
void agree(Communicator& communicator, const std::optional<PlacedEntry>& stray) {
  // Row and column from 1 on, for each process.
  std::vector<double> strays(2 * static_cast<std::size_t>(communicator.size()), 0.0);
  const auto mine = 2 * static_cast<std::size_t>(communicator.rank());
  if (stray) {
    strays[mine] = stray->given_row + 1.0;
    strays[mine + 1] = stray->given_column + 1.0;
  }
  communicator.sum(strays);
  for (std::size_t k = 0; k < strays.size(); k += 2)
    if (strays[k] > 0)
      throw outside_pattern(static_cast<std::int32_t>(strays[k]) - 1,
                            static_cast<std::int32_t>(strays[k + 1]) - 1);
}

}  // namespace

void replace_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                     std::span<const std::int32_t> permutation,
                     const PreparedMatrix& prepared, const InputMatrix* matrix,
                     SquareMatrix& permuted) {
  const bool first = communicator.rank() == 0;
  fail_together(communicator,
                first ? complaint(permutation, prepared, *matrix) : std::string());
  Receiver receiver(permuted);
  if (first) {
    Sender sender(communicator);
    place_entries(prepared, permutation, *matrix, [&](const PlacedEntry& entry) {
      const std::int32_t to = owner_of_column(ranges, std::min(entry.row, entry.column));
      if (to == 0)
        receiver.take(entry);
      else
        sender.send_entry(to, entry);
    });
    sender.finish();
  } else {
    receiver.receive_all(communicator);
  }
  agree(communicator, receiver.stray());
}

}  // namespace espalier::solver
