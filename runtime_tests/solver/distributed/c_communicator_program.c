/* The C interface on the processes of a communicator: a matrix by rows at process 0, real
 * and complex, whole vectors everywhere, other values, a file for each process, and what
 * is refused is refused at all of them. usage: PATH, of the file. */

#include <complex.h>
#include <errno.h>
#include <espalier_solver.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSide = 30, kOrder = kSide * kSide, kMost = 5 * kOrder };

static int rank, size;
static int32_t starts[kOrder + 1], columns[kMost];
static double values[kMost], x[kOrder], b[kOrder];
static double _Complex numbers[kMost], z[kOrder], c[kOrder];

static void expect(int holds, const char* what) {
  if (holds) return;
  fprintf(stderr, "rank %d: %s; %s\n", rank, what, espalier_solver_last_error());
  MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The 5-point operator with a drift. */
static void make_matrix(double shift) {
  int32_t count = 0;
  for (int32_t row = 0; row < kOrder; ++row) {
    const int32_t i = row % kSide, j = row / kSide;
    const int32_t near[] = {row - kSide, row - 1, row, row + 1, row + kSide};
    const int inside[] = {j > 0, i > 0, 1, i < kSide - 1, j < kSide - 1};
    const double value[] = {-1, -1.25, 4 + shift, -0.75, -1};
    for (int k = 0; k < 5; ++k)
      if (inside[k]) {
        columns[count] = near[k];
        values[count++] = value[k];
      }
    starts[row + 1] = count;
  }
}

/* b := A x, or A^T x. */
static void multiply(int transposed) {
  memset(b, 0, sizeof b);
  for (int32_t row = 0; row < kOrder; ++row)
    for (int32_t at = starts[row]; at < starts[row + 1]; ++at)
      b[transposed ? columns[at] : row] += values[at] * x[transposed ? row : columns[at]];
}

static void check_solutions(espalier_solver* solver, const char* what) {
  for (int transposed = 0; transposed < 2; ++transposed) {
    for (int32_t i = 0; i < kOrder; ++i) x[i] = 1 + i % 7;
    multiply(transposed);
    expect(espalier_solver_solve_block(solver, transposed, 1, b, kOrder, b, kOrder) == 0,
           what);
    for (int32_t i = 0; i < kOrder; ++i) expect(fabs(b[i] - x[i]) < 1e-9, what);
  }
}

/* The last process ends the call. */
static int end_at_last(void* context, double done) {
  (void)context, (void)done;
  return rank == size - 1;
}

static espalier_solver_input input_here(void) {
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = kOrder;
  input.format = ESPALIER_SOLVER_ROWS;
  if (rank > 0) return input;
  input.starts = starts;
  input.columns = columns;
  input.values = values;
  return input;
}

/* What is wrong at process 0 alone ends everywhere, with its text. */
static void check_refusals(const espalier_solver_options* options) {
  espalier_solver* solver = NULL;
  espalier_solver_input input = input_here();
  const int32_t column = columns[3];
  columns[3] = kOrder;
  expect(espalier_solver_analyse(&solver, &input, options) == -EINVAL, "a bad column");
  expect(strstr(espalier_solver_last_error(), "columns[3]") != NULL, "its name");
  columns[3] = column;
}

/* The entries turned in the complex plane. */
static void make_numbers(double angle) {
  for (int32_t at = 0; at < starts[kOrder]; ++at)
    numbers[at] = values[at] * cexp(I * angle * (at % 7));
}

/* c := A z, A^T z or A^H z. */
static void multiply_numbers(int transposed) {
  memset(c, 0, sizeof c);
  for (int32_t row = 0; row < kOrder; ++row)
    for (int32_t at = starts[row]; at < starts[row + 1]; ++at) {
      const double _Complex value = transposed == 2 ? conj(numbers[at]) : numbers[at];
      c[transposed ? columns[at] : row] += value * z[transposed ? row : columns[at]];
    }
}

static void check_numbers(espalier_solver* solver, const char* what) {
  for (int transposed = 0; transposed < 3; ++transposed) {
    for (int32_t i = 0; i < kOrder; ++i) z[i] = 1.0 + i % 7 - I * (double)(i % 3);
    multiply_numbers(transposed);
    expect(espalier_solver_solve_block(solver, transposed, 1, (double*)c, kOrder,
                                       (double*)c, kOrder) == 0,
           what);
    for (int32_t i = 0; i < kOrder; ++i) expect(cabs(c[i] - z[i]) < 1e-9, what);
  }
}

/* That every process tells. */
static void check_determinant(const espalier_solver* solver) {
  double found[2] = {0}, first[2];
  int64_t exponent = 0;
  expect(espalier_solver_read_complex_determinant(solver, &found[0], &exponent,
                                                  &found[1]) == 0,
         "determinant");
  memcpy(first, found, sizeof found);
  MPI_Bcast(first, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  expect(found[0] > 0 && memcmp(first, found, sizeof found) == 0, "one determinant");
}

/* What process 0 alone finds wrong with its numbers is refused everywhere. */
static void check_complex_refusals(const espalier_solver_options* options) {
  espalier_solver* solver = NULL;
  espalier_solver_options symmetric = *options;
  espalier_solver_input input = input_here();
  symmetric.kind = ESPALIER_SOLVER_KIND_LDLT;
  if (rank == 0) {
    input.scalar = ESPALIER_SOLVER_COMPLEX;
    input.values = (const double*)numbers;
  }
  expect(espalier_solver_analyse(&solver, &input, &symmetric) == -EINVAL, "a kind");
  expect(strstr(espalier_solver_last_error(), "symmetric") != NULL, "its symmetry");
  if (rank == 0) input.symmetry = ESPALIER_SOLVER_WHOLE;
  expect(espalier_solver_analyse(&solver, &input, options) == -EINVAL, "not symmetric");
  expect(strstr(espalier_solver_last_error(), "Hermitian") != NULL, "nor Hermitian");
}

/* What the others' input says of the numbers is not read. */
static void check_complex(const espalier_solver_options* options, const char* path) {
  espalier_solver* solver = NULL;
  espalier_solver_input input = input_here();
  espalier_solver_statistics told = {.size = sizeof told};
  const int64_t entries = rank == 0 ? starts[kOrder] : 0;
  make_numbers(0.1);
  check_complex_refusals(options);
  if (rank == 0) {
    input.scalar = ESPALIER_SOLVER_COMPLEX;
    input.values = (const double*)numbers;
  }
  expect(espalier_solver_analyse(&solver, &input, options) == 0, "complex: analyse");
  expect(espalier_solver_plan(solver, ESPALIER_SOLVER_MEMORY_LEAST) == 0, "plan");
  expect(espalier_solver_factorise(solver) == 0, "factorise");
  check_numbers(solver, "complex");
  check_determinant(solver);
  make_numbers(0.2);
  expect(espalier_solver_factorise_values(
             solver, rank == 0 ? (const double*)numbers : NULL, entries) == 0,
         "other complex values");
  check_numbers(solver, "other complex values");
  expect(espalier_solver_save(solver, path) == 0, "save complex");
  espalier_solver_destroy(solver);
  expect(espalier_solver_load(&solver, path, options) == 0, "load complex");
  check_numbers(solver, "loaded complex");
  expect(espalier_solver_read_statistics(solver, &told) == 0 &&
             told.scalar == ESPALIER_SOLVER_COMPLEX,
         "the scalar");
  espalier_solver_destroy(solver);
}

static void check_session(espalier_solver* solver) {
  int64_t least = 0, bound = 0;
  const int64_t entries = rank == 0 ? starts[kOrder] : 0;
  expect(espalier_solver_plan(solver, ESPALIER_SOLVER_MEMORY_AUTO) == -EINVAL, "auto");
  expect(espalier_solver_plan(solver, 1 << 20) == -ENOMEM, "too little");
  expect(espalier_solver_least(solver, &least, NULL) == 0 && least > 1 << 20, "least");
  bound = least;
  MPI_Bcast(&bound, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
  expect(bound == least, "the same least bound everywhere");
  expect(espalier_solver_plan(solver, ESPALIER_SOLVER_MEMORY_LEAST) == 0, "plan");
  expect(espalier_solver_factorise(solver) == 0, "factorise");
  check_solutions(solver, "first values");
  expect(espalier_solver_set_progress(solver, end_at_last, NULL) == 0, "progress");
  expect(espalier_solver_factorise(solver) == -ECANCELED, "ended");
  expect(espalier_solver_set_progress(solver, NULL, NULL) == 0, "no progress");
  expect(espalier_solver_factorise(solver) == 0, "factorise again");
  expect(espalier_solver_factorise_values(solver, rank == 0 ? values : NULL,
                                          entries - 1) == -EINVAL,
         "too few values");
  check_solutions(solver, "the factor that there was");
  make_matrix(0.5);
  expect(
      espalier_solver_factorise_values(solver, rank == 0 ? values : NULL, entries) == 0,
      "other values");
  check_solutions(solver, "other values");
}

int main(int count, char** arguments) {
  int level = 0;
  espalier_solver* solver = NULL;
  espalier_solver_communicator* communicator = NULL;
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  const MPI_Comm world = MPI_COMM_WORLD;
  if (count != 2) return 2;
  MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &size);
  expect(espalier_solver_communicator_create(&communicator, NULL) == -EINVAL, "NULL");
  expect(espalier_solver_communicator_create(&communicator, &world) == 0, "communicator");
  make_matrix(0);
  options.communicator = communicator;
  options.workers = 1;
  check_refusals(&options);
  const espalier_solver_input input = input_here();
  expect(espalier_solver_analyse(&solver, &input, &options) == 0, "analyse");
  check_session(solver);
  expect(espalier_solver_save(solver, arguments[1]) == 0, "save");
  espalier_solver_destroy(solver);
  expect(espalier_solver_load(&solver, arguments[1], &options) == 0, "load");
  check_solutions(solver, "loaded");
  espalier_solver_destroy(solver);
  check_complex(&options, arguments[1]);
  espalier_solver_communicator_destroy(communicator);
  MPI_Barrier(world);
  if (rank == 0) puts("ok");
  MPI_Finalize();
  return 0;
}
