/* A program that was written for MUMPS, linked with the system's libdmumps_seq: every
 * job, each kind of matrix, solutions checked. Prints a line a case; 0 when all are
 * right. */

#include <dmumps_c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 30 };

static int failures = 0;

static void expect(int right, const char* what) {
  printf("%s: %s\n", what, right ? "ok" : "WRONG");
  failures += !right;
}

static void call(DMUMPS_STRUC_C* id, int job) {
  id->job = job;
  dmumps_c(id);
}

/* A tridiagonal matrix; the upper diagonal of unsymmetric ones is different. */
static int fill(int sym, int* irn, int* jcn, double* a, double diagonal) {
  int entries = 0;
  for (int i = 1; i <= N; ++i) {
    irn[entries] = jcn[entries] = i;
    a[entries++] = i % 7 == 0 && sym == 2 ? -diagonal : diagonal;
    if (i == N) continue;
    irn[entries] = i + 1; /* below the diagonal, or above it for odd ones */
    jcn[entries] = i;
    if (sym != 0 && i % 2 == 1) {
      irn[entries] = i;
      jcn[entries] = i + 1;
    }
    a[entries++] = -1;
    if (sym == 0) {
      irn[entries] = i;
      jcn[entries] = i + 1;
      a[entries++] = 0.5;
    }
  }
  return entries;
}

/* The largest difference of A x, or A^T x, to b. */
static double residual(int sym, int entries, const int* irn, const int* jcn,
                       const double* a, const double* x, const double* b,
                       int transposed) {
  double sum[N] = {0}, worst = 0;
  for (int k = 0; k < entries; ++k) {
    const int i = (transposed ? jcn[k] : irn[k]) - 1,
              j = (transposed ? irn[k] : jcn[k]) - 1;
    sum[i] += a[k] * x[j];
    if (sym != 0 && i != j) sum[j] += a[k] * x[i];
  }
  for (int i = 0; i < N; ++i) worst = fmax(worst, fabs(sum[i] - b[i]));
  return worst;
}

/* An instance that prints nothing, with the matrix of fill() in the arrays. */
static void begin(DMUMPS_STRUC_C* id, int sym, int* irn, int* jcn, double* a) {
  memset(id, 0, sizeof *id);
  id->sym = sym;
  id->par = 1;
  id->comm_fortran = -987654;
  call(id, -1);
  id->icntl[0] = id->icntl[1] = id->icntl[2] = -1;
  id->icntl[3] = 0;
  id->n = N;
  id->nnz = fill(sym, irn, jcn, a, 4);
  id->irn = irn;
  id->jcn = jcn;
  id->a = a;
}

static void run(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N];
  double a[3 * N], b[N], x[2 * (N + 3)];
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  for (int i = 0; i < N; ++i) b[i] = 1 + i % 5;
  memcpy(x, b, sizeof b);
  id.rhs = x;
  id.nrhs = 1;
  call(&id, 6);
  snprintf(name, sizeof name, "SYM=%d JOB=6", sym);
  expect(id.infog[0] == 0 && residual(sym, (int)id.nnz, irn, jcn, a, x, b, 0) < 1e-12,
         name);
  snprintf(name, sizeof name, "SYM=%d negative pivots", sym);
  if (sym == 2) expect(id.infog[11] == N / 7, name);

  fill(sym, irn, jcn, a, 5);
  call(&id, 2);
  memcpy(x, b, sizeof b);
  memcpy(x + N + 3, b, sizeof b);
  id.nrhs = 2;
  id.lrhs = N + 3;
  id.icntl[8] = 0; /* the transposed matrix */
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d JOB=2, 3, two transposed", sym);
  expect(id.infog[0] == 0 && residual(sym, (int)id.nnz, irn, jcn, a, x, b, 1) < 1e-12 &&
             residual(sym, (int)id.nnz, irn, jcn, a, x + N + 3, b, 1) < 1e-12,
         name);

  int perm[N];
  for (int i = 0; i < N; ++i) perm[i] = N - i;
  id.perm_in = perm;
  id.icntl[6] = 1;
  id.icntl[8] = 1;
  id.icntl[9] = 2; /* refinement */
  id.nrhs = 1;
  memcpy(x, b, sizeof b);
  call(&id, 1);
  call(&id, 5);
  snprintf(name, sizeof name, "SYM=%d JOB=1, 5, an order of its own", sym);
  expect(id.infog[0] == 0 && residual(sym, (int)id.nnz, irn, jcn, a, x, b, 0) < 1e-12,
         name);
  call(&id, -2);
}

