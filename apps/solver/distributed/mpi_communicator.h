#pragma once

#include <mpi.h>

#include <string>
#include <string_view>

#include "solver/distributed/communicator.h"

namespace espalier::solver {

/// The processes of a MPI_Comm, of a program that has started MPI and ends it after this.
/// A process that dies leaves the others waiting, as with any use of MPI; one that calls
/// fail() prints the message and aborts MPI.
class MpiCommunicator : public Communicator {
 public:
  /// Collective. Messages go over communicators of its own with the processes of
  /// `parent`. Counts of MPI are int: what is longer than `most_bytes` goes in pieces.
  /// @throws Error where MPI does not let several threads communicate
  ///         (MPI_THREAD_MULTIPLE)
  explicit MpiCommunicator(MPI_Comm parent,
                           std::size_t most_bytes = std::size_t{1} << 30);
  /// Collective.
  ~MpiCommunicator() override;

  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t size() const override { return size_; }
  /// In MPI_COMM_WORLD: the StarPU-MPI of StarPU 1.3 ends with all processes of that.
  [[nodiscard]] bool alone() const override;
  void barrier() override;
  void broadcast(std::span<std::byte> bytes, std::int32_t root = 0) override;
  using Communicator::sum;
  void sum(std::span<double> values) override;
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value) override;
  [[nodiscard]] std::vector<double> gather_all(double value) override;
  /// Collective. Of every process, by rank; at rank 0, empty elsewhere.
  [[nodiscard]] std::vector<std::string> gather(std::string_view text);
  /// Everywhere. @param text without line breaks
  [[nodiscard]] std::vector<std::string> gather_all(std::string_view text);
  [[nodiscard]] std::unique_ptr<Channel> open_channel(
      std::function<void()> failed) override;
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) override;
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override;
  [[noreturn]] void fail(int status, std::string_view message) override;

  /// For StarPU-MPI: an MPI_Comm of its own.
  [[nodiscard]] void* data_communicator() const { return data_; }

 private:
  template <class T>
  [[nodiscard]] std::vector<T> gather_numbers(T value, MPI_Datatype type) const;

  std::size_t most_bytes_;
  MPI_Comm communicator_ = MPI_COMM_NULL, data_ = MPI_COMM_NULL;
  std::int32_t rank_ = 0, size_ = 1;
};

}  // namespace espalier::solver
