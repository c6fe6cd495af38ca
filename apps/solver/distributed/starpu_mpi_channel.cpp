// StarPU-MPI and the channels over it, which know each other: over 300 lines.

#include "solver/distributed/starpu_mpi_channel.h"

#include <fmt/format.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// Requests have this tag, data the following ones.
constexpr std::int64_t kRequestTag = 0;

// Tags of data, of the asking process: what it receives from another one with a tag is
// unique as long as it is under way. Then the tag is used again, since StarPU-MPI keeps
// some hundred bytes for each tag that it has ever met.
class Tags {
 public:
  // The first of so many that follow each other.
  std::int64_t take(std::size_t count) {
    const std::scoped_lock lock(mutex_);
    std::vector<std::int64_t>& free = free_[class_of(count)];
    if (free.empty())
      return std::exchange(next_, next_ + (std::int64_t{1} << class_of(count)));
    const std::int64_t first = free.back();
    free.pop_back();
    return first;
  }
  void give_back(std::int64_t first, std::size_t count) {
    const std::scoped_lock lock(mutex_);
    free_[class_of(count)].push_back(first);
  }

 private:
  // Of as many as the next power of two.
  static std::size_t class_of(std::size_t count) { return std::bit_width(count - 1); }

  std::mutex mutex_;
  std::array<std::vector<std::int64_t>, 64> free_;
  std::int64_t next_ = kRequestTag + 1;
};

// How long after the first process an exception that all have reaches the last one.
constexpr std::chrono::seconds kUnwinding{5};

void check(int status, const char* what) {
  if (status != 0)
    throw Error(fmt::format("StarPU-MPI cannot {}: status {}", what, status));
}

starpu_data_handle_t register_bytes(std::span<std::byte> bytes) {
  // In units of 8 bytes where possible: a vector has at most 2^32 elements.
  const std::size_t unit = bytes.size() % 8 == 0 ? 8 : 1;
  starpu_data_handle_t handle = nullptr;
  starpu_vector_data_register(&handle, STARPU_MAIN_RAM,
                              reinterpret_cast<std::uintptr_t>(bytes.data()),
                              static_cast<std::uint32_t>(bytes.size() / unit), unit);
  return handle;
}

}  // namespace

/// StarPU-MPI, as long as a channel uses it: an inbox for each other process, whose
/// requests go to the channel that they name, or wait for it.
class StarpuMpiChannel::StarpuMpi {
 public:
  /// That of this process, which starts with the first channel.
  static std::shared_ptr<StarpuMpi> join(MPI_Comm parent) {
    const std::scoped_lock lock(joining_);
    auto core = running_.lock();
    if (core == nullptr) {
      core = std::make_shared<StarpuMpi>(parent);
      running_ = core;
    }
    int same = MPI_UNEQUAL;
    MPI_Comm_compare(core->comm, parent, &same);
    if (same != MPI_IDENT && same != MPI_CONGRUENT)
      throw Error(
          "StarPU-MPI runs between the same processes for all of its users: end those "
          "that have others first");
    return core;
  }

  /// The last one ends it, before another begins.
  static void part(std::shared_ptr<StarpuMpi>& core) {
    const std::scoped_lock lock(joining_);
    core.reset();
  }

  explicit StarpuMpi(MPI_Comm parent) {
    MPI_Comm_dup(parent, &comm);
    check(starpu_mpi_init_comm(nullptr, nullptr, 0, comm), "start");
    starpu_mpi_comm_rank(comm, &rank);
    starpu_mpi_comm_size(comm, &size);
    inboxes_.resize(static_cast<std::size_t>(size));
    for (std::int32_t from = 0; from < size; ++from) {
      if (from == rank) continue;
      Inbox& inbox = inboxes_[from];
      inbox.core = this;
      inbox.from = from;
      starpu_variable_data_register(&inbox.handle, STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&inbox.request),
                                    sizeof(DataRequest));
      listen(inbox);
    }
  }
  /// Collective: the last channel has ended. Nothing comes after the last farewell.
  ~StarpuMpi() {
    std::vector<DataRequest> farewells(
        static_cast<std::size_t>(size),
        {.channel = kNobody, .kind = DataRequest::Kind::kBye});
    std::vector<starpu_data_handle_t> sent;
    for (std::int32_t to = 0; to < size; ++to) {
      if (to == rank) continue;
      starpu_variable_data_register(&sent.emplace_back(), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&farewells[to]),
                                    sizeof(DataRequest));
      starpu_mpi_isend_detached(sent.back(), to, kRequestTag, comm, nullptr, nullptr);
    }
    for (starpu_data_handle_t handle : sent) starpu_data_unregister(handle);
    {
      std::unique_lock lock(mutex_);
      silent_.wait(lock, [&] { return farewells_ == size - 1; });
    }
    for (Inbox& inbox : inboxes_)
      if (inbox.core != nullptr) starpu_data_unregister(inbox.handle);
    starpu_mpi_shutdown();
    MPI_Comm_free(&comm);
  }
  StarpuMpi(const StarpuMpi&) = delete;
  StarpuMpi& operator=(const StarpuMpi&) = delete;

  void enter(State& channel);
  void leave(const State& channel);
  Tags tags;
  MPI_Comm comm = MPI_COMM_NULL;
  std::int32_t rank = 0, size = 1;

 private:
  static constexpr std::int32_t kNobody = -1;
  struct Inbox {
    StarpuMpi* core;
    std::int32_t from;
    DataRequest request;
    starpu_data_handle_t handle;
  };

  void listen(Inbox& inbox) {
    check(starpu_mpi_irecv_detached(inbox.handle, inbox.from, kRequestTag, comm, arrived,
                                    &inbox),
          "receive");
  }
  static void arrived(void* argument) noexcept;

  inline static std::mutex joining_;  // of what follows: StarPU-MPI is a process's
  inline static std::weak_ptr<StarpuMpi> running_;

  std::vector<Inbox> inboxes_;  // by process
  std::mutex mutex_;            // of what follows
  std::condition_variable silent_;
  std::int32_t farewells_ = 0, next_number_ = 0;
  std::map<std::int32_t, State*> channels_;
  std::vector<std::pair<std::int32_t, DataRequest>> early_;  // for channels not yet here
};

