/* A program for PETSc that knows of no solver: linear systems by KSP and a nonlinear one
 * by SNES, with whatever -pc_factor_mat_solver_type names. 0 when all solutions are
 * right. */

#include <petscsnes.h>

/* The 5-point operator on n x n points with a drift; both triangles, or the upper one. */
static PetscErrorCode fill(Mat matrix, PetscInt n, PetscBool upper, PetscReal drift,
                           PetscReal shift) {
  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < n; ++j)
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt row = j * n + i, near[] = {row - n, row - 1, row, row + 1, row + n};
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
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "%s: %s\n", what,
                        error < 1e-8 && iterations <= 2 ? "ok" : "WRONG"));
  PetscCheck(error < 1e-8 && iterations <= 2, PETSC_COMM_SELF, PETSC_ERR_USER,
             "%s: error %g, %d iterations", what, (double)error, (int)iterations);
  PetscCall(VecDestroy(&known));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

/* Twice: the second time with other values. */
static PetscErrorCode run_linear(MatType type, PCType factor, PetscReal drift,
                                 PetscReal shift, const char* what) {
  const PetscInt n = 50;
  Mat matrix;
  KSP solver;
  PC pc;
  PetscFunctionBeginUser;
  PetscCall(MatCreate(PETSC_COMM_SELF, &matrix));
  PetscCall(MatSetSizes(matrix, n * n, n * n, n * n, n * n));
  PetscCall(MatSetType(matrix, type));
  PetscCall(MatSeqAIJSetPreallocation(matrix, 5, NULL));
  PetscCall(MatSeqSBAIJSetPreallocation(matrix, 1, 5, NULL));
  PetscBool upper;
  PetscCall(PetscStrcmp(type, MATSEQSBAIJ, &upper));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &solver));
  PetscCall(KSPSetTolerances(solver, 1e-12, PETSC_DEFAULT, PETSC_DEFAULT, 5));
  PetscCall(KSPGetPC(solver, &pc));
  PetscCall(PCSetType(pc, factor));
  PetscCall(KSPSetFromOptions(solver));
  for (int round = 0; round < 2; ++round) {
    PetscCall(fill(matrix, n, upper, drift, shift + 0.1 * round));
    PetscCall(KSPSetOperators(solver, matrix, matrix));
    PetscCall(check(solver, matrix, PETSC_FALSE, what));
    PetscCall(check(solver, matrix, PETSC_TRUE, what));
  }
  PetscCall(KSPDestroy(&solver));
  PetscCall(MatDestroy(&matrix));
  PetscFunctionReturn(0);
}

/* -u'' + exp(u) = 0 by differences, u = 0 at one end and 1 at the other. */
static PetscErrorCode residual(SNES snes, Vec x, Vec f, void* context) {
  const PetscScalar* u;
  PetscScalar* r;
  PetscInt n;
  PetscFunctionBeginUser;
  (void)snes, (void)context;
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecGetArrayRead(x, &u));
  PetscCall(VecGetArray(f, &r));
  for (PetscInt i = 0; i < n; ++i)
    r[i] = 2 * u[i] - (i > 0 ? u[i - 1] : 0) - (i < n - 1 ? u[i + 1] : 1) +
           PetscExpScalar(u[i]) / ((n + 1) * (n + 1));
  PetscCall(VecRestoreArrayRead(x, &u));
  PetscCall(VecRestoreArray(f, &r));
  PetscFunctionReturn(0);
}

static PetscErrorCode jacobian(SNES snes, Vec x, Mat matrix, Mat same, void* context) {
  const PetscScalar* u;
  PetscInt n;
  PetscFunctionBeginUser;
  (void)snes, (void)same, (void)context;
  PetscCall(VecGetSize(x, &n));
  PetscCall(VecGetArrayRead(x, &u));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(MatSetValue(matrix, i, i, 2 + PetscExpScalar(u[i]) / ((n + 1) * (n + 1)),
                          INSERT_VALUES));
    if (i > 0) PetscCall(MatSetValue(matrix, i, i - 1, -1, INSERT_VALUES));
    if (i < n - 1) PetscCall(MatSetValue(matrix, i, i + 1, -1, INSERT_VALUES));
  }
  PetscCall(VecRestoreArrayRead(x, &u));
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode run_nonlinear(void) {
  const PetscInt n = 3000;
  SNES snes;
  KSP ksp;
  PC pc;
  Mat matrix;
  Vec x, f;
  SNESConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, n, n, 3, NULL, &matrix));
  PetscCall(MatCreateVecs(matrix, &x, &f));
  PetscCall(SNESCreate(PETSC_COMM_SELF, &snes));
  PetscCall(SNESSetFunction(snes, f, residual, NULL));
  PetscCall(SNESSetJacobian(snes, matrix, matrix, jacobian, NULL));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(x, 0));
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "SNES: %s\n", reason > 0 ? "ok" : "WRONG"));
  PetscCheck(reason > 0, PETSC_COMM_SELF, PETSC_ERR_USER, "SNES diverged: %d", reason);
  PetscCall(SNESDestroy(&snes));
  PetscCall(MatDestroy(&matrix));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

int main(int count, char** arguments) {
  PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
  PetscCall(run_linear(MATSEQAIJ, PCLU, 0.3, 0, "seqaij, lu"));
  PetscCall(run_linear(MATSEQAIJ, PCCHOLESKY, 0, 0, "seqaij, cholesky"));
  PetscCall(run_linear(MATSEQSBAIJ, PCCHOLESKY, 0, 0, "seqsbaij, cholesky"));
  PetscCall(run_linear(MATSEQSBAIJ, PCCHOLESKY, 0, -3.3, "seqsbaij, indefinite"));
  PetscCall(run_nonlinear());
  PetscCall(PetscFinalize());
  return 0;
}
