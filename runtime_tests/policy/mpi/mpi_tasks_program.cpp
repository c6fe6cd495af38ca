// Programs of starpu_mpi_task_insert that know nothing of Espalier. All processes submit
// the same tasks; StarPU-MPI sends what they read from each other.
//
//   mpi_tasks_program random SEED COUNT   random tasks on temporaries, COUNT programs
//   mpi_tasks_program cholesky TILES [COUNT]
//                                         a tiled Cholesky factorisation, COUNT times;
//                                         received tiles are all that StarPU allocates
//   mpi_tasks_program reduces ROUNDS      reductions over all processes, whose results
//   are
//                                         sent while others wait for memory
//   mpi_tasks_program dies SEED           random; the last process ends in the middle
//   mpi_tasks_program waits MESSAGES [COUNT]
//                                         messages that are waited for before they are
//                                         sent
//
// Prints a sum over the results, the most that StarPU had allocated for vectors in any
// process, seen through their interface, and how long the longest of the COUNT took.
// Status 1 if a result is wrong.
//
// One program, its four graphs of tasks and their checks: over 300 lines.

#include <mpi.h>
#include <starpu.h>
#include <starpu_mpi.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

std::atomic<std::int64_t> allocated = 0, allocated_peak = 0;
starpu_data_interface_ops vector_ops;  // StarPU's

starpu_ssize_t allocate(void* interface, unsigned node) {
  const starpu_ssize_t bytes = vector_ops.allocate_data_on_node(interface, node);
  if (bytes > 0) {
    const std::int64_t now = allocated += bytes;
    std::int64_t peak = allocated_peak;
    while (now > peak && !allocated_peak.compare_exchange_weak(peak, now)) {
    }
  }
  return bytes;
}

void release(void* interface, unsigned node) {
  const auto* const vector = static_cast<starpu_vector_interface*>(interface);
  const auto bytes = static_cast<std::int64_t>(vector->nx * vector->elemsize);
  vector_ops.free_data_on_node(interface, node);
  allocated -= bytes;
}

int rank = 0, processes = 1;
std::atomic<int> wrong = 0;
bool dies = false;
std::atomic<int> executed = 0;

// --- Random tasks: a datum is a vector of one value.

struct Value {
  std::int64_t* at;
  std::size_t count;
};

Value value_of(void* buffer) {
  return {reinterpret_cast<std::int64_t*>(STARPU_VECTOR_GET_PTR(buffer)),
          STARPU_VECTOR_GET_NX(buffer)};
}

std::int64_t read(const Value& v) {
  for (std::size_t i = 1; i < v.count; ++i)
    if (v.at[i] != v.at[0]) ++wrong;
  return v.at[0];
}

std::int64_t next_value(std::int64_t sum, int task) { return (3 * sum + task) % 1000003; }

// Of reads, then the datum that is written.
void combine(void* buffers[], void* argument) {
  int task, reads;
  starpu_codelet_unpack_args(argument, &task, &reads);
  if (dies && rank == processes - 1 && ++executed == 3) _exit(3);
  std::int64_t sum = 0;
  for (int r = 0; r < reads; ++r) sum += read(value_of(buffers[r]));
  const Value result = value_of(buffers[reads]);
  std::fill_n(result.at, result.count, next_value(sum, task));
}

void check(void* buffers[], void* argument) {
  std::int64_t expected;
  starpu_codelet_unpack_args(argument, &expected);
  if (read(value_of(buffers[0])) != expected) ++wrong;
}

starpu_codelet combining() {
  starpu_codelet c{};
  c.cpu_funcs[0] = combine;
  c.nbuffers = STARPU_VARIABLE_NBUFFERS;
  c.name = "combine";
  return c;
}

starpu_codelet checking() {
  starpu_codelet c{};
  c.cpu_funcs[0] = check;
  c.nbuffers = 1;
  c.modes[0] = STARPU_R;
  c.name = "check";
  return c;
}

struct Datum {
  starpu_data_handle_t handle;
  int owner;
  std::int64_t value;
};