struct StarpuMpiChannel::State {
  /// Several messages that belong together: what to do when all have passed.
  struct Batch {
    State* state;
    std::atomic<int> left;
    std::function<void()> done;
  };
  struct Message {
    Batch* batch;
    starpu_data_handle_t handle;
  };
  struct Outgoing {
    State* state;
    DataRequest request;
    starpu_data_handle_t handle;
  };

  State(void* communicator, std::function<void()> on_failure)
      : failed(std::move(on_failure)),
        core(StarpuMpi::join(static_cast<MPI_Comm>(communicator))),
        comm(core->comm) {
    core->enter(*this);
  }

  ~State() {
    std::unique_lock lock(mutex);
    idle.wait(lock, [&] { return is_left(); });
    lock.unlock();
    core->leave(*this);
    StarpuMpi::part(core);
  }

  // Nothing is under way, and all others have said that they leave.
  [[nodiscard]] bool is_left() const {
    return under_way == 0 && farewells == core->size - 1;
  }
  /// Whether that comes in time.
  [[nodiscard]] bool is_left_within(std::chrono::seconds patience) {
    std::unique_lock lock(mutex);
    return idle.wait_for(lock, patience, [&] { return is_left(); });
  }

  // From the thread of StarPU-MPI.
  void receive(std::int32_t from, const DataRequest& request) noexcept try {
    if (request.kind == DataRequest::Kind::kBye) {
      const std::scoped_lock lock(mutex);
      ++farewells;
      idle.notify_all();
      return;
    }
    const std::scoped_lock lock(serving);
    if (handler)
      handler(from, request);
    else
      backlog.emplace_back(from, request);
  } catch (...) {
    give_up();
  }

  // In a catch block. Nothing may pass through StarPU-MPI, whose thread holds its locks.
  void give_up() const noexcept {
    if (!failed) std::terminate();
    failed();
  }

  void serve_with(Handler next) {
    const std::scoped_lock lock(serving);
    handler = std::move(next);
    if (!handler) return;
    for (const auto& [from, request] : std::exchange(backlog, {})) handler(from, request);
  }

  void tell(std::int32_t to, const DataRequest& request) {
    begin_one();
    auto* const message = new Outgoing{this, request, nullptr};
    message->request.channel = number;
    starpu_variable_data_register(&message->handle, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&message->request),
                                  sizeof(DataRequest));
    check(
        starpu_mpi_isend_detached(message->handle, to, kRequestTag, comm, told, message),
        "send");
  }
  // The memory of the message goes when StarPU has let go of it.
  static void told(void* argument) noexcept {
    auto* const message = static_cast<Outgoing*>(argument);
    starpu_data_unregister_submit(message->handle);
    State& state = *message->state;
    delete message;
    state.end_one();
  }

  // The last message of a batch calls done().
  static void passed(void* argument) noexcept {
    auto* const message = static_cast<Message*>(argument);
    Batch* const batch = message->batch;
    starpu_data_unregister_submit(message->handle);
    delete message;
    if (--batch->left > 0) return;
    const std::function<void()> done = std::move(batch->done);
    State& state = *batch->state;
    delete batch;
    try {
      done();
    } catch (...) {
      state.give_up();
    }
    state.end_one();
  }

  // The batch may be gone when the last message has been posted: done() is never called
  // here, where the caller may hold what it locks.
  template <class Post>
  void post(const Parts& parts, std::function<void()> done, Post post_one) {
    const auto count =
        std::ranges::count_if(parts, [](const auto& part) { return !part.empty(); });
    ESPALIER_ASSERT(count > 0, "something is sent");
    begin_one();
    auto* const batch = new Batch{this, {static_cast<int>(count)}, std::move(done)};
    std::int64_t offset = 0;
    for (const std::span<std::byte> part : parts) {
      const std::int64_t place = offset++;
      if (!part.empty()) post_one(place, new Message{batch, register_bytes(part)});
    }
  }

  void begin_one() {
    const std::scoped_lock lock(mutex);
    ++under_way;
  }
  void end_one() {
    const std::scoped_lock lock(mutex);
    if (--under_way == 0) idle.notify_all();
  }

  std::function<void()> failed;
  std::shared_ptr<StarpuMpi> core;
  MPI_Comm comm;
  std::int32_t number = 0;
  std::atomic<std::int64_t> messages{0}, bytes{0};

  std::mutex serving;  // of what follows
  Handler handler;
  std::vector<std::pair<std::int32_t, DataRequest>> backlog;

  std::mutex mutex;  // of what follows
  std::condition_variable idle;
  std::int64_t under_way = 0;
  std::int32_t farewells = 0;
};

