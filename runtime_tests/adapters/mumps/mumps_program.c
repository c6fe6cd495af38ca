/* A program that was written for MUMPS, linked with the system's libdmumps_seq: every
 * job, each kind of matrix, solutions checked. Prints a line a case; 0 when all are
 * right. One program with a function for each of MUMPS's features: over 300 lines. */

#define _POSIX_C_SOURCE 200809L

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

/* An instance that prints nothing, with the matrix of fill() in the arrays. What is not
 * set is anything, as in a struct on the stack. */
static void begin(DMUMPS_STRUC_C* id, int sym, int* irn, int* jcn, double* a) {
  memset(id, 0x11, sizeof *id);
  id->sym = sym;
  id->par = 1;
  id->comm_fortran = -987654;
  call(id, -1);
  int told = 0;
  for (int k = 0; k < 80; ++k) told |= id->info[k] | id->infog[k];
  if (told != 0) expect(0, "nothing is told before the first job");
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
  expect(id.infog[27] == 0, "variables of a Schur complement are no deficiency");
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
    expect(id.pivnul_list != NULL && id.pivnul_list[0] >= 1 && id.pivnul_list[0] <= N,
           "and its row");
    id.icntl[24] = -1;
    call(&id, 3);
    double worst = 0;
    for (int i = 1; i < N; ++i) worst = fmax(worst, fabs(x[i] - x[0]));
    expect(id.infog[0] >= 0 && fabs(x[0]) > 0.01 && worst < 1e-10 * fabs(x[0]),
           "the null space");
  }
  call(&id, -2);
}

/* What is outside of the matrix is left out with a warning, what is given twice is
 * added; counts of right-hand sides that cannot be are refused by MUMPS's codes. */
static void run_strange(int sym) {
  char name[80];
  int irn[3 * N + 3], jcn[3 * N + 3];
  double a[3 * N + 3], b[N], x[2 * N];
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  const int inside = (int)id.nnz;
  for (int i = 0; i < N; ++i) b[i] = x[i] = 1 + i % 5;
  irn[inside] = 0, jcn[inside] = 3, a[inside] = 1e9;
  irn[inside + 1] = 3, jcn[inside + 1] = N + 1, a[inside + 1] = NAN;
  irn[inside + 2] = jcn[inside + 2] = 2, a[inside + 2] = 0.5; /* a second time */
  id.nnz = inside + 3;
  id.rhs = x;
  expect(id.nrhs == 1, "one right-hand side where nothing is said");
  call(&id, 6);
  snprintf(name, sizeof name, "SYM=%d two entries outside", sym);
  expect(id.infog[0] == 1 && id.infog[1] == 2, name);
  irn[inside] = jcn[inside] = 2, a[inside] = 0.5;
  snprintf(name, sizeof name, "SYM=%d without them, with the sum", sym);
  expect(residual(sym, inside + 1, irn, jcn, a, x, b, 0) < 1e-12, name);
  call(&id, 2);
  expect(id.infog[0] == 0, "the warning is of the analysis");
  const struct {
    int nrhs, lrhs, code, detail;
  } cases[] = {{0, N, -45, 0}, {-2, N, -45, -2}, {2, N - 1, -26, N - 1}, {2, 0, -26, 0}};
  for (int k = 0; k < 4; ++k) {
    id.nrhs = cases[k].nrhs;
    id.lrhs = cases[k].lrhs;
    call(&id, 3);
    snprintf(name, sizeof name, "NRHS=%d, LRHS=%d", id.nrhs, id.lrhs);
    expect(id.infog[0] == cases[k].code && id.infog[1] == cases[k].detail, name);
  }
  id.nrhs = 1;
  id.icntl[24] = -1;
  call(&id, 3);
  expect(id.infog[0] == -37 && id.infog[1] == 24, "ICNTL(25) without ICNTL(24)");
  call(&id, -2);
}

/* Numbers that are not finite end no program: SYM = 1 has them in the solution, the
 * others find no pivot. The next matrix is solved with as if nothing had been. */
