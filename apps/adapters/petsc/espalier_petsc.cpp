// A MatSolverType "espalier" for PETSc, in a library that PETSc opens by itself:
//
//     program -dll_append libespalier_petsc.so -pc_type lu -pc_factor_mat_solver_type
//     espalier
//
// L U of seqaij matrices, Cholesky or L D L^T of seqaij and seqsbaij ones.
//
// One plug-in, one file for PETSc to load: over 300 lines.

#include <petsc/private/matimpl.h>

#include <cerrno>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "session.h"

namespace {

using espalier::adapters::Session;

static_assert(std::is_same_v<PetscScalar, double> && sizeof(PetscInt) == 4,
              "PETSc with real scalars and 32-bit indices");
constexpr char kName[] = "espalier";

// What stands behind a factor matrix of PETSc's.
struct Factor {
  std::unique_ptr<Session> session;
  std::vector<std::int32_t> starts, columns;  // of what is given: all, or a triangle
  std::vector<std::int64_t> taken;            // of the values; empty: all in order
  std::vector<double> values;                 // what `taken` says
};

Factor& factor_of(Mat factor) { return *static_cast<Factor*>(factor->data); }

// Rows with their columns from 0; of a Cholesky factorisation the upper triangle.
PetscErrorCode read_pattern(Mat matrix, bool upper, Factor& factor) {
  PetscFunctionBegin;
  PetscInt n = 0;
  const PetscInt *ia = nullptr, *ja = nullptr;
  PetscBool done = PETSC_FALSE;
  PetscCall(MatGetRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "rows of this matrix are not there");
  factor.starts.assign(1, 0);
  factor.columns.clear();
  factor.taken.clear();
  for (PetscInt i = 0; i < n; ++i) {
    for (PetscInt at = ia[i]; at < ia[i + 1]; ++at) {
      if (upper && ja[at] < i) continue;
      factor.columns.push_back(ja[at]);
      factor.taken.push_back(at);
    }
    factor.starts.push_back(static_cast<std::int32_t>(factor.columns.size()));
  }
  if (static_cast<PetscInt>(factor.taken.size()) == ia[n]) factor.taken.clear();
  PetscCall(MatRestoreRowIJ(matrix, 0, PETSC_FALSE, PETSC_FALSE, &n, &ia, &ja, &done));
  PetscFunctionReturn(0);
}

PetscErrorCode make_session(Mat factor, Mat matrix, bool symmetric) {
  PetscFunctionBegin;
  Factor& mine = factor_of(factor);
  mine.session.reset();
  PetscCall(read_pattern(matrix, symmetric, mine));
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = matrix->rmap->n;
  input.format = ESPALIER_SOLVER_ROWS;
  input.symmetry = symmetric ? ESPALIER_SOLVER_SYMMETRIC : ESPALIER_SOLVER_GENERAL;
  input.starts = mine.starts.data();
  input.columns = mine.columns.data();
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  PetscBool known = PETSC_FALSE, definite = PETSC_FALSE;
  if (symmetric) PetscCall(MatIsSPDKnown(matrix, &known, &definite));
  options.kind = !symmetric          ? ESPALIER_SOLVER_KIND_LU
                 : known && definite ? ESPALIER_SOLVER_KIND_CHOLESKY
                                     : ESPALIER_SOLVER_KIND_LDLT;
  options.no_refinement = 2;  // that is the work of KSP
  mine.session = std::make_unique<Session>("petsc", input, options);
  char bound[64] = "";
  PetscBool given = PETSC_FALSE;
  PetscCall(PetscOptionsGetString(reinterpret_cast<PetscObject>(matrix)->options,
                                  reinterpret_cast<PetscObject>(matrix)->prefix,
                                  "-mat_espalier_memory", bound, sizeof bound, &given));
  if (given) mine.session->set_bound(bound);
  mine.columns = {};
  mine.starts = {};
  PetscFunctionReturn(0);
}

PetscErrorCode read_values(Mat matrix, const PetscScalar** values) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(matrix), MATSEQSBAIJ,
                                   &halved));
  PetscScalar* writable = nullptr;
  if (halved) {
    PetscCall(MatSeqSBAIJGetArray(matrix, &writable));
    *values = writable;
  } else {
    PetscCall(MatSeqAIJGetArrayRead(matrix, values));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode restore_values(Mat matrix, const PetscScalar** values) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(matrix), MATSEQSBAIJ,
                                   &halved));
  if (halved) {
    auto* writable = const_cast<PetscScalar*>(*values);
    PetscCall(MatSeqSBAIJRestoreArray(matrix, &writable));
  } else {
    PetscCall(MatSeqAIJRestoreArrayRead(matrix, values));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode factor_numeric(Mat factor, Mat matrix, const MatFactorInfo* /*info*/) {
  PetscFunctionBegin;
  Factor& mine = factor_of(factor);
  const PetscScalar* values = nullptr;
  PetscCall(read_values(matrix, &values));
  const double* given = values;
  if (!mine.taken.empty()) {
    mine.values.resize(mine.taken.size());
    for (std::size_t k = 0; k < mine.taken.size(); ++k)
      mine.values[k] = values[mine.taken[k]];
    given = mine.values.data();
  }
  const int status = mine.session->factorise(given);
  PetscCall(restore_values(matrix, &values));
  factor->factorerrortype = MAT_FACTOR_NOERROR;
  if (status == -ENOMEM)
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Espalier: %s", espalier_solver_last_error());
  if (status == -EDOM || (status == 0 && mine.session->statistics().singular != 0)) {
    PetscCheck(!matrix->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
               "Espalier: %s", status != 0 ? espalier_solver_last_error() : "singular");
    factor->factorerrortype = MAT_FACTOR_NUMERIC_ZEROPIVOT;
  } else if (status != 0) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Espalier: %s", espalier_solver_last_error());
  }
  factor->assembled = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode solve_columns(Mat factor, bool transposed, PetscInt nrhs,
                             const PetscScalar* b, PetscInt ldb, PetscScalar* x,
                             PetscInt ldx) {
  PetscFunctionBegin;
  const int status = factor_of(factor).session->solve(transposed, nrhs, b, ldb, x, ldx);
  PetscCheck(status == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Espalier: %s",
             espalier_solver_last_error());
  PetscFunctionReturn(0);
}

PetscErrorCode solve_vector(Mat factor, bool transposed, Vec b, Vec x) {
  PetscFunctionBegin;
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  const PetscInt n = factor->rmap->n;
  PetscCall(VecGetArrayRead(b, &from));
  PetscCall(VecGetArrayWrite(x, &to));
  PetscCall(solve_columns(factor, transposed, 1, from, n, to, n));
  PetscCall(VecRestoreArrayRead(b, &from));
  PetscCall(VecRestoreArrayWrite(x, &to));
  PetscFunctionReturn(0);
}

PetscErrorCode solve(Mat factor, Vec b, Vec x) {
  return solve_vector(factor, false, b, x);
}
PetscErrorCode solve_transpose(Mat factor, Vec b, Vec x) {
  return solve_vector(factor, true, b, x);
}

PetscErrorCode solve_matrix(Mat factor, Mat b, Mat x) {
  PetscFunctionBegin;
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscInt ldb = 0, ldx = 0, nrhs = 0;
  PetscCall(MatGetSize(b, nullptr, &nrhs));
  PetscCall(MatDenseGetLDA(b, &ldb));
  PetscCall(MatDenseGetLDA(x, &ldx));
  PetscCall(MatDenseGetArrayRead(b, &from));
  PetscCall(MatDenseGetArrayWrite(x, &to));
  PetscCall(solve_columns(factor, false, nrhs, from, ldb, to, ldx));
  PetscCall(MatDenseRestoreArrayRead(b, &from));
  PetscCall(MatDenseRestoreArrayWrite(x, &to));
  PetscFunctionReturn(0);
}

PetscErrorCode inertia(Mat factor, PetscInt* negative, PetscInt* zero,
                       PetscInt* positive) {
  PetscFunctionBegin;
  const espalier_solver_statistics facts = factor_of(factor).session->statistics();
  const auto below = static_cast<PetscInt>(facts.negative_pivots);
  if (negative != nullptr) *negative = below;
  if (zero != nullptr) *zero = facts.order - facts.rank;
  if (positive != nullptr) *positive = facts.rank - below;
  PetscFunctionReturn(0);
}

PetscErrorCode symbolic_lu(Mat factor, Mat matrix, IS, IS, const MatFactorInfo*) {
  PetscFunctionBegin;
  PetscCall(make_session(factor, matrix, false));
  factor->ops->lufactornumeric = factor_numeric;
  factor->ops->solve = solve;
  factor->ops->solvetranspose = solve_transpose;
  factor->ops->matsolve = solve_matrix;
  PetscFunctionReturn(0);
}

PetscErrorCode symbolic_cholesky(Mat factor, Mat matrix, IS, const MatFactorInfo*) {
  PetscFunctionBegin;
  PetscCall(make_session(factor, matrix, true));
  factor->ops->choleskyfactornumeric = factor_numeric;
  factor->ops->solve = factor->ops->solvetranspose = solve;
  factor->ops->matsolve = solve_matrix;
  factor->ops->getinertia = inertia;
  PetscFunctionReturn(0);
}

PetscErrorCode solver_type(Mat, MatSolverType* type) {
  *type = kName;
  return 0;
}

PetscErrorCode view(Mat factor, PetscViewer viewer) {
  PetscFunctionBegin;
  if (factor_of(factor).session) {
    const espalier_solver_statistics facts = factor_of(factor).session->statistics();
    PetscCall(PetscViewerASCIIPrintf(viewer, "Espalier %s: %lld entries of the factor\n",
                                     espalier_solver_version(),
                                     static_cast<long long>(facts.factor_entries)));
  }
  PetscFunctionReturn(0);
}

PetscErrorCode info(Mat factor, MatInfoType, MatInfo* info) {
  PetscFunctionBegin;
  *info = {};
  info->block_size = 1;
  if (!factor_of(factor).session) PetscFunctionReturn(0);
  const espalier_solver_statistics facts = factor_of(factor).session->statistics();
  info->nz_used = info->nz_allocated = static_cast<PetscLogDouble>(facts.factor_entries);
  info->memory = static_cast<PetscLogDouble>(facts.allocated_peak);
  PetscFunctionReturn(0);
}

PetscErrorCode destroy(Mat factor) {
  PetscFunctionBegin;
  delete static_cast<Factor*>(factor->data);
  factor->data = nullptr;
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(factor),
                                       "MatFactorGetSolverType_C", nullptr));
  PetscFunctionReturn(0);
}

