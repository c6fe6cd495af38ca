#include "policy/starpu/handles.h"

#include <starpu_scheduler.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <string_view>

namespace espalier::policy {

namespace {

const void* place_of(starpu_data_handle_t handle) {
  int allocated = 0, valid = 0, requested = 0;
  starpu_data_query_status(handle, STARPU_MAIN_RAM, &allocated, &valid, &requested);
  if (allocated == 0) return nullptr;
  const void* const pointer = starpu_data_handle_to_pointer(handle, STARPU_MAIN_RAM);
  // Some interfaces have no pointer to tell: any address that is no block's.
  return pointer != nullptr ? pointer : handle;
}

// Whether it has been evicted to the disk that StarPU swaps to.
bool on_swap_disk(starpu_data_handle_t handle) {
  if (starpu_disk_swap_node < 0) return false;
  int allocated = 0, valid = 0, requested = 0;
  starpu_data_query_status(handle, starpu_disk_swap_node, &allocated, &valid, &requested);
  return valid != 0;
}

// A datum by itself.
DataAccess access_to(starpu_data_handle_t handle, Bytes size) {
  return {handle, size, place_of(handle), starpu_data_get_ooc_flag(handle) == 0,
          on_swap_disk(handle)};
}

bool at_home_in_memory(starpu_data_handle_t handle) {
  const int home = starpu_data_get_home_node(handle);
  return home >= 0 && starpu_node_get_kind(static_cast<unsigned>(home)) == STARPU_CPU_RAM;
}

void remove_duplicates(std::vector<DataAccess>& data) {
  const auto by_handle = [](const DataAccess& a, const DataAccess& b) {
    return a.handle < b.handle;
  };
  const auto same = [](const DataAccess& a, const DataAccess& b) {
    return a.handle == b.handle;
  };
  if (!std::is_sorted(data.begin(), data.end(), by_handle))
    std::sort(data.begin(), data.end(), by_handle);
  data.erase(std::unique(data.begin(), data.end(), same), data.end());
}

}  // namespace

bool is_executed(const starpu_task& task) {
  if (task.cl == nullptr) return false;
  // -1: not submitted yet, the codelet decides.
  return task.where == -1 ? task.cl->where != STARPU_NOWHERE
                          : task.where != STARPU_NOWHERE;
}

// A handle's address is even.
const void* copies_of(starpu_data_handle_t handle) {
  return reinterpret_cast<const char*>(handle) + 1;
}

namespace {

// Whether each worker has a copy of its own of that buffer.
bool is_of_copies(const starpu_task& task, unsigned number) {
  const auto mode = static_cast<unsigned>(STARPU_TASK_GET_MODE(&task, number));
  return (mode & (STARPU_SCRATCH | STARPU_REDUX)) != 0;
}

}  // namespace

void data_of(const starpu_task& task, unsigned workers, std::vector<DataAccess>& data) {
  data.clear();
  const unsigned count = STARPU_TASK_GET_NBUFFERS(&task);
  for (unsigned i = 0; i < count; ++i) {
    const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(&task, i);
    const auto mode = static_cast<unsigned>(STARPU_TASK_GET_MODE(&task, i));
    const bool scratch = (mode & STARPU_SCRATCH) != 0;
    const bool reduction = (mode & STARPU_REDUX) != 0;
    const bool copies = is_of_copies(task, i);
    const bool itself = !scratch && !at_home_in_memory(handle);
    if (!copies && !itself) continue;
    const auto size = static_cast<Bytes>(starpu_data_get_alloc_size(handle));
    // Those for reductions are not evicted, nor may be what they go into: StarPU reduces
    // them in tasks that come late.
    if (copies)
      data.push_back({copies_of(handle), checked_mul(size, workers), nullptr,
                      reduction || starpu_data_get_ooc_flag(handle) == 0, false, true});
    if (!itself) continue;
    data.push_back(access_to(handle, size));
    if (reduction) data.back().stays = true;
  }
  if (data.size() > 1) remove_duplicates(data);
}

namespace {

bool has_mode(const starpu_task& task, unsigned mode) {
  const unsigned count = STARPU_TASK_GET_NBUFFERS(&task);
  for (unsigned i = 0; i < count; ++i)
    if ((static_cast<unsigned>(STARPU_TASK_GET_MODE(&task, i)) & mode) != 0) return true;
  return false;
}

}  // namespace

bool contributes(const starpu_task& task) { return has_mode(task, STARPU_REDUX); }

bool commutes(const starpu_task& task) { return has_mode(task, STARPU_COMMUTE); }

void add_copies(starpu_data_handle_t handle, std::vector<DataAccess>& data) {
  data.push_back({copies_of(handle), 0, handle, true});
}

void add_copies(const starpu_task& task, std::vector<DataAccess>& data) {
  const unsigned count = STARPU_TASK_GET_NBUFFERS(&task);
  for (unsigned i = 0; i < count; ++i)
    if (!is_of_copies(task, i)) add_copies(STARPU_TASK_GET_HANDLE(&task, i), data);
  if (data.size() > 1) remove_duplicates(data);
}

// The last one may be a copy into a datum that was nowhere before, from the copy of a
// worker, which StarPU registers without sequential consistency.
bool is_reduction(const starpu_task& task) {
  const std::string_view name = task.name != nullptr ? task.name : "";
  if (name.starts_with("redux_task_")) return true;
  return name == "data_cpy" && STARPU_TASK_GET_NBUFFERS(&task) == 2 &&
         starpu_data_get_sequential_consistency_flag(STARPU_TASK_GET_HANDLE(&task, 0)) !=
             0 &&
         starpu_data_get_sequential_consistency_flag(STARPU_TASK_GET_HANDLE(&task, 1)) ==
             0;
}

std::optional<DataAccess> datum_of(starpu_data_handle_t handle) {
  if (at_home_in_memory(handle)) return std::nullopt;
  const auto size = static_cast<Bytes>(starpu_data_get_alloc_size(handle));
  return access_to(handle, size);
}

namespace {

// Columns of a matrix lie apart when it is a part of a larger one.
Bytes extent_of(starpu_data_handle_t handle, Bytes bytes) {
  if (starpu_data_get_interface_id(handle) != STARPU_MATRIX_INTERFACE_ID) return bytes;
  const auto rows = static_cast<Bytes>(starpu_matrix_get_nx(handle));
  const auto columns = static_cast<Bytes>(starpu_matrix_get_ny(handle));
  const auto apart = static_cast<Bytes>(starpu_matrix_get_local_ld(handle));
  if (columns == 0 || apart < rows) return bytes;
  return ((columns - 1) * apart + rows) *
         static_cast<Bytes>(starpu_matrix_get_elemsize(handle));
}

}  // namespace

void application_data_of(const starpu_task& task, std::vector<OwnDatum>& data) {
  struct Told {
    starpu_data_handle_t handle;
    const void* begin;
  };
  thread_local std::array<Told, 1024> told{};
  data.clear();
  const unsigned count = STARPU_TASK_GET_NBUFFERS(&task);
  for (unsigned i = 0; i < count; ++i) {
    const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(&task, i);
    if (!at_home_in_memory(handle)) continue;
    const auto home = static_cast<unsigned>(starpu_data_get_home_node(handle));
    const void* const begin = starpu_data_handle_to_pointer(handle, home);
    Told& last = told[std::hash<const void*>()(handle) / 64 % told.size()];
    if (last.handle == handle && last.begin == begin) continue;
    last = {handle, begin};
    const auto bytes = static_cast<Bytes>(starpu_data_get_alloc_size(handle));
    // Some interfaces have no pointer to tell.
    data.push_back(begin != nullptr ? OwnDatum{begin, extent_of(handle, bytes), bytes}
                                    : OwnDatum{handle, 1, bytes});
  }
}

namespace {

// Calls visit(address) for each block of memory that a datum consists of, as far as its
// interface is one of StarPU's.
template <class Visit>
void for_each_block(void* interface, starpu_data_interface_id id, Visit visit) {
  const auto visit_sparse = [&](const auto& matrix) {
    visit(reinterpret_cast<const void*>(matrix.nzval));
    visit(matrix.colind);
    visit(matrix.rowptr);
  };
  switch (id) {
    case STARPU_VARIABLE_INTERFACE_ID:
      return visit(reinterpret_cast<const void*>(STARPU_VARIABLE_GET_PTR(interface)));
    case STARPU_VECTOR_INTERFACE_ID:
      return visit(reinterpret_cast<const void*>(STARPU_VECTOR_GET_PTR(interface)));
    case STARPU_MATRIX_INTERFACE_ID:
      return visit(reinterpret_cast<const void*>(STARPU_MATRIX_GET_PTR(interface)));
    case STARPU_BLOCK_INTERFACE_ID:
      return visit(reinterpret_cast<const void*>(STARPU_BLOCK_GET_PTR(interface)));
    case STARPU_CSR_INTERFACE_ID:
      return visit_sparse(*static_cast<const starpu_csr_interface*>(interface));
    case STARPU_BCSR_INTERFACE_ID:
      return visit_sparse(*static_cast<const starpu_bcsr_interface*>(interface));
    case STARPU_COO_INTERFACE_ID: {
      const auto& matrix = *static_cast<const starpu_coo_interface*>(interface);
      visit(matrix.columns);
      visit(matrix.rows);
      return visit(reinterpret_cast<const void*>(matrix.values));
    }
    default:
      return;
  }
}

// Of a task that runs: those of its own copy.
void* interface_of_copy(const starpu_task& task, unsigned number) {
  void* const* const interfaces =
      task.dyn_interfaces != nullptr ? task.dyn_interfaces : task.interfaces;
  return interfaces[number];
}

}  // namespace

void places_of(const starpu_task& task, std::vector<DataAccess>& places) {
  places.clear();
  const unsigned count = STARPU_TASK_GET_NBUFFERS(&task);
  for (unsigned i = 0; i < count; ++i) {
    const starpu_data_handle_t handle = STARPU_TASK_GET_HANDLE(&task, i);
    const bool copies = is_of_copies(task, i);
    const void* const first = copies ? nullptr : place_of(handle);
    if (!copies && first == nullptr) continue;
    if (first != nullptr) places.push_back({handle, 0, first});
    void* const interface =
        copies ? interface_of_copy(task, i)
               : starpu_data_get_interface_on_node(handle, STARPU_MAIN_RAM);
    if (interface == nullptr) continue;
    const void* const name = copies ? copies_of(handle) : handle;
    for_each_block(interface, starpu_data_get_interface_id(handle),
                   [&](const void* block) {
                     if (block != nullptr && block != first)
                       places.push_back({name, 0, block});
                   });
  }
}

starpu_data_handle_t released_by(const starpu_task& task) {
  constexpr std::string_view kAcquisition = "_starpu_data_acquire_cb_pre";
  if (task.cl != nullptr || task.callback_arg == nullptr || task.name == nullptr ||
      std::strncmp(task.name, kAcquisition.data(), kAcquisition.size()) != 0)
    return nullptr;
  struct Acquisition {
    starpu_data_handle_t handle;
    starpu_data_access_mode mode;
    int node;
  };
  Acquisition acquisition;
  std::memcpy(&acquisition, task.callback_arg, sizeof acquisition);
  const bool writes = (static_cast<unsigned>(acquisition.mode) & STARPU_W) != 0;
  // starpu_data_wont_use() reads.
  return acquisition.node == STARPU_ACQUIRE_NO_NODE_LOCK_ALL && writes
             ? acquisition.handle
             : nullptr;
}

const char* other_policy() {
  for (unsigned context = 0; context < STARPU_NMAX_SCHED_CTXS; ++context) {
    const starpu_sched_policy* const policy = starpu_sched_ctx_get_sched_policy(context);
    if (policy != nullptr && policy->policy_name != nullptr &&
        policy->policy_name != std::string_view("espalier"))
      return policy->policy_name;
  }
  return nullptr;
}

const char* name_of(const starpu_task& task) {
  if (task.name != nullptr) return task.name;
  if (task.cl != nullptr && task.cl->name != nullptr) return task.cl->name;
  if (task.cl != nullptr && task.cl->model != nullptr &&
      task.cl->model->symbol != nullptr)
    return task.cl->model->symbol;
  return "(no name)";
}

}  // namespace espalier::policy
