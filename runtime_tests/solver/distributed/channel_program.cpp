// Messages between the processes of a job, each asked for and answered under a lock that
// their ends take, too: many small ones, so that some end before the call returns.

#include "solver/distributed/starpu_mpi_channel.h"

#include <fmt/format.h>

#include <condition_variable>
#include <mutex>
#include <numeric>

#include "cli/job/cluster.h"
#include "solver/distributed/job_program.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver {

using namespace cli;
namespace {

constexpr std::int32_t kRequests = 2000, kAtOnce = 8;

// What a process has to say to a request, in two parts of which one may be empty.
struct Content {
  explicit Content(std::int32_t block) : values(1 + block % 7, 0) {}
  Content(std::int32_t process, std::int32_t block) : Content(block) {
    std::iota(values.begin(), values.end(), std::int64_t{process} << 32 | block);
  }
  [[nodiscard]] StarpuMpiChannel::Parts parts() {
    const auto bytes = std::as_writable_bytes(std::span(values));
    const std::size_t first = values.size() / 2 * sizeof(std::int64_t);
    return {bytes.first(first), bytes.subspan(first)};
  }
  std::vector<std::int64_t> values;
};

class Exchange {
 public:
  Exchange(Cluster& cluster, StarpuMpiChannel& channel)
      : cluster_(cluster),
        channel_(channel),
        other_((cluster.rank() + 1) % cluster.size()) {}

  void run() {
    channel_.serve_with(
        [this](std::int32_t from, const DataRequest& request) { serve(from, request); });
    std::unique_lock lock(mutex_);
    for (std::int32_t block = 0; block < kRequests; ++block) {
      changed_.wait(lock, [this] { return fetching_ < kAtOnce; });
      fetch(block);
    }
    changed_.wait(lock, [this] { return fetching_ == 0 && answered_ == kRequests; });
    lock.unlock();
    cluster_.barrier();
    channel_.serve_with({});
  }

 private:
  void fetch(std::int32_t block) {
    ++fetching_;
    const auto content = std::make_shared<Content>(block);
    channel_.fetch(other_, {.node = 1, .block = block}, content->parts(),
                   [this, content, block] {
                     const std::scoped_lock lock(mutex_);
                     if (content->values != Content(other_, block).values)
                       cluster_.fail(3, fmt::format("a wrong answer to {}", block));
                     --fetching_;
                     changed_.notify_all();
                   });
  }

  void serve(std::int32_t from, const DataRequest& request) {
    const std::scoped_lock lock(mutex_);
    const auto content = std::make_shared<Content>(cluster_.rank(), request.block);
    channel_.answer(from, request, content->parts(), [this, content] {
      const std::scoped_lock again(mutex_);
      ++answered_;
      changed_.notify_all();
    });
  }

  Cluster& cluster_;
  StarpuMpiChannel& channel_;
  std::int32_t other_;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::int32_t fetching_ = 0, answered_ = 0;
};

void run(Cluster& cluster) {
  Runtime runtime({1, "espalier"});
  runtime.wake();
  {
    StarpuMpiChannel channel(cluster.data_communicator());
    Exchange(cluster, channel).run();
  }
  runtime.sleep();
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=messages\n",
      [&](auto& cluster) { espalier::solver::run(cluster); }, "exchanged");
}
