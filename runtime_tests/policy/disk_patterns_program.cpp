// The accesses of programs that have more data than memory, with data that show whether
// each access saw the right values. Knows nothing of the policy.
//
//   disk_patterns_program cholesky|lu|qr|training [KIB [SIZE]]
//
// KIB: of a tile; SIZE: tiles in a row, or layers. Each datum is one word, spread over
// all of its memory; a task replaces the words of what it writes by a number made of the
// words of all that it works on. What must come out is found by doing the same with the
// words alone. Prints whether it did, and the MiB of all data.

#include <starpu.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

using Word = std::uint64_t;

std::atomic<int> wrong = 0;

Word element(Word word, std::size_t i) { return word ^ (i * 0x9e3779b97f4a7c15); }

Word mixed(Word a, Word b) {
  a = (a ^ b) * 0xff51afd7ed558ccd;
  return a ^ a >> 33;
}

Word word_of(const Word* data, std::size_t size) {
  for (std::size_t i = 1; i < size; i += 61)
    if (data[i] != element(data[0], i)) wrong = 1;
  return data[0];
}

struct Call {
  Word kind;
  unsigned count, scratch;  // the last is scratch
  starpu_data_access_mode modes[4];
};

// A task may read all but what it only writes, and writes all that it may.
void run(void** buffers, void* argument) {
  const auto& call = *static_cast<const Call*>(argument);
  Word result = call.kind;
  for (unsigned i = 0; i < call.count; ++i)
    if ((call.modes[i] & STARPU_R) != 0)
      result = mixed(result,
                     word_of(reinterpret_cast<Word*>(STARPU_VECTOR_GET_PTR(buffers[i])),
                             STARPU_VECTOR_GET_NX(buffers[i])));
  for (unsigned i = 0; i < call.count + call.scratch; ++i) {
    if ((call.modes[i] & (STARPU_W | STARPU_SCRATCH)) == 0) continue;
    auto* const data = reinterpret_cast<Word*>(STARPU_VECTOR_GET_PTR(buffers[i]));
    for (std::size_t k = 0; k < STARPU_VECTOR_GET_NX(buffers[i]); ++k)
      data[k] = element(mixed(result, i), k);
  }
}

struct Datum {
  starpu_data_handle_t handle = nullptr;
  Word word = 0;
};

std::size_t all_bytes = 0;

Datum datum(std::size_t bytes) {
  Datum d;
  starpu_vector_data_register(&d.handle, -1, 0, static_cast<std::uint32_t>(bytes / 8), 8);
  all_bytes += bytes;
  return d;
}

struct Access {
  Datum& datum;
  starpu_data_access_mode mode;
};

// Submits it, and does it with the words.
void call(Word kind, const std::vector<Access>& accesses,
          starpu_data_handle_t scratch = nullptr) {
  static starpu_codelet codelet = [] {
    starpu_codelet c{};
    c.cpu_funcs[0] = run;
    c.nbuffers = STARPU_VARIABLE_NBUFFERS;
    c.name = "call";
    return c;
  }();
  auto* const argument = static_cast<Call*>(std::calloc(1, sizeof(Call)));
  starpu_task* const task = starpu_task_create();
  argument->kind = kind;
  task->cl = &codelet;
  Word result = kind;
  for (const Access& a : accesses) {
    if ((a.mode & STARPU_R) != 0) result = mixed(result, a.datum.word);
    argument->modes[argument->count] = a.mode;
    STARPU_TASK_SET_HANDLE(task, a.datum.handle, argument->count);
    STARPU_TASK_SET_MODE(task, a.mode, argument->count);
    ++argument->count;
  }
  for (unsigned i = 0; i < accesses.size(); ++i)
    if ((accesses[i].mode & STARPU_W) != 0) accesses[i].datum.word = mixed(result, i);
  if (scratch != nullptr) {
    argument->scratch = 1;
    argument->modes[argument->count] = STARPU_SCRATCH;
    STARPU_TASK_SET_HANDLE(task, scratch, argument->count);
    STARPU_TASK_SET_MODE(task, STARPU_SCRATCH, argument->count);
  }
  task->nbuffers = static_cast<int>(argument->count + argument->scratch);
  task->cl_arg = argument;
  task->cl_arg_size = sizeof(Call);
  task->cl_arg_free = 1;
  if (starpu_task_submit(task) != 0) std::abort();
}

// The element at the front of every datum that remains, by a task on each.
void check(const Datum& d) {
  starpu_data_acquire(d.handle, STARPU_R);
  const auto* const data = static_cast<const Word*>(starpu_data_get_local_ptr(d.handle));
  if (element(d.word, 0) != word_of(data, starpu_vector_get_nx(d.handle))) wrong = 1;
  starpu_data_release(d.handle);
  starpu_data_unregister_submit(d.handle);
}

constexpr starpu_data_access_mode R = STARPU_R, W = STARPU_W, RW = STARPU_RW;

