// StarPU-MPI under a bound: what the preloaded library stands in for.
//
// StarPU-MPI is not linked; these functions take the place of its own and of StarPU's
// where this library comes first, preloaded or linked before them, and hand on to the
// next. Without a bound they do nothing else. With one, which all processes of the job
// must have,
//
// - the messages enter the gate's order when StarPU-MPI acquires their data, and leave it
//   when it gives them back: Session::message_begins(), message_ended();
// - a message is sent when its receiver has room: as a synchronous send, of which at
//   first only the announcement is sent. An announced message of the other kind is
//   received at once, in memory that no gate knows of;
// - a tag says in which direction it goes. StarPU-MPI (1.3 to master of 2026) keeps the
//   announcements that it has sent and those that it has received in one table, by tag
//   and process, and confuses them when a tag is used both ways at one time.

#include "policy/mpi/starpu_mpi_calls.h"

#include <link.h>
#include <starpu.h>

#include <cstring>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "policy/starpu/allocation.h"
#include "policy/starpu/exports.h"
#include "policy/starpu/session.h"

namespace espalier::policy {

void* in_opened_starpu_mpi(const char* name) {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* found) {
        if (std::strstr(library->dlpi_name, "starpumpi") == nullptr) return 0;
        *static_cast<std::string*>(found) = library->dlpi_name;
        return 1;
      },
      &path);
  void* const library =
      path.empty() ? nullptr : dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : dlsym(library, name);
}

namespace {

using Callback = void (*)(void*);

constexpr Tag kDownwards = Tag{1} << 62;

bool in_starpu_mpi(const void* address) {
  Dl_info info;
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "starpumpi") != nullptr;
}

bool waits_for_room(starpu_data_handle_t handle) {
  return bounded() && static_cast<Bytes>(starpu_data_get_size(handle)) >= kSentAtOnce;
}

Tag tag_to(int receiver, Tag tag, Comm comm) {
  return bounded() && rank_in(comm) > receiver ? tag ^ kDownwards : tag;
}

Tag tag_from(int sender, Tag tag, Comm comm) {
  return bounded() && sender > rank_in(comm) ? tag ^ kDownwards : tag;
}

// StarPU-MPI's thread receives what comes early into a handle that it registers like the
// one that the tag belongs to, and waits for it to be acquired: that cannot be held.
thread_local starpu_data_handle_t early = nullptr;

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
// What StarPU-MPI is to be told when a message's data are ready.
struct Posted {
  Callback callback;
  void* argument;
};

void posted_is_ready(void* argument) {
  const Posted posted = *static_cast<Posted*>(argument);
  delete static_cast<Posted*>(argument);
  --message_counts.posted;
  posted.callback(posted.argument);
}
#endif

// The messages of each handle, which end in the order in which they began, or together
// and are then all of one kind.
class Messages {
 public:
  void begins(starpu_data_handle_t handle, bool receives) {
    const std::scoped_lock lock(mutex_);
    of_[handle].push_back(receives);
    ++message_counts.under_way;
    if (!receives) ++message_counts.sending;
  }
  void ends(starpu_data_handle_t handle) {
    const std::scoped_lock lock(mutex_);
    const auto found = of_.find(handle);
    if (found == of_.end()) return;
    if (!found->second.front()) --message_counts.sending;
    found->second.pop_front();
    if (found->second.empty()) of_.erase(found);
    --message_counts.under_way;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<starpu_data_handle_t, std::deque<bool>> of_;
};
Messages messages;

// @return whether there is a bound
bool message_begins(starpu_data_handle_t handle, starpu_data_access_mode mode) {
  if (own_messages || (handle == early && in_message_thread())) return false;
  const std::shared_ptr<Session> run = Session::present();
  if (!run) return false;
  const bool receives = (static_cast<unsigned>(mode) & STARPU_W) != 0;
  if (run->bounded()) messages.begins(handle, receives);
  run->message_begins(handle, receives);
  return run->bounded();
}

void message_ends(starpu_data_handle_t handle) {
  messages.ends(handle);
  if (const std::shared_ptr<Session> run = Session::present()) run->message_ended(handle);
}

}  // namespace

int rank_in(Comm comm) {
  static const auto comm_rank = next<int(Comm, int*)>("starpu_mpi_comm_rank");
  int rank = 0;
  if (comm_rank != nullptr) comm_rank(comm, &rank);
  return rank;
}

bool bounded() {
  const std::shared_ptr<Session> run = Session::present();
  return run && run->bounded();
}

}  // namespace espalier::policy

