#pragma once

#include <mpi.h>

#include "solver/distributed/communicator.h"
#include "solver/distributed/transfer.h"

namespace espalier::solver {

/// The processes of a MPI_Comm, of a program that has started MPI and ends it after this.
/// A process that dies leaves the others waiting, as with any use of MPI; one that calls
/// fail() prints the message and aborts MPI.
class MpiCommunicator : public Communicator {
 public:
  /// Collective. Messages go over communicators of its own.
  /// @throws Error where MPI does not let several threads communicate
  ///         (MPI_THREAD_MULTIPLE)
  explicit MpiCommunicator(MPI_Comm parent);

  [[nodiscard]] std::int32_t rank() const override { return transfer_.rank(); }
  [[nodiscard]] std::int32_t size() const override { return transfer_.size(); }
  void barrier() override { transfer_.barrier(); }
  void broadcast(std::span<std::byte> bytes, std::int32_t root = 0) override {
    transfer_.broadcast(bytes, root);
  }
  using Communicator::sum;
  void sum(std::span<double> values) override { transfer_.sum(values); }
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value) override {
    return transfer_.gather_all(value);
  }
  [[nodiscard]] std::vector<double> gather_all(double value) override {
    return transfer_.gather_all(value);
  }
  void send(std::span<const std::byte> bytes, std::int32_t to,
            std::int32_t tag) override {
    transfer_.send(bytes, to, tag);
  }
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override {
    transfer_.receive(bytes, from, tag);
  }
  [[noreturn]] void fail(int status, std::string_view message) override;
  [[nodiscard]] void* data_communicator() const override { return data_.communicator(); }

  [[nodiscard]] const Transfer& transfer() const { return transfer_; }

 private:
  Transfer transfer_, data_;
};

}  // namespace espalier::solver