static void run_not_finite(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N];
  double a[3 * N], b[N], x[2 * N];
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  for (int i = 0; i < N; ++i) b[i] = 1 + i % 5;
  id.rhs = x;
  const double entry = a[0];
  a[0] = NAN;
  for (int round = 0; round < 2; ++round) { /* first values and later ones */
    memcpy(x, b, sizeof b);
    a[0] = NAN;
    call(&id, round == 0 ? 6 : 5);
    snprintf(name, sizeof name, "SYM=%d an entry is NaN", sym);
    expect(sym == 1 ? id.infog[0] == 0 && isnan(x[0]) : id.infog[0] == -10, name);
    memcpy(x, b, sizeof b);
    a[0] = entry;
    call(&id, 5);
    snprintf(name, sizeof name, "SYM=%d and is a number again", sym);
    expect(id.infog[0] == 0 && residual(sym, (int)id.nnz, irn, jcn, a, x, b, 0) < 1e-12,
           name);
  }
  memcpy(x, b, sizeof b);
  memcpy(x + N, b, sizeof b);
  x[N / 2] = INFINITY;
  id.nrhs = 2;
  id.lrhs = N;
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d one of two right-hand sides is infinite", sym);
  expect(id.infog[0] == 0 && !isfinite(x[N / 2]) &&
             residual(sym, (int)id.nnz, irn, jcn, a, x + N, b, 0) < 1e-12,
         name);
  call(&id, -2);
}

/* The same matrix by elements of two variables each, the diagonal in a half to either
 * side, and then with other values. */
static void run_elements(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N], eltptr[N], eltvar[2 * (N - 1)];
  double a[3 * N], b[N], x[N], a_elt[4 * (N - 1)];
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  id.irn = id.jcn = NULL;
  id.a = NULL;
  const int entries = (int)id.nnz;
  id.nnz = 0;
  id.icntl[4] = 1;
  id.nelt = N - 1;
  id.eltptr = eltptr;
  id.eltvar = eltvar;
  id.a_elt = a_elt;
  id.rhs = x;
  for (int i = 0; i < N; ++i) b[i] = 1 + i % 5;
  for (int round = 0; round < 2; ++round) {
    const double diagonal = 4 + round;
    fill(sym, irn, jcn, a, diagonal);
    int at = 0;
    for (int e = 0; e < N - 1; ++e) {
      eltptr[e] = 2 * e + 1;
      eltvar[2 * e] = e + 2; /* the later one first */
      eltvar[2 * e + 1] = e + 1;
      const double one = (e == N - 2 ? 1 : 0.5) *
                         ((e + 2) % 7 == 0 && sym == 2 ? -diagonal : diagonal),
                   other = (e == 0 ? 1 : 0.5) *
                           ((e + 1) % 7 == 0 && sym == 2 ? -diagonal : diagonal);
      a_elt[at++] = one;
      a_elt[at++] = sym == 0 ? 0.5 : -1; /* row e + 1, column e + 2 */
      if (sym == 0) a_elt[at++] = -1;
      a_elt[at++] = other;
    }
    eltptr[N - 1] = 2 * (N - 1) + 1;
    memcpy(x, b, sizeof b);
    call(&id, round == 0 ? 6 : 5);
    snprintf(name, sizeof name, "SYM=%d elements, round %d", sym, round);
    expect(id.infog[0] == 0 && residual(sym, entries, irn, jcn, a, x, b, 0) < 1e-12,
           name);
  }
  id.nelt = 0;
  call(&id, 1);
  snprintf(name, sizeof name, "SYM=%d no elements", sym);
  expect(id.infog[0] == -24, name);
  call(&id, -2);
}

/* Sparse right-hand sides, and entries of the inverse: those of a column that is solved
 * for. */
