#pragma once

// Threads of one program in place of the processes of a job.

#include <algorithm>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <functional>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "solver/distributed/communicator.h"

namespace espalier::solver {

/// What the threads share. A send waits for its receive, which is the most that MPI may
/// do: an order of messages that can hang does. After a while both throw.
class ThreadJob {
 public:
  explicit ThreadJob(std::int32_t threads) : parts_(threads), barrier_(threads) {}

  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(parts_.size());
  }

  void send(std::span<const std::byte> bytes, std::int32_t from, std::int32_t to,
            std::int32_t tag) {
    std::unique_lock lock(mutex_);
    offers_.push_back({from, to, tag, bytes, false});
    const auto mine = std::prev(offers_.end());
    changed_.notify_all();
    wait(lock, [&] { return mine->taken; });
    offers_.erase(mine);
  }

  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t to,
               std::int32_t tag) {
    std::unique_lock lock(mutex_);
    wait(lock, [&] {
      for (Offer& offer : offers_) {
        if (offer.taken ||
            std::tie(offer.from, offer.to, offer.tag) != std::tie(from, to, tag))
          continue;
        if (offer.bytes.size() != bytes.size())
          throw std::length_error("a message of another length");
        std::ranges::copy(offer.bytes, bytes.begin());
        offer.taken = true;
        return true;
      }
      return false;
    });
    changed_.notify_all();
  }

  void broadcast(std::int32_t rank, std::span<std::byte> bytes, std::int32_t root) {
    parts_[rank] = bytes;
    barrier_.arrive_and_wait();
    if (parts_[root].size() != bytes.size())
      throw std::length_error("a broadcast of another length");
    if (rank != root) std::ranges::copy(parts_[root], bytes.begin());
    barrier_.arrive_and_wait();
  }

  void sum(std::int32_t rank, std::span<double> values) {
    parts_[rank] = std::as_writable_bytes(values);
    barrier_.arrive_and_wait();
    std::vector<double> total(values.size(), 0.0), part(values.size());
    for (const std::span<std::byte> bytes : parts_) {
      if (bytes.size() != values.size_bytes())
        throw std::length_error("a sum of vectors of different lengths");
      if (!part.empty()) std::memcpy(part.data(), bytes.data(), bytes.size());
      for (std::size_t k = 0; k < part.size(); ++k) total[k] += part[k];
    }
    barrier_.arrive_and_wait();
    std::ranges::copy(total, values.begin());
  }

  /// Others no longer wait in collective calls for one that threw.
  void leave() { barrier_.arrive_and_drop(); }

 private:
  struct Offer {
    std::int32_t from, to, tag;
    std::span<const std::byte> bytes;
    bool taken;
  };
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, const Condition& condition) {
    if (!changed_.wait_for(lock, std::chrono::seconds(20), condition))
      throw std::runtime_error("a message that nobody meets");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::list<Offer> offers_;
  std::vector<std::span<std::byte>> parts_;
  std::barrier<> barrier_;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(ThreadJob& job, std::int32_t rank) : job_(job), rank_(rank) {}
  [[nodiscard]] std::int32_t rank() const override { return rank_; }
  [[nodiscard]] std::int32_t size() const override { return job_.size(); }
  void barrier() override { job_.broadcast(rank_, {}, 0); }
  void broadcast(std::span<std::byte> bytes, std::int32_t root) override {
    job_.broadcast(rank_, bytes, root);
  }
  std::vector<std::int64_t> gather_all(std::int64_t value) override {
    return gather(value);
  }
  std::vector<double> gather_all(double value) override { return gather(value); }
  std::unique_ptr<Channel> open_channel(std::function<void()> /*failed*/) override {
    throw std::logic_error("threads have no channel");
  }
  [[noreturn]] void fail(int /*status*/, std::string_view message) override {
    throw std::runtime_error(std::string(message));
  }
  using Communicator::sum;
  void sum(std::span<double> values) override { job_.sum(rank_, values); }
  void send(std::span<const std::byte> bytes, std::int32_t to,
            std::int32_t tag) override {
    job_.send(bytes, rank_, to, tag);
  }
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override {
    job_.receive(bytes, from, rank_, tag);
  }
  [[nodiscard]] bool has_own_runtime() const override { return false; }

 private:
  template <class T>
  std::vector<T> gather(T value) {
    std::vector<T> all(static_cast<std::size_t>(size()), value);
    for (std::int32_t root = 0; root < size(); ++root)
      job_.broadcast(rank_, std::as_writable_bytes(std::span(all).subspan(root, 1)),
                     root);
    return all;
  }

  ThreadJob& job_;
  std::int32_t rank_;
};

/// Runs `process` once for each rank. @throws what the first of them threw
inline void run_threads(std::int32_t processes,
                        const std::function<void(Communicator&)>& process) {
  ThreadJob job(processes);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(processes));
  std::vector<std::thread> threads;
  for (std::int32_t rank = 0; rank < processes; ++rank)
    threads.emplace_back([&, rank] {
      try {
        ThreadCommunicator communicator(job, rank);
        process(communicator);
      } catch (...) {
        errors[static_cast<std::size_t>(rank)] = std::current_exception();
        job.leave();
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace espalier::solver
