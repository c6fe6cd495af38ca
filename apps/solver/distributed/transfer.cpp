#include "solver/distributed/transfer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// Calls f(start, length) for consecutive pieces of `length` elements, and once for none.
constexpr std::size_t kMostSummed = std::size_t{1} << 19;  // bytes at once

template <class F>
void for_each_piece(std::size_t length, std::size_t most, F f) {
  std::size_t start = 0;
  do {
    const std::size_t piece = std::min(length - start, most);
    f(start, static_cast<int>(piece));
    start += piece;
  } while (start < length);
}

}  // namespace

void check_mpi(int status, std::string_view what) {
  if (status == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(status, text.data(), &length);
  throw Error(
      fmt::format("{}: {}", what, std::string_view(text.data(), std::size_t(length))));
}

void Pause::operator()() {
  constexpr std::int64_t kLooks = 100;  // tens of microseconds
  constexpr double kLeast = 20, kMost = 1000, kShare = 0.125;
  if (++looks_ <= kLooks) {
    std::this_thread::yield();
    return;
  }
  const double time = std::clamp(kShare * slept_microseconds_, kLeast, kMost);
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(time));
  slept_microseconds_ += time;
}

// A look that takes long has moved a part of a message, and there may be more; or it was
// held up by others, so that a pause must come at last.
MPI_Status wait(MPI_Request& request) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kMoved = std::chrono::microseconds(10);
  constexpr int kMostMoved = 32;
  MPI_Status status;
  Pause pause;
  for (int done = 0, moved = 0;;) {
    const Clock::time_point start = Clock::now();
    check_mpi(MPI_Test(&request, &done, &status), "waiting for another process");
    if (done != 0) return status;
    if (Clock::now() - start < kMoved || ++moved % kMostMoved == 0) pause();
  }
}

Transfer::Transfer(MPI_Comm parent, std::size_t most_bytes) : most_bytes_(most_bytes) {
  check_mpi(MPI_Comm_dup(parent, &communicator_), "making a communicator");
  MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(communicator_, &rank_);
  MPI_Comm_size(communicator_, &size_);
}

Transfer::~Transfer() { MPI_Comm_free(&communicator_); }

void Transfer::barrier() const {
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(communicator_, &request), "barrier");
  wait(request);
}

void Transfer::broadcast(std::span<std::byte> bytes, std::int32_t root) const {
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
void Transfer::sum(std::span<double> values) const {
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
std::vector<T> Transfer::gather_numbers(T value, MPI_Datatype type) const {
  std::vector<T> all(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallgather(&value, 1, type, all.data(), 1, type, communicator_, &request),
            "gathering a number of every process");
  wait(request);
  return all;
}

std::vector<std::int64_t> Transfer::gather_all(std::int64_t value) const {
  return gather_numbers(value, MPI_INT64_T);
}

std::vector<double> Transfer::gather_all(double value) const {
  return gather_numbers(value, MPI_DOUBLE);
}

// Lengths first: a receiver must know them.
std::vector<std::string> Transfer::gather(std::string_view text) const {
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

std::vector<std::string> Transfer::gather_all(std::string_view text) const {
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

void Transfer::send(std::span<const std::byte> bytes, std::int32_t to,
                    std::int32_t tag) const {
  ESPALIER_ASSERT(to != rank_, "a process sends to itself and would wait for itself");
  for_each_piece(bytes.size(), most_bytes_, [&](std::size_t start, int length) {
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Isend(bytes.data() + start, length, MPI_BYTE, to, tag, communicator_,
                        &request),
              "sending");
    wait(request);
  });
}

void Transfer::receive(std::span<std::byte> bytes, std::int32_t from,
                       std::int32_t tag) const {
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

}  // namespace espalier::solver