static void run_sparse(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N], rows[3] = {3, N, 7}, pointers[N + 1] = {1, 2, 4};
  double a[3 * N], b[2 * N] = {0}, x[2 * N], entries[3] = {2, -1, 5};
  DMUMPS_STRUC_C id;
  begin(&id, sym, irn, jcn, a);
  id.rhs = x;
  id.nrhs = 2;
  id.lrhs = N;
  id.rhs_sparse = entries;
  id.irhs_sparse = rows;
  id.irhs_ptr = pointers;
  id.nz_rhs = 3;
  b[2] = 2;
  b[N + N - 1] = -1;
  b[N + 6] = 5;
  call(&id, 4);
  id.icntl[19] = 1;
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d sparse right-hand sides", sym);
  expect(id.infog[0] == 0 && residual(sym, (int)id.nnz, irn, jcn, a, x, b, 0) < 1e-12 &&
             residual(sym, (int)id.nnz, irn, jcn, a, x + N, b + N, 0) < 1e-12,
         name);
  for (int k = 0; k <= 2; ++k) pointers[k] = 1;
  id.nz_rhs = 0;
  call(&id, 3);
  double largest = 0;
  for (int k = 0; k < 2 * N; ++k) largest = fmax(largest, fabs(x[k]));
  expect(id.infog[0] == 0 && largest == 0, "sparse right-hand sides without an entry");
  id.nz_rhs = 3;
  for (int inverse = 0; inverse <= 1; ++inverse) {
    id.icntl[19] = 1 - inverse;
    id.icntl[29] = inverse;
    id.nrhs = inverse ? N : 2;
    for (int k = 0; k <= id.nrhs; ++k) pointers[k] = k == 0 ? 1 : 6;
    call(&id, 3);
    expect(id.infog[0] == -27 && id.infog[1] == 6, "IRHS_PTR that ends elsewhere");
    for (int k = 0; k <= id.nrhs; ++k) pointers[k] = k == 0 ? 2 : 4;
    call(&id, 3);
    expect(id.infog[0] == -28 && id.infog[1] == 2, "IRHS_PTR that begins elsewhere");
  }
  id.icntl[29] = 0;
  /* Column 7 of the inverse, and its entries in rows 3, 30, 7. */
  id.icntl[19] = 0;
  id.nrhs = 1;
  memset(x, 0, sizeof x);
  x[6] = 1;
  call(&id, 3);
  for (int k = 0; k <= N; ++k) pointers[k] = k < 7 ? 1 : 4;
  id.nrhs = N;
  id.icntl[29] = 1;
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d entries of the inverse", sym);
  expect(id.infog[0] == 0 && fabs(entries[0] - x[2]) < 1e-14 &&
             fabs(entries[1] - x[N - 1]) < 1e-14 && fabs(entries[2] - x[6]) < 1e-14,
         name);
  id.nrhs = 1;
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d entries of the inverse with NRHS=1", sym);
  expect(id.infog[0] == -47, name);
  call(&id, -2);
}

/* Two rows of three that depend on others, as a host that takes them out asks for them:
 * the identity, and below it rows 1, 1 again and 2 of a matrix, twice that. */
static void run_dependent(void) {
  int irn[3 * N], jcn[3 * N];
  double a[3 * N];
  DMUMPS_STRUC_C id;
  begin(&id, 2, irn, jcn, a);
  int rows_of[] = {1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7};
  int columns_of[] = {1, 2, 3, 1, 2, 1, 2, 2, 3, 2, 3};
  double values[] = {1, 1, 1, 1, 2, 1, 2, 1, -1, 2, -2};
  id.irn = rows_of;
  id.jcn = columns_of;
  id.a = values;
  id.n = 7;
  id.nnz = 11;
  id.icntl[23] = 1;
  call(&id, 4);
  const int* rows = id.pivnul_list;
  expect(id.infog[0] == 0 && id.infog[27] == 2 && rows != NULL &&
             (rows[0] < 6) + (rows[1] < 6) == 1 && rows[0] > 3 && rows[1] > 3,
         "a row of each two that depend on one another");
  call(&id, -2);
}

