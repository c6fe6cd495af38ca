/* Newton's method by PETSc's SNES on -laplace u + drift (u_x) = 6 exp(u) in the unit
 * cube, u = 0 at its faces, with whatever solver the options name; for host_bench.py.
 *
 *   newton_program -points N -drift 0|1 -pc_factor_mat_solver_type mumps
 *
 * prints steps, the residual and the seconds of SNESSolve(), by the clock and of
 * processor time. */

#include <petscdmda.h>
#include <petscsnes.h>
#include <petsctime.h>
#include <time.h>

static PetscErrorCode residual(DMDALocalInfo* info, PetscScalar*** u, PetscScalar*** f,
                               void* context) {
  const PetscInt n = info->mx;
  const PetscReal square = 1.0 / ((n + 1) * (PetscReal)(n + 1));
  const PetscReal* drift = context;
  PetscFunctionBeginUser;
  for (PetscInt k = info->zs; k < info->zs + info->zm; ++k)
    for (PetscInt j = info->ys; j < info->ys + info->ym; ++j)
      for (PetscInt i = info->xs; i < info->xs + info->xm; ++i) {
        const PetscScalar near =
            (i > 0 ? u[k][j][i - 1] : 0) + (i < n - 1 ? u[k][j][i + 1] : 0) +
            (j > 0 ? u[k][j - 1][i] : 0) + (j < n - 1 ? u[k][j + 1][i] : 0) +
            (k > 0 ? u[k - 1][j][i] : 0) + (k < n - 1 ? u[k + 1][j][i] : 0);
        const PetscScalar slope =
            (i < n - 1 ? u[k][j][i + 1] : 0) - (i > 0 ? u[k][j][i - 1] : 0);
        f[k][j][i] = 6 * u[k][j][i] - near + *drift * slope -
                     6 * square * PetscExpScalar(u[k][j][i]);
      }
  PetscFunctionReturn(0);
}

static PetscErrorCode jacobian(DMDALocalInfo* info, PetscScalar*** u, Mat matrix,
                               Mat same, void* context) {
  const PetscReal* drift = context;
  const PetscInt n = info->mx;
  const PetscReal square = 1.0 / ((n + 1) * (PetscReal)(n + 1));
  PetscFunctionBeginUser;
  (void)same;
  for (PetscInt k = info->zs; k < info->zs + info->zm; ++k)
    for (PetscInt j = info->ys; j < info->ys + info->ym; ++j)
      for (PetscInt i = info->xs; i < info->xs + info->xm; ++i) {
        const MatStencil row = {.k = k, .j = j, .i = i};
        const PetscInt by[6][3] = {{-1, 0, 0}, {1, 0, 0},  {0, -1, 0},
                                   {0, 1, 0},  {0, 0, -1}, {0, 0, 1}};
        MatStencil near[7] = {row};
        PetscScalar value[7] = {6 - 6 * square * PetscExpScalar(u[k][j][i])};
        PetscInt count = 1;
        for (int d = 0; d < 6; ++d) {
          const MatStencil at = {.k = k + by[d][2], .j = j + by[d][1], .i = i + by[d][0]};
          if (at.k < 0 || at.j < 0 || at.i < 0 || at.k == n || at.j == n || at.i == n)
            continue;
          near[count] = at;
          value[count++] = -1 + *drift * by[d][0];
        }
        PetscCall(
            MatSetValuesStencil(matrix, 1, &row, count, near, value, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(DM grid, PetscReal drift) {
  SNES snes;
  KSP ksp;
  PC pc;
  Vec x;
  PetscLogDouble start, end;
  PetscReal norm;
  PetscInt steps;
  SNESConvergedReason reason;
  PetscFunctionBeginUser;
  PetscCall(DMDASNESSetFunctionLocal(
      grid, INSERT_VALUES,
      (PetscErrorCode(*)(DMDALocalInfo*, void*, void*, void*))residual, &drift));
  PetscCall(DMDASNESSetJacobianLocal(
      grid, (PetscErrorCode(*)(DMDALocalInfo*, void*, Mat, Mat, void*))jacobian, &drift));
  PetscCall(DMCreateGlobalVector(grid, &x));
  PetscCall(SNESCreate(PETSC_COMM_WORLD, &snes));
  PetscCall(SNESSetDM(snes, grid));
  PetscCall(SNESSetTolerances(snes, 1e-12, 1e-12, 0, 20, 1000));
  PetscCall(SNESGetKSP(snes, &ksp));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCLU));
  PetscCall(SNESSetFromOptions(snes));
  PetscCall(VecSet(x, 0));
  PetscCall(PetscTime(&start));
  const clock_t worked = clock();
  PetscCall(SNESSolve(snes, NULL, x));
  PetscCall(PetscTime(&end));
  const double processor = (double)(clock() - worked) / CLOCKS_PER_SEC;
  PetscCall(SNESGetConvergedReason(snes, &reason));
  PetscCall(SNESGetIterationNumber(snes, &steps));
  PetscCall(SNESGetFunctionNorm(snes, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "reason %d, %d steps, residual %.2e, %.3f s, %.3f cpu s\n",
                        (int)reason, (int)steps, (double)norm, end - start, processor));
  PetscCheck(reason > 0, PETSC_COMM_WORLD, PETSC_ERR_NOT_CONVERGED, "no solution");
  PetscCall(SNESDestroy(&snes));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(0);
}

int main(int count, char** arguments) {
  DM grid;
  PetscInt n = 20;
  PetscReal drift = 0;
  PetscCall(PetscInitialize(&count, &arguments, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-points", &n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-drift", &drift, NULL));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                         DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &grid));
  PetscCall(DMSetUp(grid));
  PetscCall(solve(grid, 0.25 * drift));
  PetscCall(DMDestroy(&grid));
  PetscCall(PetscFinalize());
  return 0;
}
