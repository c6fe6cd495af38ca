// A MatSolverType "espalier" for PETSc, in a library that PETSc opens by itself:
//
//     program -dll_append libespalier_petsc.so -pc_type lu -pc_factor_mat_solver_type
//     espalier
//
// L U of seqaij and mpiaij matrices, Cholesky or L D L^T of those and of seqsbaij and
// mpisbaij ones.
//
// One plug-in, one file for PETSc to load: over 300 lines.

#include <petsc/private/matimpl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "processes.h"
#include "rows.h"
#include "session.h"

namespace {

using espalier::adapters::Processes;
using espalier::adapters::Rows;
using espalier::adapters::Session;

static_assert(std::is_same_v<PetscScalar, double> && sizeof(PetscInt) == 4,
              "PETSc with real scalars and 32-bit indices");
constexpr char kName[] = "espalier";
// Right-hand sides of a dense matrix over processes that are gathered at once.
constexpr PetscInt kBlock = 16;

// What stands behind a factor matrix of PETSc's.
struct Factor {
  Processes processes;  // outlives the session
  Rows rows;
  std::unique_ptr<Session> session;       // where this process solves
  espalier_solver_statistics facts = {};  // of the last factorisation
};

Factor& factor_of(Mat factor) { return *static_cast<Factor*>(factor->data); }

// Of process 0, where it solves alone.
const char* explanation(const Factor& factor) {
  return factor.processes.solves() ? espalier_solver_last_error()
                                   : "process 0, which solves alone, says why";
}

PetscErrorCode read_bound(Mat matrix, const Processes& processes, Session& session) {
  PetscFunctionBegin;
  char bound[64] = "";
  PetscBool given = PETSC_FALSE;
  PetscCall(PetscOptionsGetString(reinterpret_cast<PetscObject>(matrix)->options,
                                  reinterpret_cast<PetscObject>(matrix)->prefix,
                                  "-mat_espalier_memory", bound, sizeof bound, &given));
  if (given) session.set_bound(bound);
  if (processes.communicator() == nullptr) PetscFunctionReturn(0);
  std::int64_t room = 0;
  PetscCheck(espalier_solver_available_memory(&room, nullptr, 0) == 0, PETSC_COMM_SELF,
             PETSC_ERR_LIB, "Espalier: %s", espalier_solver_last_error());
  PetscCall(processes.share(&room));
  session.set_auto(room);
  PetscFunctionReturn(0);
}

espalier_solver_options options_of(const Processes& processes, bool symmetric,
                                   bool definite) {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  // L U was asked for; of a matrix that turns out to be symmetric half of it will do.
  options.kind = !symmetric ? ESPALIER_SOLVER_KIND_AUTO
                 : definite ? ESPALIER_SOLVER_KIND_CHOLESKY
                            : ESPALIER_SOLVER_KIND_LDLT;
  options.no_refinement = 2;  // that is the work of KSP
  options.workers = espalier::adapters::shared_workers();
  options.communicator = processes.communicator();
  return options;
}

PetscErrorCode make_session(Mat factor, Mat matrix, bool symmetric) {
  PetscFunctionBegin;
  Factor& mine = factor_of(factor);
  mine.session.reset();
  PetscCall(mine.rows.read_pattern(matrix, symmetric, mine.processes));
  PetscBool known = PETSC_FALSE, definite = PETSC_FALSE;
  if (symmetric) PetscCall(MatIsSPDKnown(matrix, &known, &definite));
  if (!mine.processes.solves()) PetscFunctionReturn(0);
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = matrix->rmap->N;
  input.format = ESPALIER_SOLVER_ROWS;
  input.symmetry = ESPALIER_SOLVER_WHOLE_OR_GENERAL;
  if (symmetric) input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
  if (mine.processes.first()) {
    input.starts = mine.rows.starts().data();
    input.columns = mine.rows.columns().data();
  }
  try {
    mine.session = std::make_unique<Session>(
        "petsc", input, options_of(mine.processes, symmetric, known && definite));
  } catch (const std::invalid_argument& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Espalier: %s", error.what());
  }
  PetscCall(read_bound(matrix, mine.processes, *mine.session));
  mine.rows.release_pattern();
  PetscFunctionReturn(0);
}

// What process 0 has come to, everywhere; those that solve with it know for themselves.
PetscErrorCode tell_status(Factor& mine, int* status) {
  PetscFunctionBegin;
  if (mine.session) mine.facts = mine.session->statistics();
  mine.facts.advice = nullptr;
  struct {
    int status;
    espalier_solver_statistics facts;
  } told = {*status, mine.facts};
  PetscCall(mine.processes.tell(&told, sizeof told));
  if (!mine.session) {
    *status = told.status;
    mine.facts = told.facts;
  }
  PetscFunctionReturn(0);
}

// Whether a factorisation came to more zero pivots than the program knows of: a null
// space that it has attached to the matrix is taken out of right-hand sides and solutions
// by KSP.
PetscErrorCode is_too_singular(const Factor& mine, Mat matrix, bool* result) {
  PetscFunctionBegin;
  MatNullSpace known = nullptr;
  PetscBool constants = PETSC_FALSE;
  PetscInt count = 0;
  PetscCall(MatGetNullSpace(matrix, &known));
  if (known != nullptr)
    PetscCall(MatNullSpaceGetVecs(known, &constants, &count, nullptr));
  if (constants) ++count;
  *result = mine.facts.singular != 0 && mine.facts.order - mine.facts.rank > count;
  PetscFunctionReturn(0);
}

// Values that are no finite numbers are none of ours to refuse: as with PETSc's own
// factorisations they are in the solution, and KSP says so.
PetscErrorCode factorise(Factor& mine, const double* values, int* status) {
  PetscFunctionBegin;
  bool finite = true;
  if (mine.processes.first())
    finite = espalier::adapters::all_finite(values, mine.session->entries());
  PetscCall(mine.processes.tell(&finite, sizeof finite));
  *status = 0;
  if (!mine.session) PetscFunctionReturn(0);
  if (finite)
    *status = mine.session->factorise(values);
  else
    mine.session->take_not_finite();
  PetscFunctionReturn(0);
}

PetscErrorCode factor_numeric(Mat factor, Mat matrix, const MatFactorInfo* /*info*/) {
  PetscFunctionBegin;
  Factor& mine = factor_of(factor);
  const double* values = nullptr;
  PetscCall(mine.rows.read_values(matrix, mine.processes, &values));
  int status = 0;
  PetscCall(factorise(mine, values, &status));
  PetscCall(mine.rows.restore_values(matrix, mine.processes));
  PetscCall(tell_status(mine, &status));
  factor->factorerrortype = MAT_FACTOR_NOERROR;
  if (status == -ENOMEM)
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "Espalier: %s", explanation(mine));
  bool singular = false;
  if (status == 0) PetscCall(is_too_singular(mine, matrix, &singular));
  if (status == -EDOM || singular) {
    PetscCheck(!matrix->erroriffailure, PETSC_COMM_SELF, PETSC_ERR_MAT_LU_ZRPVT,
               "Espalier: %s", status != 0 ? explanation(mine) : "singular");
    factor->factorerrortype = MAT_FACTOR_NUMERIC_ZEROPIVOT;
  } else if (status != 0) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "Espalier: %s", explanation(mine));
  }
  factor->assembled = PETSC_TRUE;
  PetscFunctionReturn(0);
}

