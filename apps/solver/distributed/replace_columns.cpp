#include "solver/distributed/replace_columns.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/distribute.h"
#include "solver/scaling/prepare_complex.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

// Where an entry was given that had no place.
struct Stray {
  std::int32_t row, column;
};

// Puts entries, which are T's, in the columns that are here; keeps the first that has no
// place.
template <class T>
class Receiver {
 public:
  explicit Receiver(SquareMatrix& permuted) : permuted_(permuted) {
    clear_values(permuted_);
  }
  void take(const Placed<T>& entry) {
    if (!put_entry(permuted_, entry) && !stray_)
      stray_ = {entry.given_row, entry.given_column};
  }
  // Everything that process 0 sends.
  void receive_all(Communicator& communicator) {
    std::vector<Placed<T>> piece;
    do {
      std::int64_t count = 0;
      receive(communicator, std::span(&count, 1), 0, MessageTag::kValues);
      piece.resize(static_cast<std::size_t>(count));
      if (count > 0) receive(communicator, std::span(piece), 0, MessageTag::kValues);
      for (const Placed<T>& entry : piece) take(entry);
    } while (!piece.empty());
  }
  [[nodiscard]] const std::optional<Stray>& stray() const { return stray_; }

 private:
  SquareMatrix& permuted_;
  std::optional<Stray> stray_;
};

// At process 0: entries on their way to the other processes.
template <class T>
class Sender {
 public:
  explicit Sender(Communicator& communicator)
      : communicator_(communicator),
        pieces_(static_cast<std::size_t>(communicator.size())) {}
  void send_entry(std::int32_t to, const Placed<T>& entry) {
    std::vector<Placed<T>>& piece = pieces_[static_cast<std::size_t>(to)];
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
  static constexpr std::size_t kSentAtOnce = kPieceBytes / sizeof(Placed<T>);

  void flush(std::int32_t to) {
    std::vector<Placed<T>>& piece = pieces_[static_cast<std::size_t>(to)];
    const std::int64_t count = std::ssize(piece);
    send(communicator_, std::span(&count, 1), to, MessageTag::kValues);
    if (count > 0)
      send(communicator_, std::span<const Placed<T>>(piece), to, MessageTag::kValues);
    piece.clear();
  }

  Communicator& communicator_;
  std::vector<std::vector<Placed<T>>> pieces_;
};

// What keeps the matrix from being placed at all.
template <class Matrix>
std::string complaint(std::span<const std::int32_t> permutation,
                      const PreparedMatrix& prepared, const Matrix& matrix) {
  try {
    check_refill(prepared, static_cast<std::int32_t>(permutation.size()), matrix);
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return {};
}

// Collective. @throws InvalidInput everywhere when an entry had no place anywhere
void agree(Communicator& communicator, const std::optional<Stray>& stray) {
  // Row and column from 1 on, for each process.
  std::vector<double> strays(2 * static_cast<std::size_t>(communicator.size()), 0.0);
  const auto mine = 2 * static_cast<std::size_t>(communicator.rank());
  if (stray) {
    strays[mine] = stray->row + 1.0;
    strays[mine + 1] = stray->column + 1.0;
  }
  communicator.sum(strays);
  for (std::size_t k = 0; k < strays.size(); k += 2)
    if (strays[k] > 0)
      throw outside_pattern(static_cast<std::int32_t>(strays[k]) - 1,
                            static_cast<std::int32_t>(strays[k + 1]) - 1);
}

// @tparam T  the entries of the matrix
template <class T, class Matrix>
void replace(Communicator& communicator, std::span<const ColumnRange> ranges,
             std::span<const std::int32_t> permutation, const PreparedMatrix& prepared,
             const Matrix* matrix, SquareMatrix& permuted, Coupling& coupling) {
  const bool first = communicator.rank() == 0;
  fail_together(communicator,
                first ? complaint(permutation, prepared, *matrix) : std::string());
  Receiver<T> receiver(permuted);
  if (first) {
    Sender<T> sender(communicator);
    clear_values(coupling, kIsComplex<T>);
    place_entries(prepared, permutation, *matrix, [&](const Placed<T>& entry) {
      if (put_entry(coupling, entry)) return;
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
  broadcast_values(communicator, coupling);
  agree(communicator, receiver.stray());
}

}  // namespace

void replace_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                     std::span<const std::int32_t> permutation,
                     const PreparedMatrix& prepared, const InputMatrix* matrix,
                     SquareMatrix& permuted, Coupling& coupling) {
  replace<double>(communicator, ranges, permutation, prepared, matrix, permuted,
                  coupling);
}

void replace_columns(Communicator& communicator, std::span<const ColumnRange> ranges,
                     std::span<const std::int32_t> permutation,
                     const PreparedMatrix& prepared, const ComplexMatrix* matrix,
                     SquareMatrix& permuted, Coupling& coupling) {
  replace<Complex>(communicator, ranges, permutation, prepared, matrix, permuted,
                   coupling);
}

}  // namespace espalier::solver
