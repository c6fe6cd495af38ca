#include "solver/distributed/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "espalier/model/error.h"

namespace espalier::solver {

std::int64_t Communicator::sum(std::int64_t value) {
  std::int64_t total = 0;
  for (const std::int64_t each : gather_all(value)) total = checked_add(total, each);
  return total;
}

std::int64_t Communicator::largest(std::int64_t value) {
  return std::ranges::max(gather_all(value));
}

std::int64_t Communicator::smallest(std::int64_t value) {
  return std::ranges::min(gather_all(value));
}

double Communicator::largest(double value) {
  double most = value;
  for (const double each : gather_all(value))
    if (std::isnan(each) || each > most) most = each;
  return most;
}

void SingleProcess::send(std::span<const std::byte> /*bytes*/, std::int32_t to,
                         std::int32_t /*tag*/) {
  throw InvalidInput(fmt::format("a message to process {} of one", to));
}

void SingleProcess::receive(std::span<std::byte> /*bytes*/, std::int32_t from,
                            std::int32_t /*tag*/) {
  throw InvalidInput(fmt::format("a message from process {} of one", from));
}

void SingleProcess::fail(int /*status*/, std::string_view message) {
  std::fputs(fmt::format("espalier: {}\n", message).c_str(), stderr);
  std::abort();
}

void end_together(Communicator& communicator, const std::exception_ptr& ended) {
  const auto first =
      communicator.smallest(ended ? communicator.rank() : communicator.size());
  if (ended) std::rethrow_exception(ended);
  if (first < communicator.size())
    throw Cancelled(fmt::format("process {} ended the call", first));
}

void fail_together(Communicator& communicator, std::string_view trouble) {
  const auto first = static_cast<std::int32_t>(
      communicator.smallest(trouble.empty() ? communicator.size() : communicator.rank()));
  if (first == communicator.size()) return;
  std::int64_t length = std::ssize(trouble);
  communicator.broadcast(std::as_writable_bytes(std::span(&length, 1)), first);
  std::string message(trouble);
  message.resize(static_cast<std::size_t>(length));
  communicator.broadcast(std::as_writable_bytes(std::span(message)), first);
  throw InvalidInput(message);
}

}  // namespace espalier::solver