std::int64_t random_program(unsigned seed) {
  static starpu_codelet combine_codelet = combining(), check_codelet = checking();
  static starpu_mpi_tag_t next_tag = 0;
  std::mt19937 random(seed);
  const auto draw = [&](int below) { return static_cast<int>(random() % below); };
  std::vector<Datum> data;
  std::int64_t sum = 0;
  const auto drop = [&](std::size_t d) {
    // A reader somewhere, then gone everywhere.
    starpu_mpi_task_insert(MPI_COMM_WORLD, &check_codelet, STARPU_R, data[d].handle,
                           STARPU_VALUE, &data[d].value, sizeof data[d].value,
                           STARPU_EXECUTE_ON_NODE, draw(processes), 0);
    sum += data[d].value;
    starpu_data_unregister_submit(data[d].handle);
    data.erase(data.begin() + static_cast<std::ptrdiff_t>(d));
  };
  constexpr int kTasks = 40;
  for (int task = 0; task < kTasks; ++task) {
    std::vector<starpu_data_descr> used;
    std::int64_t inputs = 0;
    for (const Datum& d : data)
      if (used.size() < 3 && draw(3) == 0) {
        used.push_back({d.handle, STARPU_R});
        inputs += d.value;
      }
    Datum result{nullptr, draw(processes), next_value(inputs, task)};
    const auto count = static_cast<std::uint32_t>(8192 * (1 + draw(4)));
    starpu_vector_data_register(&result.handle, -1, 0, count, sizeof(std::int64_t));
    starpu_mpi_data_register(result.handle, next_tag++, result.owner);
    int reads = static_cast<int>(used.size());
    used.push_back({result.handle, STARPU_W});
    starpu_mpi_task_insert(MPI_COMM_WORLD, &combine_codelet, STARPU_VALUE, &task,
                           sizeof task, STARPU_VALUE, &reads, sizeof reads,
                           STARPU_DATA_MODE_ARRAY, used.data(),
                           static_cast<int>(used.size()), 0);
    data.push_back(result);
    if (data.size() > 6 || draw(4) == 0)
      drop(static_cast<std::size_t>(draw(static_cast<int>(data.size()))));
  }
  while (!data.empty()) drop(0);
  return sum;
}

// --- Reductions. All data are of one size, and all but the last process's contributions
// belong to that one: the result, the copy of its worker, which StarPU keeps as long as
// the result, and two others that are written before the result is sent for the last
// time.

std::int64_t first_of(void* buffer) { return value_of(buffer).at[0]; }

void set_zero(void* buffers[], void*) {
  const Value v = value_of(buffers[0]);
  std::fill_n(v.at, v.count, 0);
}

void add_one(void* buffers[], void*) {
  const Value v = value_of(buffers[0]);
  std::fill_n(v.at, v.count, first_of(buffers[0]) + 1);
}

void add_other(void* buffers[], void*) {
  const Value v = value_of(buffers[0]);
  std::fill_n(v.at, v.count, first_of(buffers[0]) + first_of(buffers[1]));
}

starpu_codelet of_modes(void (*function)(void**, void*),
                        std::initializer_list<starpu_data_access_mode> modes) {
  starpu_codelet c{};
  c.cpu_funcs[0] = function;
  c.nbuffers = static_cast<int>(modes.size());
  std::copy(modes.begin(), modes.end(), c.modes);
  return c;
}