PetscErrorCode solve_whole(const Factor& mine, bool transposed, PetscInt nrhs,
                           const PetscScalar* b, PetscInt ldb, PetscScalar* x,
                           PetscInt ldx) {
  PetscFunctionBegin;
  const int status = mine.session->solve(transposed, nrhs, b, ldb, x, ldx);
  PetscCheck(status == 0, PETSC_COMM_SELF, PETSC_ERR_LIB, "Espalier: %s",
             explanation(mine));
  PetscFunctionReturn(0);
}

// The own rows of `nrhs` vectors; those of all processes stand in `whole` meanwhile.
PetscErrorCode solve_spread(Mat factor, bool transposed, PetscInt nrhs,
                            const PetscScalar* b, PetscInt ldb, PetscScalar* x,
                            PetscInt ldx) {
  PetscFunctionBegin;
  Factor& mine = factor_of(factor);
  const PetscInt n = factor->rmap->N;
  std::vector<double> whole;
  if (mine.processes.solves())
    whole.resize(static_cast<std::size_t>(n) * static_cast<std::size_t>(nrhs));
  const auto column = [&](PetscInt k) { return whole.data() + std::ptrdiff_t{k} * n; };
  for (PetscInt k = 0; k < nrhs; ++k)
    PetscCall(mine.processes.gather_vector(b + std::ptrdiff_t{k} * ldb,
                                           whole.empty() ? nullptr : column(k)));
  if (mine.session)
    PetscCall(solve_whole(mine, transposed, nrhs, whole.data(), n, whole.data(), n));
  for (PetscInt k = 0; k < nrhs; ++k)
    PetscCall(mine.processes.scatter_vector(whole.empty() ? nullptr : column(k),
                                            x + std::ptrdiff_t{k} * ldx));
  PetscFunctionReturn(0);
}