static void run_singular(void) {
  int irn[] = {1, 1, 2, 2}, jcn[] = {1, 2, 1, 2};
  double a[] = {1, 2, 2, 4}, x[] = {1, 1};
  DMUMPS_STRUC_C id;
  memset(&id, 0, sizeof id);
  id.par = 1;
  id.comm_fortran = -987654;
  call(&id, -1);
  id.icntl[0] = id.icntl[1] = id.icntl[2] = -1;
  id.icntl[3] = 0;
  id.n = 2;
  id.nnz = 4;
  id.irn = irn;
  id.jcn = jcn;
  id.a = a;
  id.rhs = x;
  id.nrhs = 1;
  call(&id, 6);
  expect(id.infog[0] == -10, "singular: INFOG(1) = -10");
  if (getenv("ESPALIER_SOLVER_REPORT") != NULL) { /* the stand-in refuses */
    id.icntl[18] = 2;
    call(&id, 1);
    expect(id.infog[0] == -800 && id.infog[1] == 19, "what is distributed is refused");
    id.icntl[18] = 0;
    call(&id, 7);
    expect(id.infog[0] == -3 && id.infog[1] == 7, "JOB=7 is refused");
  }
  call(&id, -2);
}

/* The determinant and the Schur complement on the ends of a tridiagonal matrix, then its
 * null space when its rows sum to zero. Right with MUMPS itself, too. */
static void run_results(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N], ends[2] = {N, 1};
  double a[3 * N], schur[4] = {0}, x[N], inner[N];
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  id.icntl[32] = 1;
  call(&id, 4);
  /* d_k = a_kk d_{k-1} - l u d_{k-2}, and of the matrix without its ends. */
  double before = 1, d = 4;
  const double product = sym == 0 ? -0.5 : 1;
  for (int i = 2; i <= N; ++i) {
    const double next = (i % 7 == 0 && sym == 2 ? -4 : 4) * d - product * before;
    before = d;
    d = next;
  }
  snprintf(name, sizeof name, "SYM=%d the determinant", sym);
  expect(id.infog[0] == 0 && fabs(ldexp(id.rinfog[11], id.infog[33]) / d - 1) < 1e-12,
         name);
  id.icntl[18] = 1;
  id.size_schur = 2;
  id.listvar_schur = ends;
  id.schur = schur;
  call(&id, 4);
  /* S(2, 2), of variable 1: 4 - l u / (4 - l u / (…)) up to variable N - 1. */
  inner[N - 1] = sym == 2 && (N - 1) % 7 == 0 ? -4 : 4;
  for (int i = N - 2; i >= 2; --i)
    inner[i] = (i % 7 == 0 && sym == 2 ? -4 : 4) - product / inner[i + 1];
  snprintf(name, sizeof name, "SYM=%d the Schur complement", sym);
  expect(id.infog[0] == 0 && fabs(schur[3] - (4 - product / inner[2])) < 1e-12, name);
  id.icntl[18] = 0;
  id.icntl[32] = 0;
  if (sym == 2) { /* a path's Laplacian */
    for (int k = 0; k < id.nnz; ++k)
      a[k] = irn[k] != jcn[k] ? -1 : irn[k] == 1 || irn[k] == N ? 1 : 2;
    id.icntl[23] = 1; /* null pivots are found */
    id.rhs = x;
    id.nrhs = 1;
    call(&id, 4);
    expect(id.infog[0] >= 0 && id.infog[27] == 1, "one null pivot");
    id.icntl[24] = -1;
    call(&id, 3);
    double worst = 0;
    for (int i = 1; i < N; ++i) worst = fmax(worst, fabs(x[i] - x[0]));
    expect(id.infog[0] >= 0 && fabs(x[0]) > 0.01 && worst < 1e-10 * fabs(x[0]),
           "the null space");
  }
  call(&id, -2);
}

int main(void) {
  for (int sym = 0; sym <= 2; ++sym) run(sym);
  run_singular();
  for (int sym = 0; sym <= 2; ++sym) run_results(sym);
  return failures != 0;
}
