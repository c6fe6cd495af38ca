/* A program for PETSc that knows of no solver: linear systems by KSP, one of them
 * singular, and a nonlinear one by SNES, on one process or on several, with whatever
 * -pc_factor_mat_solver_type names; or, with -points N, one linear system on N x N points
 * alone. With -not_finite also some of numbers that are not finite, which not every
 * solver survives. 0 when all solutions are right. One
 * program, as PETSc's users have them: over 300 lines. */

#include <petscdmda.h>
#include <petscsnes.h>

/* The own rows of the 5-point operator on n x n points with a drift; both triangles, or
 * the upper one. */
static PetscErrorCode fill(Mat matrix, PetscInt n, PetscBool upper, PetscReal drift,
                           PetscReal shift) {
  PetscInt first, last;
  PetscFunctionBeginUser;
  PetscCall(MatGetOwnershipRange(matrix, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt i = row % n, j = row / n;
    const PetscInt near[] = {row - n, row - 1, row, row + 1, row + n};
    const PetscBool inside[] = {j > 0, i > 0, PETSC_TRUE, i < n - 1, j < n - 1};
    const PetscScalar value[] = {-1, -1 - drift, 4 + shift, -1 + drift, -1};
    for (int k = upper ? 2 : 0; k < 5; ++k)
      if (inside[k])
        PetscCall(MatSetValue(matrix, row, near[k], value[k], INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode check(KSP solver, Mat matrix, PetscBool transposed,
                            const char* what) {
  Vec known, b, x;
  PetscReal error;
  PetscInt iterations;
  PetscFunctionBeginUser;
  PetscCall(MatCreateVecs(matrix, &known, &b));
  PetscCall(VecDuplicate(known, &x));
  PetscCall(VecSetRandom(known, NULL));
  if (transposed) {
    PetscCall(MatMultTranspose(matrix, known, b));
    PetscCall(KSPSolveTranspose(solver, b, x));
  } else {
    PetscCall(MatMult(matrix, known, b));
    PetscCall(KSPSolve(solver, b, x));
  }
  PetscCall(KSPGetIterationNumber(solver, &iterations));
  PetscCall(VecAXPY(x, -1, known));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %s\n", what,
                        error < 1e-8 && iterations <= 2 ? "ok" : "WRONG"));
  PetscCheck(error < 1e-8 && iterations <= 2, PETSC_COMM_WORLD, PETSC_ERR_USER,
             "%s: error %g, %d iterations", what, (double)error, (int)iterations);
  PetscCall(VecDestroy(&known));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* Eigenvalues of the 5-point operator with a shift: how many are negative. */
static PetscInt negative_eigenvalues(PetscInt n, PetscReal shift) {
  PetscInt count = 0;
  for (PetscInt i = 1; i <= n; ++i)
    for (PetscInt j = 1; j <= n; ++j)
      if (4 + shift - 2 * PetscCosReal(PETSC_PI * i / (n + 1)) -
              2 * PetscCosReal(PETSC_PI * j / (n + 1)) <
          0)
        ++count;
  return count;
}

static PetscErrorCode check_inertia(PC pc, PetscInt n, PetscReal shift) {
  Mat factor;
  PetscInt below, zero, above;
  PetscFunctionBeginUser;
  PetscCall(PCFactorGetMatrix(pc, &factor));
  PetscCall(MatGetInertia(factor, &below, &zero, &above));
  PetscCheck(
      below == negative_eigenvalues(n, shift) && zero == 0 && above == n * n - below,
      PETSC_COMM_WORLD, PETSC_ERR_USER, "inertia %d, %d, %d", (int)below, (int)zero,
      (int)above);
  PetscFunctionReturn(0);
}

/* Many right-hand sides at once. */
static PetscErrorCode check_block(PC pc, Mat matrix) {
  Mat factor, known, b, x;
  PetscReal error;
  PetscInt own, all;
  PetscFunctionBeginUser;
  PetscCall(MatGetLocalSize(matrix, &own, NULL));
  PetscCall(MatGetSize(matrix, &all, NULL));
  PetscCall(PCFactorGetMatrix(pc, &factor));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, own, PETSC_DECIDE, all, 19, NULL, &known));
  PetscCall(MatSetRandom(known, NULL));
  PetscCall(MatMatMult(matrix, known, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &b));
  PetscCall(MatDuplicate(known, MAT_DO_NOT_COPY_VALUES, &x));
  PetscCall(MatMatSolve(factor, b, x));
  PetscCall(MatAXPY(x, -1, known, SAME_NONZERO_PATTERN));
  PetscCall(MatNorm(x, NORM_FROBENIUS, &error));
  PetscCheck(error < 1e-8, PETSC_COMM_WORLD, PETSC_ERR_USER, "19 columns: error %g",
             (double)error);
  PetscCall(MatDestroy(&known));
  PetscCall(MatDestroy(&b));
  PetscCall(MatDestroy(&x));
  PetscFunctionReturn(0);
}

typedef struct {
  const char* what;
  MatType type;
  PCType factor;
  PetscReal drift[2]; /* of the first values and of the second */
  PetscReal shift;
  PetscBool block; /* many right-hand sides at once, too */
} Case;

/* Twice, on n x n points: the second time with other values. */
static PetscErrorCode run_linear(const Case* given, PetscInt n) {
  Mat matrix;
  KSP solver;
  PC pc;
  PetscBool upper, cholesky;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_WORLD, &matrix));
  PetscCall(MatSetSizes(matrix, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
  PetscCall(MatSetType(matrix, given->type));
  PetscCall(MatSeqAIJSetPreallocation(matrix, 5, NULL));
  PetscCall(MatMPIAIJSetPreallocation(matrix, 5, NULL, 5, NULL));
  PetscCall(MatSeqSBAIJSetPreallocation(matrix, 1, 5, NULL));
  PetscCall(MatMPISBAIJSetPreallocation(matrix, 1, 5, NULL, 5, NULL));
  PetscCall(PetscStrcmp(given->type, MATSBAIJ, &upper));
  PetscCall(PetscStrcmp(given->factor, PCCHOLESKY, &cholesky));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetTolerances(solver, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  PetscCall(KSPGetPC(solver, &pc));
  PetscCall(PCSetType(pc, given->factor));
  PetscCall(KSPSetFromOptions(solver));
  for (int round = 0; round < 2; ++round) {
    const PetscReal shift = given->shift + 0.1 * round;
    PetscCall(fill(matrix, n, upper, given->drift[round], shift));
    PetscCall(KSPSetOperators(solver, matrix, matrix));
    PetscCall(check(solver, matrix, PETSC_FALSE, given->what));
    PetscCall(check(solver, matrix, PETSC_TRUE, given->what));
    if (cholesky) PetscCall(check_inertia(pc, n, shift));
    if (given->block) PetscCall(check_block(pc, matrix));
  }
  PetscCall(KSPDestroy(&solver));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(0);
}

/* -u'' on a circle of n points, which does not know a constant: the matrix says so. */
static PetscErrorCode run_singular(PetscInt n) {
  Mat matrix;
  MatNullSpace constants;
  KSP solver;
  PC pc;
  Vec known, b, x;
  PetscInt first, last;
  PetscReal error;
  KSPConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 3, NULL, 2,
                         NULL, &matrix));
  PetscCall(MatGetOwnershipRange(matrix, &first, &last));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt columns[] = {(row + n - 1) % n, row, (row + 1) % n};
    const PetscScalar values[] = {-1, 2, -1};
    PetscCall(MatSetValues(matrix, 1, &row, 3, columns, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constants));
  PetscCall(MatSetNullSpace(matrix, constants));
  PetscCall(MatCreateVecs(matrix, &known, &b));
  PetscCall(VecDuplicate(known, &x));
  PetscCall(VecSetRandom(known, NULL));
  PetscCall(MatNullSpaceRemove(constants, known));
  PetscCall(MatMult(matrix, known, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetTolerances(solver, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 10));
  PetscCall(KSPGetPC(solver, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(PCFactorSetShiftType(pc, MAT_SHIFT_NONZERO)); /* of PETSc's own */
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(KSPSolve(solver, b, x));
  PetscCall(KSPGetConvergedReason(solver, &reason));
  PetscCall(VecAXPY(x, -1, known));
  PetscCall(VecNorm(x, NORM_INFINITY, &error));
  PetscCheck(reason > 0 && error < 1e-6, PETSC_COMM_WORLD, PETSC_ERR_USER,
             "singular: reason %d, error %g", (int)reason, (double)error);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "singular, with its null space: ok\n"));
  PetscCall(KSPDestroy(&solver));
  PetscCall(MatNullSpaceDestroy(&constants));
  PetscCall(MatDestroy(&matrix));
  PetscCall(VecDestroy(&known));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* Values of a matrix that has more entries, or fewer, than the one that was analysed. */
static PetscErrorCode run_other_pattern(PetscInt n) {
  Mat matrix[2], factor;
  MatFactorInfo info;
  PetscFunctionBeginUser;
  PetscCall(MatFactorInfoInitialize(&info));
  for (int k = 0; k < 2; ++k) {
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, 2, NULL, 2,
                           NULL, &matrix[k]));
    PetscInt first, last;
    PetscCall(MatGetOwnershipRange(matrix[k], &first, &last));
    for (PetscInt i = first; i < last; ++i) {
      PetscCall(MatSetValue(matrix[k], i, i, 2, INSERT_VALUES));
      if (k == 1 && i == 1) PetscCall(MatSetValue(matrix[k], i, 0, 1, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(matrix[k], MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix[k], MAT_FINAL_ASSEMBLY));
  }
  for (int k = 0; k < 2; ++k) {
    PetscCall(MatGetFactor(matrix[k], "espalier", MAT_FACTOR_LU, &factor));
    PetscCall(MatLUFactorSymbolic(factor, matrix[k], NULL, NULL, &info));
    PetscCall(MatLUFactorNumeric(factor, matrix[k], &info));
    PetscCall(PetscPushErrorHandler(PetscIgnoreErrorHandler, NULL));
    const PetscErrorCode status = MatLUFactorNumeric(factor, matrix[1 - k], &info);
    PetscCall(PetscPopErrorHandler());
    PetscCheck(status == PETSC_ERR_ARG_WRONG, PETSC_COMM_WORLD, PETSC_ERR_USER,
               "another pattern: status %d", (int)status);
    PetscCall(MatLUFactorNumeric(factor, matrix[k], &info));
    PetscCall(MatDestroy(&factor));
  }
  for (int k = 0; k < 2; ++k) PetscCall(MatDestroy(&matrix[k]));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "another pattern: refused, ok\n"));
  PetscFunctionReturn(0);
}

/* An entry of the matrix or of the right-hand side that is NaN or infinite, and what was
 * there before: KSP says that it diverged, and the program goes on. */
static PetscErrorCode run_not_finite(PetscInt n, PCType factor) {
  Mat matrix;
  KSP solver;
  PC pc;
  Vec b, x;
  PetscInt first, last;
  KSPConvergedReason reason;
  const PetscScalar strange[] = {NAN, 4, INFINITY, 4, 4, 4}; /* a_nn */
  const PetscScalar side[] = {1, 1, 1, 1, NAN, 1};           /* b_n */
  PetscFunctionBeginUser;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n, 5,
                         NULL, 5, NULL, &matrix));
  PetscCall(MatCreateVecs(matrix, &x, &b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPGetPC(solver, &pc));
  PetscCall(PCSetType(pc, factor));
  PetscCall(KSPSetFromOptions(solver));
  PetscCall(MatGetOwnershipRange(matrix, &first, &last));
  for (int k = 0; k < 6; ++k) {
    PetscCall(fill(matrix, n, PETSC_FALSE, 0, 0));
    PetscCall(VecSet(b, 1));
    if (last == n * n) {
      PetscCall(MatSetValue(matrix, last - 1, last - 1, strange[k], INSERT_VALUES));
      PetscCall(VecSetValue(b, last - 1, side[k], INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
    PetscCall(VecAssemblyBegin(b));
    PetscCall(VecAssemblyEnd(b));
    PetscCall(KSPSetOperators(solver, matrix, matrix));
    PetscCall(KSPSolve(solver, b, x));
    PetscCall(KSPGetConvergedReason(solver, &reason));
    const PetscBool finite = k % 2 == 1 ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(finite ? reason > 0 : reason < 0, PETSC_COMM_WORLD, PETSC_ERR_USER,
               "%s, not finite, case %d: reason %d", factor, k, (int)reason);
  }
  PetscCall(
      PetscPrintf(PETSC_COMM_WORLD, "%s of what is not finite: diverged, ok\n", factor));
  PetscCall(KSPDestroy(&solver));
  PetscCall(MatDestroy(&matrix));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* -u'' + exp(u) = 0 by differences, u = 0 at one end and 1 at the other. */
static PetscErrorCode residual(DMDALocalInfo* info, const PetscScalar* u, PetscScalar* r,
                               void* context) {
  const PetscInt n = info->mx;
  PetscFunctionBeginUser;
  (void)context;
  for (PetscInt i = info->xs; i < info->xs + info->xm; ++i)
    r[i] = 2 * u[i] - (i > 0 ? u[i - 1] : 0) - (i < n - 1 ? u[i + 1] : 1) +
           PetscExpScalar(u[i]) / ((n + 1) * (n + 1));
  PetscFunctionReturn(0);
}

static PetscErrorCode jacobian(DMDALocalInfo* info, const PetscScalar* u, Mat matrix,
                               Mat same, void* context) {
  const PetscInt n = info->mx;
  PetscFunctionBeginUser;
  (void)same, (void)context;
  for (PetscInt i = info->xs; i < info->xs + info->xm; ++i) {
    PetscCall(MatSetValue(matrix, i, i, 2 + PetscExpScalar(u[i]) / ((n + 1) * (n + 1)),
                          INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(matrix, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(matrix, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode run_nonlinear(void) {
  SNES snes;
  KSP ksp;
  PC pc;
  DM grid;
  Vec x;
  PetscReal norm;
  PetscInt iterations;
  SNESConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, 3000, 1, 1, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(DMDASNESSetFunctionLocal(
      grid, INSERT_VALUES,
      (PetscErrorCode(*)(DMDALocalInfo*, void*, void*, void*))residual, NULL));
  PetscCall(DMDASNESSetJacobianLocal(
      grid, (PetscErrorCode(*)(DMDALocalInfo*, void*, Mat, Mat, void*))jacobian, NULL));
  PetscCall(DMCreateGlobalVector(grid, &x));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, grid));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(x, 0));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &iterations));
  PetscCall(SNESGetFunctionNorm(snes, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "SNES: %s\n",
                        reason > 0 && iterations <= 6 ? "ok" : "WRONG"));
  PetscCheck(reason > 0 && iterations <= 6, PETSC_COMM_WORLD, PETSC_ERR_USER,
             "SNES: reason %d, %d iterations, residual %g", (int)reason, (int)iterations,
             (double)norm);
  PetscCall(SNESDestroy(&snes));
  PetscCall(DMDestroy(&grid));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

int main(int count, char** arguments) {
  PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
  const Case cases[] = {
      {"aij, lu", MATAIJ, PCLU, {0.3, 0.3}, 0, PETSC_FALSE},
      {"aij, lu, symmetric at first", MATAIJ, PCLU, {0, 0.3}, 0, PETSC_TRUE},
      {"aij, cholesky", MATAIJ, PCCHOLESKY, {0, 0}, 0, PETSC_TRUE},
      {"sbaij, cholesky", MATSBAIJ, PCCHOLESKY, {0, 0}, 0, PETSC_FALSE},
      {"sbaij, indefinite", MATSBAIJ, PCCHOLESKY, {0, 0}, -3.3, PETSC_FALSE}};
  PetscInt points = 50;
  PetscBool alone, strange, ours;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &points, &alone));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-not_finite", &strange));
  for (int k = 0; k < (alone ? 1 : 5); ++k) PetscCall(run_linear(&cases[k], points));
  if (!alone) PetscCall(run_singular(200));
  if (strange) PetscCall(run_not_finite(8, PCLU));
  if (strange) PetscCall(run_not_finite(8, PCCHOLESKY));
  if (!alone) PetscCall(run_nonlinear());
  PetscCall(MatSolverTypeGet("espalier", MATSEQAIJ, MAT_FACTOR_LU, &ours, NULL, NULL));
  if (!alone && ours) PetscCall(run_other_pattern(20));
  PetscCall(PetscFinalize());
  return 0;
}
