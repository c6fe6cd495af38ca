#include "solver/distributed/transport.h"

#include <fmt/format.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

// Requests have this tag, data the following ones. Tags of data count up at the asking
// process: what it receives from another one with a tag is unique.
constexpr std::int64_t kRequestTag = 0;

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

// StarPU-MPI is there once in a process: nothing serves a second use of it.
std::atomic<bool> in_use{false};

class OnlyUse {
 public:
  OnlyUse() {
    if (in_use.exchange(true))
      throw Error("StarPU-MPI has one user at a time in a process: end the first one");
  }
  ~OnlyUse() { in_use = false; }
  OnlyUse(const OnlyUse&) = delete;
  OnlyUse& operator=(const OnlyUse&) = delete;
};

}  // namespace

struct Transport::State {
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
  struct Inbox {
    State* state;
    std::int32_t from;
    DataRequest request;
    starpu_data_handle_t handle;
  };
  struct Outgoing {
    State* state;
    DataRequest request;
    starpu_data_handle_t handle;
  };

  State(void* communicator, std::function<void()> on_failure)
      : failed(std::move(on_failure)), comm(static_cast<MPI_Comm>(communicator)) {
    check(starpu_mpi_init_comm(nullptr, nullptr, 0, comm), "start");
    starpu_mpi_comm_rank(comm, &rank);
    starpu_mpi_comm_size(comm, &size);
    inboxes.resize(static_cast<std::size_t>(size));
    for (std::int32_t from = 0; from < size; ++from) {
      if (from == rank) continue;
      Inbox& inbox = inboxes[from];
      inbox.state = this;
      inbox.from = from;
      starpu_variable_data_register(&inbox.handle, STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(&inbox.request),
                                    sizeof(DataRequest));
      listen(inbox);
    }
  }

  ~State() {
    {
      std::unique_lock lock(mutex);
      idle.wait(lock, [&] { return under_way == 0 && farewells == size - 1; });
    }
    for (Inbox& inbox : inboxes)
      if (inbox.state != nullptr) starpu_data_unregister(inbox.handle);
    starpu_mpi_shutdown();
  }

  void listen(Inbox& inbox) {
    check(starpu_mpi_irecv_detached(inbox.handle, inbox.from, kRequestTag, comm, arrived,
                                    &inbox),
          "receive");
  }

  static void arrived(void* argument) noexcept try {
    auto& inbox = *static_cast<Inbox*>(argument);
    State& state = *inbox.state;
    const DataRequest request = inbox.request;
    if (request.kind == DataRequest::Kind::kBye) {
      const std::scoped_lock lock(state.mutex);
      ++state.farewells;
      state.idle.notify_all();
      return;
    }
    state.listen(inbox);
    const std::scoped_lock lock(state.serving);
    if (state.handler)
      state.handler(inbox.from, request);
    else
      state.backlog.emplace_back(inbox.from, request);
  } catch (...) {
    static_cast<Inbox*>(argument)->state->give_up();
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

  OnlyUse only_use;
  std::function<void()> failed;
  MPI_Comm comm;
  std::int32_t rank = 0, size = 1;
  std::vector<Inbox> inboxes;  // by process
  std::atomic<std::int64_t> next_tag{kRequestTag + 1};
  std::atomic<std::int64_t> messages{0}, bytes{0};

  std::mutex serving;  // of what follows
  Handler handler;
  std::vector<std::pair<std::int32_t, DataRequest>> backlog;

  std::mutex mutex;  // of what follows
  std::condition_variable idle;
  std::int64_t under_way = 0;
  std::int32_t farewells = 0;
};

Transport::Transport(void* communicator, std::function<void()> failed)
    : state_(std::make_unique<State>(communicator, std::move(failed))) {}

Transport::~Transport() {
  if (std::uncaught_exceptions() > 0) {
    // The others wait for something else: the job is going to be ended.
    (void)state_.release();
    return;
  }
  tell_all({.kind = DataRequest::Kind::kBye});
}

void Transport::serve_with(Handler handler) { state_->serve_with(std::move(handler)); }

void Transport::fetch(std::int32_t from, DataRequest request, const Parts& parts,
                      std::function<void()> done) {
  request.tag = state_->next_tag.fetch_add(static_cast<std::int64_t>(parts.size()));
  state_->post(parts, std::move(done), [&](std::int64_t place, State::Message* message) {
    check(starpu_mpi_irecv_detached(message->handle, from, request.tag + place,
                                    state_->comm, State::passed, message),
          "receive");
  });
  state_->tell(from, request);
}

void Transport::answer(std::int32_t to, const DataRequest& request, const Parts& parts,
                       std::function<void()> done) {
  state_->post(parts, std::move(done), [&](std::int64_t place, State::Message* message) {
    ++state_->messages;
    state_->bytes += static_cast<std::int64_t>(parts[place].size());
    check(starpu_mpi_isend_detached(message->handle, to, request.tag + place,
                                    state_->comm, State::passed, message),
          "send");
  });
}

void Transport::tell_all(const DataRequest& request) {
  for (std::int32_t to = 0; to < state_->size; ++to)
    if (to != state_->rank) state_->tell(to, request);
}

Transport::Counters Transport::sent() const { return {state_->messages, state_->bytes}; }

}  // namespace espalier::solver
