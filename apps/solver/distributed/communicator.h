#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/channel.h"

namespace espalier::solver {

/// The processes that solve a system together, as one of them sees them.
///
/// Collective calls are made by one thread of every process, in the same order. Between
/// two processes messages with one tag arrive in order; blocking, by any one thread at a
/// time: a send of more than a few KiB may wait for its receive. Any length, the same at
/// both ends. Tags from 0.
class Communicator {
 public:
  Communicator() = default;
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] virtual std::int32_t rank() const = 0;
  [[nodiscard]] virtual std::int32_t size() const = 0;
  /// Whether there is nobody who would wait for a channel of this process.
  [[nodiscard]] virtual bool alone() const { return size() == 1; }

  // Collective.
  virtual void barrier() = 0;
  virtual void broadcast(std::span<std::byte> bytes, std::int32_t root = 0) = 0;
  /// Over processes, in place, the same bits everywhere.
  virtual void sum(std::span<double> values) = 0;
  /// Of every process, by rank; everywhere.
  [[nodiscard]] virtual std::vector<std::int64_t> gather_all(std::int64_t value) = 0;
  [[nodiscard]] virtual std::vector<double> gather_all(double value) = 0;
  /// @throws OverflowError
  [[nodiscard]] std::int64_t sum(std::int64_t value);
  [[nodiscard]] std::int64_t largest(std::int64_t value);
  [[nodiscard]] double largest(double value);  ///< NaN where any is
  [[nodiscard]] std::int64_t smallest(std::int64_t value);
  /// A channel for what tasks need of other processes; it ends with all of them.
  /// @param failed  as of StarpuMpiChannel
  [[nodiscard]] virtual std::unique_ptr<Channel> open_channel(
      std::function<void()> failed) = 0;

  virtual void send(std::span<const std::byte> bytes, std::int32_t to,
                    std::int32_t tag) = 0;
  virtual void receive(std::span<std::byte> bytes, std::int32_t from,
                       std::int32_t tag) = 0;

  /// This process cannot go on, and the others would wait for it: ends all of them. From
  /// any thread.
  /// @param status  1: the answer is no, 2: bad input, 3: internal
  [[noreturn]] virtual void fail(int status, std::string_view message) = 0;

  /// Whether the runtime of this process may sleep while it waits for others: it is not
  /// theirs too.
  [[nodiscard]] virtual bool has_own_runtime() const { return true; }
};

/// One process, which waits for nobody.
class SingleProcess final : public Communicator {
 public:
  [[nodiscard]] std::int32_t rank() const override { return 0; }
  [[nodiscard]] std::int32_t size() const override { return 1; }
  void barrier() override {}
  void broadcast(std::span<std::byte> /*bytes*/, std::int32_t /*root*/) override {}
  using Communicator::sum;
  void sum(std::span<double> /*values*/) override {}
  [[nodiscard]] std::vector<std::int64_t> gather_all(std::int64_t value) override {
    return {value};
  }
  [[nodiscard]] std::vector<double> gather_all(double value) override { return {value}; }
  /// @return null: nobody is at the other end
  [[nodiscard]] std::unique_ptr<Channel> open_channel(
      std::function<void()> /*failed*/) override {
    return nullptr;
  }
  /// @throws InvalidInput: there is nobody to send to
  void send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) override;
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override;
  /// Prints the message and aborts.
  [[noreturn]] void fail(int status, std::string_view message) override;
};

/// Tags of the messages between two processes.
enum class MessageTag : std::int32_t { kMatrix = 100, kForward, kBackward, kValues };

template <class T>
void send(Communicator& communicator, std::span<const T> values, std::int32_t to,
          MessageTag tag) {
  communicator.send(std::as_bytes(values), to, static_cast<std::int32_t>(tag));
}
template <class T>
void receive(Communicator& communicator, std::span<T> values, std::int32_t from,
             MessageTag tag) {
  communicator.receive(std::as_writable_bytes(values), from,
                       static_cast<std::int32_t>(tag));
}

/// Collective, where a step may fail at some processes alone.
/// @param trouble  what went wrong here; empty: nothing
/// @throws InvalidInput everywhere: the message of the first process that has one
void fail_together(Communicator& communicator, std::string_view trouble);

/// Collective, where functions of the callers may have ended a step.
/// @param ended  what was thrown here; null: nothing
/// @throws that; Cancelled where nothing was thrown and another process has something
void end_together(Communicator& communicator, const std::exception_ptr& ended);

/// Collective. An Error that the step throws at one process is thrown at all of them when
/// it is done, as fail_together() does; anything else, and Cancelled, as end_together().
template <class Step>
void together(Communicator& communicator, const Step& step) {
  std::string trouble;
  std::exception_ptr ended;
  try {
    step();
  } catch (const Cancelled&) {
    ended = std::current_exception();
  } catch (const Error& error) {
    trouble = error.what();
  } catch (...) {
    ended = std::current_exception();
  }
  end_together(communicator, ended);
  fail_together(communicator, trouble);
}

}  // namespace espalier::solver