PetscErrorCode solve_columns(Mat factor, bool transposed, PetscInt nrhs,
                             const PetscScalar* b, PetscInt ldb, PetscScalar* x,
                             PetscInt ldx) {
  PetscFunctionBegin;
  if (!factor_of(factor).processes.several()) {
    PetscCall(solve_whole(factor_of(factor), transposed, nrhs, b, ldb, x, ldx));
    PetscFunctionReturn(0);
  }
  for (PetscInt first = 0; first < nrhs; first += kBlock)
    PetscCall(solve_spread(factor, transposed, std::min(kBlock, nrhs - first),
                           b + std::ptrdiff_t{first} * ldb, ldb,
                           x + std::ptrdiff_t{first} * ldx, ldx));
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
  const espalier_solver_statistics& facts = factor_of(factor).facts;
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
  const Factor& mine = factor_of(factor);
  PetscCall(PetscViewerASCIIPrintf(
      viewer, "Espalier %s: %lld entries of the factor, at %d process%s\n",
      espalier_solver_version(), static_cast<long long>(mine.facts.factor_entries),
      static_cast<int>(mine.processes.solving()),
      mine.processes.solving() == 1 ? "" : "es"));
  PetscFunctionReturn(0);
}

PetscErrorCode info(Mat factor, MatInfoType, MatInfo* info) {
  PetscFunctionBegin;
  *info = {};
  info->block_size = 1;
  const espalier_solver_statistics& facts = factor_of(factor).facts;
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

PetscErrorCode check_blocks(Mat matrix) {
  PetscFunctionBegin;
  PetscBool halved = PETSC_FALSE;
  PetscInt block = 1;
  PetscCall(MatGetBlockSize(matrix, &block));
  PetscCall(PetscObjectTypeCompareAny(reinterpret_cast<PetscObject>(matrix), &halved,
                                      MATSEQSBAIJ, MATMPISBAIJ, ""));
  PetscCheck(!halved || block == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Espalier: sbaij matrices with blocks of order 1 only");
  PetscFunctionReturn(0);
}

// Of a matrix over processes: where all solve together, or process 0 alone.
PetscErrorCode open_processes(Mat matrix, Processes& processes) {
  PetscFunctionBegin;
  PetscBool together = PETSC_FALSE, given = PETSC_FALSE;
  PetscCall(PetscOptionsGetBool(reinterpret_cast<PetscObject>(matrix)->options,
                                reinterpret_cast<PetscObject>(matrix)->prefix,
                                "-mat_espalier_together", &together, &given));
  PetscCall(
      processes.open(matrix, given ? together : static_cast<PetscBool>(PETSC_DECIDE)));
  PetscFunctionReturn(0);
}

PetscErrorCode create(Mat matrix, MatFactorType type, Mat* result) {
  PetscFunctionBegin;
  Mat factor = nullptr;
  PetscCall(check_blocks(matrix));
  PetscCall(MatCreate(PetscObjectComm(reinterpret_cast<PetscObject>(matrix)), &factor));
  PetscCall(MatSetSizes(factor, matrix->rmap->n, matrix->cmap->n, matrix->rmap->N,
                        matrix->cmap->N));
  PetscCall(PetscStrallocpy(kName, &reinterpret_cast<PetscObject>(factor)->type_name));
  PetscCall(MatSetUp(factor));
  auto mine = std::make_unique<Factor>();
  PetscCall(open_processes(matrix, mine->processes));
  factor->data = mine.release();
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
  // The first one to register would hide PETSc's own: it looks at the list before that is
  // filled.
  PetscCall(MatInitializePackage());
  for (const char* type : {MATSEQAIJ, MATMPIAIJ})
    PetscCall(MatSolverTypeRegister(kName, type, MAT_FACTOR_LU, create));
  for (const char* type : {MATSEQAIJ, MATMPIAIJ, MATSEQSBAIJ, MATMPISBAIJ})
    PetscCall(MatSolverTypeRegister(kName, type, MAT_FACTOR_CHOLESKY, create));
  PetscCall(espalier::adapters::share_cores());
  PetscFunctionReturn(0);
}

// Loaded before the program (LD_PRELOAD), while PETSc has not started MPI: asks for MPI
// with which several threads may communicate, so that all processes solve.
namespace {
__attribute__((constructor)) void ask_for_threads() {
  PETSC_MPI_THREAD_REQUIRED = MPI_THREAD_MULTIPLE;
}
}  // namespace
