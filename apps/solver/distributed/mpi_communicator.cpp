#include "solver/distributed/mpi_communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "espalier/model/error.h"
#include "solver/distributed/mpi_calls.h"
#include "solver/distributed/starpu_mpi_channel.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kMostSummed = std::size_t{1} << 16;  // bytes at once

// Calls f(start, length) for consecutive pieces of `length` elements, and once for none.
template <class F>
void for_each_piece(std::size_t length, std::size_t most, F f) {
  std::size_t start = 0;
  do {
    const std::size_t piece = std::min(length - start, most);
    f(start, static_cast<int>(piece));
    start += piece;
  } while (start < length);
}

MPI_Comm copy_of(MPI_Comm parent) {
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_dup(parent, &copy), "making a communicator");
  MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
  return copy;
}

}  // namespace

MpiCommunicator::MpiCommunicator(MPI_Comm parent, std::size_t most_bytes)
    : most_bytes_(most_bytes) {
  int level = 0;
  check_mpi(MPI_Query_thread(&level), "asking MPI for its threads");
  if (level < MPI_THREAD_MULTIPLE)
    throw Error(
        "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE)");
  communicator_ = copy_of(parent);
  data_ = copy_of(parent);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

MpiCommunicator::~MpiCommunicator() {
  MPI_Comm_free(&data_);
  MPI_Comm_free(&communicator_);
}

bool MpiCommunicator::alone() const {
  int all = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &all);
  return all == 1;
}

void MpiCommunicator::barrier() {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(communicator_, &request), "barrier");
  wait(request);
}

void MpiCommunicator::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  for_each_piece(bytes.size(), most_bytes_, [&](std::size_t start, int length) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(
        MPI_Ibcast(bytes.data() + start, length, MPI_BYTE, root, communicator_, &request),
        "broadcast");
    wait(request);
  });
}

// Not an all-reduce: processes may there add in different orders, and differ in the last
// bits.
void MpiCommunicator::sum(std::span<double> values) {
  // Open MPI receives into memory of its own, as much as is summed at once.
  for_each_piece(values.size(), std::min(kMostSummed, most_bytes_) / sizeof(double),
                 [&](std::size_t start, int n) {
                   double* const piece = values.data() + start;
                   MPI_Request request = MPI_REQUEST_NULL;
                   check_mpi(MPI_Ireduce(rank_ == 0 ? MPI_IN_PLACE : piece,
                                         rank_ == 0 ? piece : nullptr, n, MPI_DOUBLE,
                                         MPI_SUM, 0, communicator_, &request),
                             "sum over processes");
                   wait(request);
                 });
  broadcast(std::as_writable_bytes(values), 0);
}

template <class T>
std::vector<T> MpiCommunicator::gather_numbers(T value, MPI_Datatype type) const {
  std::vector<T> all(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&value, 1, type, all.data(), 1, type, communicator_, &request),
            "gathering a number of every process");
  wait(request);
  return all;
}

std::vector<std::int64_t> MpiCommunicator::gather_all(std::int64_t value) {
  return gather_numbers(value, MPI_INT64_T);
}

std::vector<double> MpiCommunicator::gather_all(double value) {
  return gather_numbers(value, MPI_DOUBLE);
}

// Lengths first: a receiver must know them.
std::vector<std::string> MpiCommunicator::gather(std::string_view text) {
  const std::vector<std::int64_t> length = gather_all(std::ssize(text));
  std::vector<std::string> all;
  if (rank_ != 0) {
    send(std::as_bytes(std::span(text)), 0, 0);
    return all;
  }
  all.emplace_back(text);
  for (std::int32_t from = 1; from < size_; ++from) {
    std::string& each = all.emplace_back(static_cast<std::size_t>(length[from]), '\0');
    receive(std::as_writable_bytes(std::span(each)), from, 0);
  }
  return all;
}

std::vector<std::string> MpiCommunicator::gather_all(std::string_view text) {
  std::string lines;
  for (const std::string& each : gather(text)) lines += each + '\n';
  lines.resize(static_cast<std::size_t>(gather_all(std::ssize(lines))[0]));
  broadcast(std::as_writable_bytes(std::span(lines)), 0);
  std::vector<std::string> all(static_cast<std::size_t>(size_));
  std::size_t start = 0;
  for (std::string& each : all) {
    const std::size_t end = lines.find('\n', start);
    each = lines.substr(start, end - start);
    start = end + 1;
  }
  return all;
}

void MpiCommunicator::send(std::span<const std::byte> bytes, std::int32_t to,
                           std::int32_t tag) {
  ESPALIER_ASSERT(to != rank_, "a process sends to itself and would wait for itself");
  for_each_piece(bytes.size(), most_bytes_, [&](std::size_t start, int length) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(bytes.data() + start, length, MPI_BYTE, to, tag, communicator_,
                        &request),
              "sending");
    wait(request);
  });
}

void MpiCommunicator::receive(std::span<std::byte> bytes, std::int32_t from,
                              std::int32_t tag) {
  ESPALIER_ASSERT(from != rank_, "a process waits for a message of its own");
  for_each_piece(bytes.size(), most_bytes_, [&](std::size_t start, int length) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Irecv(bytes.data() + start, length, MPI_BYTE, from, tag, communicator_,
                        &request),
              "receiving");
    const MPI_Status status = wait(request);
    int received = 0;
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (received != length)
      throw Error(fmt::format("{} bytes expected of rank {} with tag {}, {} received",
                              length, from, tag, received));
  });
}

std::unique_ptr<Channel> MpiCommunicator::open_channel(std::function<void()> failed) {
  return std::make_unique<StarpuMpiChannel>(data_communicator(), std::move(failed));
}

void MpiCommunicator::fail(int status, std::string_view message) {
  const std::string text = fmt::format("espalier: rank {}: {}\n", rank(), message);
  std::fputs(text.c_str(), stderr);
  MPI_Abort(communicator_, status);
  std::abort();
}

}  // namespace espalier::solver
