#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::solver {

/// @throws Error that says what could not be done, and why, in the words of MPI
void check_mpi(int status, std::string_view what);

/// Waits between looks at something that another process does: at first for no longer
/// than it takes to look, then for a share of the time waited so far, so that a wait is
/// at most a few per cent longer than it need be, and never for more than a millisecond.
class Pause {
 public:
  void operator()();

 private:
  std::int64_t looks_ = 0;
  double slept_microseconds_ = 0;
};

/// Returns when the operation is complete. Asleep for most of the time, where MPI_Wait
/// would keep a core busy.
/// @return how it ended
MPI_Status wait(MPI_Request& request);

/// Messages and collective operations on one communicator, by the
/// rules of Communicator.
class Transfer {
 public:
  /// Collective. Messages over a communicator of its own with the processes of `parent`.
  /// Counts of MPI are int: what is longer than `most_bytes` goes in pieces.
  explicit Transfer(MPI_Comm parent, std::size_t most_bytes = std::size_t{1} << 30);
  /// Collective.
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] std::int32_t rank() const { return rank_; }
  [[nodiscard]] std::int32_t size() const { return size_; }
  [[nodiscard]] MPI_Comm communicator() const { return communicator_; }

  void barrier() const;
  void broadcast(std::span<std::byte> bytes, std::int32_t root) const;
  void sum(std::span<double> values) const;
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value) const;
  [[nodiscard]] std::vector<double> gather_all(double value) const;
  [[nodiscard]] std::vector<std::string> gather(std::string_view text) const;
  /// @param text without line breaks
  [[nodiscard]] std::vector<std::string> gather_all(std::string_view text) const;

  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) const;
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) const;

 private:
  template <class T>
  [[nodiscard]] std::vector<T> gather_numbers(T value, MPI_Datatype type) const;

  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::size_t most_bytes_;
  std::int32_t rank_ = 0, size_ = 1;
};

}  // namespace espalier::solver