std::int64_t reductions(int rounds) {
  static starpu_codelet zero = of_modes(set_zero, {STARPU_W}),
                        sum = of_modes(add_other, {STARPU_RW, STARPU_R}),
                        contribute = of_modes(add_one, {STARPU_REDUX}),
                        checks = checking();
  static starpu_mpi_tag_t next_tag = 0;
  const int owner = processes - 1;
  const auto add_datum = [&] {
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, -1, 0, 8192, sizeof(std::int64_t));
    starpu_mpi_data_register(handle, next_tag++, owner);
    starpu_data_set_reduction_methods(handle, &sum, &zero);
    return handle;
  };
  const auto check_at = [&](starpu_data_handle_t handle, std::int64_t expected, int at) {
    starpu_mpi_task_insert(MPI_COMM_WORLD, &checks, STARPU_R, handle, STARPU_VALUE,
                           &expected, sizeof expected, STARPU_EXECUTE_ON_NODE, at, 0);
    starpu_data_unregister_submit(handle);
  };
  for (int round = 0; round < rounds; ++round) {
    const starpu_data_handle_t result = add_datum();
    for (int at = 0; at < processes; ++at)
      starpu_mpi_task_insert(MPI_COMM_WORLD, &contribute, STARPU_REDUX, result,
                             STARPU_EXECUTE_ON_NODE, at, 0);
    starpu_mpi_redux_data(MPI_COMM_WORLD, result);
    const starpu_data_handle_t beside[] = {add_datum(), add_datum()};
    for (const starpu_data_handle_t handle : beside)
      starpu_mpi_task_insert(MPI_COMM_WORLD, &zero, STARPU_W, handle, 0);
    check_at(result, processes, 0);
    for (const starpu_data_handle_t handle : beside) check_at(handle, 0, owner);
  }
  return rounds;
}

// --- Cholesky: lower triangle of tiles of kTile x kTile, columns first.

constexpr int kTile = 96;

double* tile_at(void* buffer) {
  return reinterpret_cast<double*>(STARPU_VECTOR_GET_PTR(buffer));
}

void potrf(void* buffers[], void*) {
  double* const a = tile_at(buffers[0]);
  for (int j = 0; j < kTile; ++j) {
    for (int k = 0; k < j; ++k)
      for (int i = j; i < kTile; ++i)
        a[i + j * kTile] -= a[i + k * kTile] * a[j + k * kTile];
    const double pivot = std::sqrt(a[j + j * kTile]);
    for (int i = j; i < kTile; ++i) a[i + j * kTile] /= pivot;
  }
}

void trsm(void* buffers[], void*) {
  const double* const l = tile_at(buffers[0]);
  double* const a = tile_at(buffers[1]);
  for (int j = 0; j < kTile; ++j) {
    for (int k = 0; k < j; ++k)
      for (int i = 0; i < kTile; ++i)
        a[i + j * kTile] -= a[i + k * kTile] * l[j + k * kTile];
    for (int i = 0; i < kTile; ++i) a[i + j * kTile] /= l[j + j * kTile];
  }
}

void subtract(const double* a, const double* b, double* c) {
  for (int j = 0; j < kTile; ++j)
    for (int k = 0; k < kTile; ++k)
      for (int i = 0; i < kTile; ++i)
        c[i + j * kTile] -= a[i + k * kTile] * b[j + k * kTile];
}

void gemm(void* buffers[], void*) {
  subtract(tile_at(buffers[0]), tile_at(buffers[1]), tile_at(buffers[2]));
}

void syrk(void* buffers[], void*) {
  subtract(tile_at(buffers[0]), tile_at(buffers[0]), tile_at(buffers[1]));
}

starpu_codelet kernel(void (*function)(void**, void*), int buffers) {
  starpu_codelet c{};
  c.cpu_funcs[0] = function;
  c.nbuffers = buffers;
  for (int b = 0; b < buffers; ++b) c.modes[b] = b + 1 < buffers ? STARPU_R : STARPU_RW;
  return c;
}