PetscErrorCode create(Mat matrix, MatFactorType type, Mat* result) {
  PetscFunctionBegin;
  Mat factor = nullptr;
  const PetscInt m = matrix->rmap->n, n = matrix->cmap->n;
  PetscInt block = 1;
  PetscCall(MatGetBlockSize(matrix, &block));
  PetscBool halved = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(matrix), MATSEQSBAIJ,
                                   &halved));
  PetscCheck(!halved || block == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Espalier: seqsbaij matrices with blocks of order 1 only");
  PetscCall(MatCreate(PetscObjectComm(reinterpret_cast<PetscObject>(matrix)), &factor));
  PetscCall(MatSetSizes(factor, m, n, m, n));
  PetscCall(PetscStrallocpy(kName, &reinterpret_cast<PetscObject>(factor)->type_name));
  PetscCall(MatSetUp(factor));
  factor->data = new Factor;
  factor->factortype = type;
  factor->assembled = factor->preallocated = PETSC_TRUE;
  factor->ops->lufactorsymbolic = symbolic_lu;
  factor->ops->choleskyfactorsymbolic = symbolic_cholesky;
  factor->ops->destroy = destroy;
  factor->ops->view = view;
  factor->ops->getinfo = info;
  PetscCall(PetscFree(factor->solvertype));
  PetscCall(PetscStrallocpy(kName, &factor->solvertype));
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(factor),
                                       "MatFactorGetSolverType_C", solver_type));
  *result = factor;
  PetscFunctionReturn(0);
}

}  // namespace

// PETSc calls this when it opens the library: the name follows from the file's.
extern "C" __attribute__((visibility("default"))) PetscErrorCode
PetscDLLibraryRegister_espalier_petsc() {
  PetscFunctionBegin;
  PetscCall(MatSolverTypeRegister(kName, MATSEQAIJ, MAT_FACTOR_LU, create));
  PetscCall(MatSolverTypeRegister(kName, MATSEQAIJ, MAT_FACTOR_CHOLESKY, create));
  PetscCall(MatSolverTypeRegister(kName, MATSEQSBAIJ, MAT_FACTOR_CHOLESKY, create));
  PetscFunctionReturn(0);
}