/* SYM = 1 is not enforced: INFOG(12) says what the matrix is. */
static void run_not_definite(void) {
  int irn[3 * N], jcn[3 * N];
  double a[3 * N], b[N], x[N];
  DMUMPS_STRUC_C id;
  begin(&id, 1, irn, jcn, a);
  for (int definite = 0; definite < 2; ++definite) {
    for (int k = 0; k < id.nnz; ++k) a[k] = -a[k];
    for (int i = 0; i < N; ++i) b[i] = x[i] = 1 + i % 5;
    id.rhs = x;
    call(&id, definite ? 5 : 6);
    expect(id.infog[0] == 0 && id.infog[11] == (definite ? 0 : N) &&
               residual(1, (int)id.nnz, irn, jcn, a, x, b, 0) < 1e-12,
           definite ? "definite again" : "SYM=1 of a negative definite matrix");
  }
  call(&id, -2);
}

/* Each option is read by the job that it is for, from wherever the struct is then. */
static void run_late(int sym) {
  char name[80];
  int irn[3 * N], jcn[3 * N];
  double a[3 * N], x[N];
  DMUMPS_STRUC_C first, id;
  begin(&first, sym, irn, jcn, a);
  first.icntl[21] = 1;
  strcpy(first.ooc_tmpdir, "/tmp");
  call(&first, 1);
  id = first;
  memset(first.ooc_tmpdir, 'x', 20);
  call(&id, 2);
  snprintf(name, sizeof name, "SYM=%d a struct that is moved", sym);
  expect(id.infog[0] == 0, name);
  strcpy(id.ooc_tmpdir, "/nowhere/at/all");
  call(&id, 2);
  snprintf(name, sizeof name, "SYM=%d a directory that is not there", sym);
  expect(id.infog[0] == -90, name);
  strcpy(id.ooc_tmpdir, "NAME_NOT_INITIALIZED");
  setenv("MUMPS_OOC_TMPDIR", "/nowhere/at/all", 1);
  call(&id, 2);
  snprintf(name, sizeof name, "SYM=%d a directory of the environment", sym);
  expect(id.infog[0] == -90, name);
  unsetenv("MUMPS_OOC_TMPDIR");
  call(&id, 2);
  snprintf(name, sizeof name, "SYM=%d no directory: /tmp", sym);
  expect(id.infog[0] == 0, name);
  id.icntl[21] = 0;
  call(&id, 1);
  call(&id, 2);
  for (int i = 0; i < N; ++i) x[i] = 1 + i % 5;
  id.rhs = x;
  id.icntl[10] = 1; /* statistics */
  call(&id, 3);
  snprintf(name, sizeof name, "SYM=%d errors that are asked for late", sym);
  expect(id.infog[0] == 0 && id.rinfog[9] > 0, name);
  id.icntl[10] = 0;
  id.icntl[23] = 1;
  call(&id, 2);
  id.icntl[24] = -1;
  id.icntl[8] = 0;
  call(&id, 3);
  expect(id.infog[0] == -37 && id.infog[1] == 9, "ICNTL(25) with ICNTL(9)");
  id.icntl[29] = 1;
  call(&id, 3);
  expect(id.infog[0] == -48 && id.infog[1] == 25, "ICNTL(30) with ICNTL(25)");
  call(&id, -2);
}

int main(void) {
  for (int sym = 0; sym <= 2; ++sym) run(sym);
  run_singular();
  for (int sym = 0; sym <= 2; ++sym) run_results(sym);
  for (int sym = 0; sym <= 2; ++sym) run_strange(sym);
  for (int sym = 0; sym <= 2; ++sym) run_not_finite(sym);
  for (int sym = 0; sym <= 2; ++sym) run_elements(sym);
  for (int sym = 0; sym <= 2; ++sym) run_sparse(sym);
  run_dependent();
  run_not_definite();
  for (int sym = 0; sym <= 2; ++sym) run_late(sym);
  return failures != 0;
}