double cholesky(int tiles) {
  static starpu_codelet factor = kernel(potrf, 1), solve = kernel(trsm, 2),
                        rank_update = kernel(syrk, 2), update = kernel(gemm, 3);
  const auto at = [&](int i, int j) { return static_cast<std::size_t>(i + j * tiles); };
  const std::size_t count = static_cast<std::size_t>(tiles) * tiles;
  std::vector<std::vector<double>> own(count);
  std::vector<starpu_data_handle_t> handles(count, nullptr);
  for (int j = 0; j < tiles; ++j)
    for (int i = j; i < tiles; ++i) {
      const int owner = (i + 2 * j) % processes;
      std::vector<double>& tile = own[at(i, j)];
      if (owner == rank) {
        tile.assign(kTile * kTile, 1e-3 * (i - j));
        for (int d = 0; i == j && d < kTile; ++d) tile[d * (kTile + 1)] = 4.0 + i;
      }
      starpu_vector_data_register(
          &handles[at(i, j)], owner == rank ? STARPU_MAIN_RAM : -1,
          reinterpret_cast<std::uintptr_t>(tile.data()), kTile * kTile, sizeof(double));
      starpu_mpi_data_register(handles[at(i, j)], i + j * tiles, owner);
    }
  const auto insert = [&](starpu_codelet& codelet, auto... arguments) {
    starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, arguments..., 0);
  };
  for (int k = 0; k < tiles; ++k) {
    insert(factor, STARPU_RW, handles[at(k, k)]);
    for (int i = k + 1; i < tiles; ++i)
      insert(solve, STARPU_R, handles[at(k, k)], STARPU_RW, handles[at(i, k)]);
    for (int j = k + 1; j < tiles; ++j) {
      insert(rank_update, STARPU_R, handles[at(j, k)], STARPU_RW, handles[at(j, j)]);
      for (int i = j + 1; i < tiles; ++i)
        insert(update, STARPU_R, handles[at(i, k)], STARPU_R, handles[at(j, k)],
               STARPU_RW, handles[at(i, j)]);
    }
  }
  for (const starpu_data_handle_t handle : handles)
    if (handle != nullptr) starpu_data_unregister(handle);
  double sum = 0;
  for (const std::vector<double>& tile : own)
    for (const double x : tile) sum += std::abs(x);
  return sum;
}

// --- Waiting: rank 0 waits for messages of rank 1 long before that sends them, and all
// others in a barrier for both.

std::int64_t wait_for_messages(int count) {
  constexpr std::uint32_t kValues = 16384;
  constexpr auto kLate = std::chrono::milliseconds(50);
  std::int64_t sum = 0;
  for (int m = 0; m < count && rank < 2; ++m) {
    std::vector<std::int64_t> values(kValues, rank == 1 ? m + 1 : 0);
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(values.data()), kValues,
                                sizeof(std::int64_t));
    starpu_mpi_req request;
    if (rank == 0) {
      starpu_mpi_irecv(handle, &request, 1, m, MPI_COMM_WORLD);
    } else {
      std::this_thread::sleep_for(kLate);
      starpu_mpi_isend(handle, &request, 0, m, MPI_COMM_WORLD);
    }
    if (starpu_mpi_wait(&request, MPI_STATUS_IGNORE) != 0) ++wrong;
    starpu_data_unregister(handle);
    for (const std::int64_t value : values)
      if (value != m + 1) ++wrong;
    sum += values[0];
  }
  starpu_mpi_barrier(MPI_COMM_WORLD);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  vector_ops = starpu_interface_vector_ops;
  starpu_interface_vector_ops.allocate_data_on_node = allocate;
  starpu_interface_vector_ops.free_data_on_node = release;
  if (starpu_mpi_init_conf(&argc, &argv, 1, MPI_COMM_WORLD, nullptr) != 0) return 77;
  starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
  starpu_mpi_comm_size(MPI_COMM_WORLD, &processes);
  const std::string kind = argv[1];
  const int number = std::atoi(argv[2]), count = argc > 3 ? std::atoi(argv[3]) : 1;
  dies = kind == "dies";
  double sum = 0, longest = 0;
  for (int p = 0; p < count; ++p) {
    const double start = starpu_timing_now();
    if (kind == "cholesky") {
      sum += cholesky(number);
    } else if (kind == "reduces") {
      sum += static_cast<double>(reductions(number));
      starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    } else if (kind == "waits") {
      sum += static_cast<double>(wait_for_messages(number));
    } else {
      sum += static_cast<double>(random_program(static_cast<unsigned>(number + p)));
      starpu_mpi_wait_for_all(MPI_COMM_WORLD);
    }
    longest = std::max(longest, 1e-6 * (starpu_timing_now() - start));
  }
  std::printf("rank %d: sum %.17g, allocated %lld, longest of %d %.3f s\n", rank, sum,
              static_cast<long long>(allocated_peak), count, longest);
  std::fflush(stdout);
  starpu_mpi_shutdown();
  return wrong == 0 ? 0 : 1;
}