std::vector<std::vector<Datum>> tiles(int size, std::size_t bytes, bool lower) {
  std::vector<std::vector<Datum>> a(size);
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < (lower ? i + 1 : size); ++j) a[i].push_back(datum(bytes));
  for (auto& row : a)
    for (Datum& d : row) call(1, {{d, W}});
  return a;
}

void check_all(const std::vector<std::vector<Datum>>& a) {
  for (const auto& row : a)
    for (const Datum& d : row) check(d);
}

void cholesky(int n, std::size_t bytes) {
  auto a = tiles(n, bytes, true);
  for (int k = 0; k < n; ++k) {
    call(2, {{a[k][k], RW}});
    for (int i = k + 1; i < n; ++i) call(3, {{a[k][k], R}, {a[i][k], RW}});
    for (int i = k + 1; i < n; ++i) {
      call(4, {{a[i][k], R}, {a[i][i], RW}});
      for (int j = k + 1; j < i; ++j)
        call(5, {{a[i][k], R}, {a[j][k], R}, {a[i][j], RW}});
    }
  }
  check_all(a);
}

void lu(int n, std::size_t bytes) {
  auto a = tiles(n, bytes, false);
  for (int k = 0; k < n; ++k) {
    call(2, {{a[k][k], RW}});
    for (int i = k + 1; i < n; ++i) {
      call(3, {{a[k][k], R}, {a[i][k], RW}});
      call(4, {{a[k][k], R}, {a[k][i], RW}});
    }
    for (int i = k + 1; i < n; ++i)
      for (int j = k + 1; j < n; ++j)
        call(5, {{a[i][k], R}, {a[k][j], R}, {a[i][j], RW}});
  }
  check_all(a);
}

// With the factors of the block reflectors, and a workspace of each worker.
void qr(int n, std::size_t bytes) {
  auto a = tiles(n, bytes, false), t = tiles(n, bytes / 4, true);
  starpu_data_handle_t work;
  starpu_vector_data_register(&work, -1, 0, static_cast<std::uint32_t>(bytes / 32), 8);
  for (int k = 0; k < n; ++k) {
    call(2, {{a[k][k], RW}, {t[k][k], W}}, work);
    for (int j = k + 1; j < n; ++j)
      call(3, {{a[k][k], R}, {t[k][k], R}, {a[k][j], RW}}, work);
    for (int i = k + 1; i < n; ++i) {
      call(4, {{a[k][k], RW}, {a[i][k], RW}, {t[i][k], W}}, work);
      for (int j = k + 1; j < n; ++j)
        call(5, {{a[i][k], R}, {a[k][j], RW}, {a[i][j], RW}}, work);
    }
  }
  starpu_data_unregister_submit(work);
  check_all(a);
  check_all(t);
}

// Forward, keeping all activations; backward through them; each is released then.
void training(int layers, std::size_t bytes) {
  constexpr int kSteps = 3;
  std::vector<Datum> weights, activations;
  for (int l = 0; l < layers; ++l) weights.push_back(datum(bytes / 4));
  for (int l = 0; l <= layers; ++l) activations.push_back(datum(bytes));
  for (Datum& w : weights) call(1, {{w, W}});
  for (int step = 0; step < kSteps; ++step) {
    call(2, {{activations[0], W}});
    for (int l = 0; l < layers; ++l)
      call(3, {{weights[l], R}, {activations[l], R}, {activations[l + 1], W}});
    for (int l = layers - 1; l >= 0; --l) {
      call(4, {{activations[l + 1], R}, {activations[l], RW}, {weights[l], RW}});
      starpu_data_invalidate_submit(activations[l + 1].handle);
    }
    // Data that no task works on any more are released as well.
    starpu_task_wait_for_all();
    starpu_data_invalidate_submit(activations[0].handle);
  }
  for (const Datum& w : weights) check(w);
  for (const Datum& d : activations) starpu_data_unregister_submit(d.handle);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string pattern = argc > 1 ? argv[1] : "";
  const std::size_t bytes = static_cast<std::size_t>(argc > 2 ? std::atoi(argv[2]) : 128)
                            << 10;
  const int size = argc > 3 ? std::atoi(argv[3]) : 8;
  if (starpu_init(nullptr) != 0) return 77;
  const double start = starpu_timing_now();
  if (pattern == "cholesky")
    cholesky(size, bytes);
  else if (pattern == "lu")
    lu(size, bytes);
  else if (pattern == "qr")
    qr(size, bytes);
  else if (pattern == "training")
    training(size, bytes);
  else
    return 2;
  starpu_task_wait_for_all();
  const double seconds = (starpu_timing_now() - start) * 1e-6;
  starpu_shutdown();
  std::printf("%s: all %s, %.1f MiB of data, %.3f s\n", pattern.c_str(),
              wrong ? "WRONG" : "right", static_cast<double>(all_bytes) / (1 << 20),
              seconds);
  return wrong;
}