extern "C" {

using namespace espalier::policy;  // NOLINT: the functions below belong to StarPU

ESPALIER_API void starpu_data_register_same(starpu_data_handle_t* handle,
                                            starpu_data_handle_t like) {
  ESPALIER_NEXT(starpu_data_register_same);
  next_one(handle, like);
  if (in_message_thread()) early = *handle;
}

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
ESPALIER_API int starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids(
    starpu_data_handle_t handle, int node, starpu_data_access_mode mode,
    void (*callback)(void*), void* argument, int sequential_consistency, int quick,
    long* before, long* after) {
  ESPALIER_NEXT(starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids);
  if (in_starpu_mpi(__builtin_return_address(0)) && message_begins(handle, mode)) {
    ++message_counts.posted;
    argument = new Posted{callback, argument};
    callback = posted_is_ready;
  }
  return next_one(handle, node, mode, callback, argument, sequential_consistency, quick,
                  before, after);
}
#else
ESPALIER_API int starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids(
    starpu_data_handle_t handle, int node, starpu_data_access_mode mode,
    void (*acquired)(void*, int*, starpu_data_access_mode), void (*callback)(void*),
    void* argument, int sequential_consistency, int quick, long* before, long* after,
    int priority) {
  ESPALIER_NEXT(starpu_data_acquire_on_node_cb_sequential_consistency_sync_jobids);
  // Without the first callback it copies what came early.
  if (acquired != nullptr && in_starpu_mpi(__builtin_return_address(0)))
    message_begins(handle, mode);
  return next_one(handle, node, mode, acquired, callback, argument,
                  sequential_consistency, quick, before, after, priority);
}
#endif

ESPALIER_API void starpu_data_release_on_node(starpu_data_handle_t handle, int node) {
  ESPALIER_NEXT(starpu_data_release_on_node);
  if (in_starpu_mpi(__builtin_return_address(0))) message_ends(handle);
  next_one(handle, node);
}

// Those functions of StarPU-MPI that all others call.

int starpu_mpi_issend_detached_prio(starpu_data_handle_t, int, Tag, int, Comm, Callback,
                                    void*);
int starpu_mpi_issend_prio(starpu_data_handle_t, void*, int, Tag, int, Comm);

ESPALIER_API int starpu_mpi_isend_detached_prio(starpu_data_handle_t handle, int receiver,
                                                Tag tag, int priority, Comm comm,
                                                Callback callback, void* argument) {
  ESPALIER_NEXT(starpu_mpi_isend_detached_prio);
  static const auto synchronous =
      next<decltype(starpu_mpi_issend_detached_prio)>("starpu_mpi_issend_detached_prio");
  return (waits_for_room(handle) ? synchronous : next_one)(
      handle, receiver, tag_to(receiver, tag, comm), priority, comm, callback, argument);
}

ESPALIER_API int starpu_mpi_issend_detached_prio(starpu_data_handle_t handle,
                                                 int receiver, Tag tag, int priority,
                                                 Comm comm, Callback callback,
                                                 void* argument) {
  ESPALIER_NEXT(starpu_mpi_issend_detached_prio);
  return next_one(handle, receiver, tag_to(receiver, tag, comm), priority, comm, callback,
                  argument);
}

ESPALIER_API int starpu_mpi_isend_prio(starpu_data_handle_t handle, void* request,
                                       int receiver, Tag tag, int priority, Comm comm) {
  ESPALIER_NEXT(starpu_mpi_isend_prio);
  static const auto synchronous =
      next<decltype(starpu_mpi_issend_prio)>("starpu_mpi_issend_prio");
  return (waits_for_room(handle) ? synchronous : next_one)(
      handle, request, receiver, tag_to(receiver, tag, comm), priority, comm);
}

ESPALIER_API int starpu_mpi_issend_prio(starpu_data_handle_t handle, void* request,
                                        int receiver, Tag tag, int priority, Comm comm) {
  ESPALIER_NEXT(starpu_mpi_issend_prio);
  return next_one(handle, request, receiver, tag_to(receiver, tag, comm), priority, comm);
}

ESPALIER_API int starpu_mpi_irecv(starpu_data_handle_t handle, void* request, int sender,
                                  Tag tag, Comm comm) {
  ESPALIER_NEXT(starpu_mpi_irecv);
  return next_one(handle, request, sender, tag_from(sender, tag, comm), comm);
}

ESPALIER_API int starpu_mpi_irecv_detached(starpu_data_handle_t handle, int sender,
                                           Tag tag, Comm comm, Callback callback,
                                           void* argument) {
  ESPALIER_NEXT(starpu_mpi_irecv_detached);
  return next_one(handle, sender, tag_from(sender, tag, comm), comm, callback, argument);
}

ESPALIER_API int starpu_mpi_irecv_detached_sequential_consistency(
    starpu_data_handle_t handle, int sender, Tag tag, Comm comm, Callback callback,
    void* argument, int sequential_consistency) {
  ESPALIER_NEXT(starpu_mpi_irecv_detached_sequential_consistency);
  return next_one(handle, sender, tag_from(sender, tag, comm), comm, callback, argument,
                  sequential_consistency);
}

#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION > 3
ESPALIER_API int starpu_mpi_irecv_detached_prio(starpu_data_handle_t handle, int sender,
                                                Tag tag, int priority, Comm comm,
                                                Callback callback, void* argument) {
  ESPALIER_NEXT(starpu_mpi_irecv_detached_prio);
  return next_one(handle, sender, tag_from(sender, tag, comm), priority, comm, callback,
                  argument);
}

ESPALIER_API int starpu_mpi_recv(starpu_data_handle_t handle, int sender, Tag tag,
                                 Comm comm, void* status) {
  ESPALIER_NEXT(starpu_mpi_recv);
  return next_one(handle, sender, tag_from(sender, tag, comm), comm, status);
}

ESPALIER_API int starpu_mpi_recv_prio(starpu_data_handle_t handle, int sender, Tag tag,
                                      int priority, Comm comm, void* status) {
  ESPALIER_NEXT(starpu_mpi_recv_prio);
  return next_one(handle, sender, tag_from(sender, tag, comm), priority, comm, status);
}
#endif

}  // extern "C"
