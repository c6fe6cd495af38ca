/* A sparse system through the C interface: five-point Laplacian of a 60 x 60 grid.
 *
 *   factor inside the least bound, solve for two right-hand sides, factor other values
 *   under the same plan, save, load, solve again.
 *
 * Argument: the file to save to. Every solution's residual is checked here.
 */

#include <espalier_solver.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 60, ORDER = SIDE * SIDE, COLUMNS = 2 };

static int64_t column_start[ORDER + 1];
static int32_t rows[3 * ORDER];
static double values[3 * ORDER];

static void check(int status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "%s: %s\n", what, espalier_solver_last_error());
  exit(1);
}

/* The lower triangle, by columns: 4 + shift on the diagonal, -1 for each neighbour. */
static espalier_solver_matrix make_matrix(double shift) {
  int64_t next = 0;
  for (int32_t j = 0; j < ORDER; ++j) {
    column_start[j] = next;
    rows[next] = j;
    values[next++] = 4 + shift;
    if (j % SIDE + 1 < SIDE) {
      rows[next] = j + 1;
      values[next++] = -1;
    }
    if (j + SIDE < ORDER) {
      rows[next] = j + SIDE;
      values[next++] = -1;
    }
  }
  column_start[ORDER] = next;
  const espalier_solver_matrix matrix = {ORDER, ESPALIER_SOLVER_SYMMETRIC, column_start,
                                         rows, values};
  return matrix;
}

/* The largest entry of |b - A x|. */
static double residual(const double* b, const double* x) {
  static double r[ORDER];
  double largest = 0;
  for (int32_t i = 0; i < ORDER; ++i) r[i] = b[i];
  for (int32_t j = 0; j < ORDER; ++j)
    for (int64_t k = column_start[j]; k < column_start[j + 1]; ++k) {
      r[rows[k]] -= values[k] * x[j];
      if (rows[k] != j) r[j] -= values[k] * x[rows[k]];
    }
  for (int32_t i = 0; i < ORDER; ++i) largest = fmax(largest, fabs(r[i]));
  return largest;
}

static void solve_and_check(espalier_solver* solver, const char* when) {
  static double b[COLUMNS * ORDER], x[COLUMNS * ORDER];
  for (int32_t i = 0; i < COLUMNS * ORDER; ++i) x[i] = b[i] = i % 7 - 3;
  check(espalier_solver_solve(solver, 0, COLUMNS, x), when);
  for (int32_t k = 0; k < COLUMNS; ++k) {
    const double error = residual(b + k * ORDER, x + k * ORDER);
    printf("%s, right-hand side %d: residual %.1e\n", when, (int)k, error);
    if (!(error <= 1e-11)) exit(1);
  }
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  espalier_solver* solver;
  espalier_solver_matrix matrix = make_matrix(0);
  check(espalier_solver_create(&solver, &matrix, NULL), "analyse");

  int64_t least;
  check(espalier_solver_least(solver, &least, NULL), "least");
  check(espalier_solver_plan(solver, least), "plan");
  check(espalier_solver_factorise(solver), "factorise");
  solve_and_check(solver, "first values");

  matrix = make_matrix(0.5);
  check(espalier_solver_refactorise(solver, &matrix), "refactorise");
  solve_and_check(solver, "other values");

  espalier_solver_statistics facts = {0};
  facts.size = sizeof facts;
  check(espalier_solver_read_statistics(solver, &facts), "statistics");
  printf("peak %.1f MiB of a bound of %.1f MiB, backward error %.1e\n",
         (double)facts.peak_resident / 1048576, (double)least / 1048576,
         facts.backward_error);
  if (facts.peak_resident > least) return 1;

  check(espalier_solver_save(solver, argv[1]), "save");
  espalier_solver_destroy(solver);
  check(espalier_solver_load(&solver, argv[1], NULL), "load");
  solve_and_check(solver, "loaded");
  espalier_solver_destroy(solver);
  return remove(argv[1]) == 0 ? 0 : 1;
}