void StarpuMpiChannel::StarpuMpi::enter(State& channel) {
  const std::scoped_lock lock(mutex_);
  channel.number = next_number_++;
  channels_.emplace(channel.number, &channel);
  std::erase_if(early_, [&](const auto& one) {
    if (one.second.channel != channel.number) return false;
    channel.receive(one.first, one.second);
    return true;
  });
}

void StarpuMpiChannel::StarpuMpi::leave(const State& channel) {
  const std::scoped_lock lock(mutex_);
  channels_.erase(channel.number);
}

// A channel is there until its own farewells have come: it is called without the lock, as
// it may ask and answer.
void StarpuMpiChannel::StarpuMpi::arrived(void* argument) noexcept {
  auto& inbox = *static_cast<Inbox*>(argument);
  StarpuMpi& core = *inbox.core;
  const DataRequest request = inbox.request;
  State* channel = nullptr;
  {
    const std::scoped_lock lock(core.mutex_);
    if (request.channel == kNobody) {
      ++core.farewells_;
      core.silent_.notify_all();
      return;
    }
    const auto place = core.channels_.find(request.channel);
    if (place == core.channels_.end())
      core.early_.emplace_back(inbox.from, request);
    else
      channel = place->second;
  }
  try {
    core.listen(inbox);
  } catch (...) {
    if (channel == nullptr) std::terminate();
    channel->give_up();
  }
  if (channel != nullptr) channel->receive(inbox.from, request);
}

StarpuMpiChannel::StarpuMpiChannel(void* communicator, std::function<void()> failed)
    : state_(std::make_unique<State>(communicator, std::move(failed))) {}

// An exception may be that of all processes, which then part as ever; or the others wait
// for something else, and the job is going to be ended.
StarpuMpiChannel::~StarpuMpiChannel() {
  tell_all({.kind = DataRequest::Kind::kBye});
  if (std::uncaught_exceptions() > 0 && !state_->is_left_within(kUnwinding))
    (void)state_.release();
}

void StarpuMpiChannel::serve_with(Handler handler) {
  state_->serve_with(std::move(handler));
}

void StarpuMpiChannel::fetch(std::int32_t from, DataRequest request, const Parts& parts,
                             std::function<void()> done) {
  Tags& tags = state_->core->tags;
  const std::int64_t first = request.tag = tags.take(parts.size());
  const auto received = [&tags, first, count = parts.size(), done = std::move(done)] {
    tags.give_back(first, count);
    done();
  };
  state_->post(parts, received, [&](std::int64_t place, State::Message* message) {
    check(starpu_mpi_irecv_detached(message->handle, from, request.tag + place,
                                    state_->comm, State::passed, message),
          "receive");
  });
  state_->tell(from, request);
}

void StarpuMpiChannel::answer(std::int32_t to, const DataRequest& request,
                              const Parts& parts, std::function<void()> done) {
  state_->post(parts, std::move(done), [&](std::int64_t place, State::Message* message) {
    ++state_->messages;
    state_->bytes += static_cast<std::int64_t>(parts[place].size());
    check(starpu_mpi_isend_detached(message->handle, to, request.tag + place,
                                    state_->comm, State::passed, message),
          "send");
  });
}

void StarpuMpiChannel::tell_all(const DataRequest& request) {
  for (std::int32_t to = 0; to < state_->core->size; ++to)
    if (to != state_->core->rank) state_->tell(to, request);
}

StarpuMpiChannel::Counters StarpuMpiChannel::sent() const {
  return {state_->messages, state_->bytes};
}

}  // namespace espalier::solver
