// HSL_MA97 as its hosts call it, on Espalier's solver.
//
// akeep is a Session: the pattern, analysed when the first values come. fkeep is the same
// object, which it does not own: there is one factor an analysis, as in all hosts known.

#include "ma97.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "session.h"

namespace {

using espalier::adapters::kLeastThreshold;
using espalier::adapters::kMostThreshold;
using espalier::adapters::Session;

// Codes of MA97's.
constexpr int kAllocation = -1, kBadOrder = -2, kNotDefinite = -8, kSingular = -7,
              kBadJob = -11, kNotAnalysed = -12, kOther = -99, kSingularWarning = 7;
constexpr int kDefinite = 3;  // matrix_type
// Pivots below this part of a column's largest entry are delayed at least: without it a
// weak pivot would have to be made up for by the host's refinement.
void say(const ma97_control_d& control, const char* text) {
  if (control.print_level >= 0) std::fprintf(stderr, "libhsl (Espalier): %s\n", text);
}

int code_of(int status) {
  if (status == -ENOMEM) return kAllocation;
  if (status == -EDOM) return kNotDefinite;
  return status == -EINVAL ? kBadOrder : kOther;
}

// Runs a function of the interface; nothing is thrown into the host.
template <class Body>
void guarded(const ma97_control_d& control, ma97_info_d& info, Body body) noexcept {
  try {
    const int status = body();
    if (status == 0) return;
    info.flag = code_of(status);
    say(control, espalier_solver_last_error());
  } catch (const std::bad_alloc&) {
    info.flag = kAllocation;
  } catch (const std::exception& error) {
    info.flag = kOther;
    say(control, error.what());
  }
}

espalier_solver_options options_of(const ma97_control_d& control) {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.kind = ESPALIER_SOLVER_KIND_LDLT;
  options.no_refinement = 2;  // hosts refine themselves
  options.factor_parts = 1;   // jobs 1 to 4 of a solve
  options.pivot_threshold = std::clamp(control.u, kLeastThreshold, kMostThreshold);
  if (control.ordering == 1) options.ordering = ESPALIER_SOLVER_ORDERING_AMD;
  if (control.ordering == 3) options.ordering = ESPALIER_SOLVER_ORDERING_METIS;
  return options;
}

// The host's order, as the variables are eliminated, from 0. Places that are none are
// left for the solver to refuse.
std::vector<std::int32_t> elimination(const int* place, std::int64_t n, int base) {
  std::vector<std::int32_t> order(static_cast<std::size_t>(n), -1);
  for (std::int64_t i = 0; i < n; ++i)
    if (const std::int64_t at = std::int64_t{place[i]} - base; at >= 0 && at < n)
      order[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(i);
  return order;
}

// Who asks for the order has an analysis more: what is known before values come.
int tell_order(Session& session, const double* val, int base, int* order) {
  std::vector<std::int32_t> place;
  const int status = session.settle_order(val, place);
  for (std::size_t i = 0; i < place.size(); ++i) order[i] = place[i] - 1 + base;
  return status;
}

// @param val  in input.values; null: there are none yet
void analyse(espalier_solver_input input, void** akeep, const ma97_control_d& control,
             ma97_info_d& info, int* order) {
  info = {};
  guarded(control, info, [&] {
    input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
    input.index_base = control.f_arrays != 0 ? 1 : 0;
    espalier_solver_options options = options_of(control);
    std::vector<std::int32_t> given;
    if (control.ordering == 0 && order != nullptr) {
      given = elimination(order, input.order, input.index_base);
      options.order = given.data();
    }
    const double* const val = std::exchange(input.values, nullptr);
    auto session = std::make_unique<Session>("ma97", input, options);
    if (order != nullptr)
      if (const int status = tell_order(*session, val, input.index_base, order))
        return status;
    *akeep = session.release();
    info.matrix_rank = static_cast<int>(input.order);
    info.ordering = options.order != nullptr ? 0 : control.ordering == 1 ? 1 : 3;
    info.maxfront = 0;  // known when there are values
    return 0;
  });
}

Session* session_of(void** akeep) {
  return akeep == nullptr ? nullptr : static_cast<Session*>(*akeep);
}

void refuse_unanalysed(const ma97_control_d& control, ma97_info_d& info) {
  info.flag = kNotAnalysed;
  say(control, "MA97: a matrix that was not analysed");
}

void tell(const Session& session, const ma97_control_d& control, ma97_info_d& info) {
  const espalier_solver_statistics facts = session.statistics();
  info.num_neg = static_cast<int>(facts.negative_pivots);
  info.num_two = static_cast<int>(facts.two_by_two_pivots);
  info.num_delay = static_cast<int>(
      std::min<std::int64_t>(facts.delayed_pivots, std::int64_t{1} << 30));
  info.num_factor = facts.factor_entries;
  info.num_flops = static_cast<long>(facts.factor_flops);
  info.matrix_rank = facts.rank;
  // By pivots, as MA97: an ill-conditioned matrix is for the host to judge.
  if (facts.rank < session.order() || !session.is_finite())
    info.flag = control.action != 0 ? kSingularWarning : kSingular;
}

}  // namespace

void ma97_default_control_d(ma97_control_d* control) {
  control->f_arrays = 0;
  control->action = 1;
  control->nemin = 8;
  control->multiplier = 1.1;
  control->ordering = 5;
  control->print_level = 0;
  control->scaling = 0;
  control->small = 1e-20;
  control->u = 0.01;
  control->unit_diagnostics = 6;
  control->unit_error = 6;
  control->unit_warning = 6;
  control->factor_min = 20000000;
  control->solve_blas3 = 0;
  control->solve_min = 100000;
  control->solve_mf = 0;
  control->consist_tol = 2.220446049250313e-16;
}

void ma97_analyse_d(int /*check*/, int n, const int* ptr, const int* row, double* val,
                    void** akeep, const ma97_control_d* control, ma97_info_d* info,
                    int* order) {
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = n;
  input.format = ESPALIER_SOLVER_COLUMNS;
  input.starts = ptr;
  input.rows = row;
  input.values = val;
  analyse(input, akeep, *control, *info, order);
}

void ma97_analyse_coord_d(int n, int ne, const int* row, const int* col, double* val,
                          void** akeep, const ma97_control_d* control, ma97_info_d* info,
                          int* order) {
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = n;
  input.entries = ne;
  input.format = ESPALIER_SOLVER_TRIPLETS;
  input.rows = row;
  input.columns = col;
  input.values = val;
  analyse(input, akeep, *control, *info, order);
}

void ma97_factor_d(int matrix_type, const int* /*ptr*/, const int* /*row*/,
                   const double* val, void** akeep, void** fkeep,
                   const ma97_control_d* control, ma97_info_d* info, double* /*scale*/) {
  *info = {};
  Session* const session = session_of(akeep);
  if (session == nullptr) return refuse_unanalysed(*control, *info);
  guarded(*control, *info, [&] {
    session->set_pivot_threshold(std::clamp(control->u, kLeastThreshold, kMostThreshold));
    const int status = session->factorise(val);
    if (status == 0) tell(*session, *control, *info);
    if (matrix_type == kDefinite && (info->flag != 0 || info->num_neg > 0))
      info->flag = kNotDefinite;
    *fkeep = session;
    return status;
  });
}

namespace {

// A part of a solve: P L x = S b, D x = b, (P L)^T S^-1 x = b, D (P L)^T S^-1 x = b.
enum Job : int { kSolve, kForward, kDiagonal, kBackward, kDiagonalAndBackward };

int solve(Session& session, int job, int nrhs, double* x, int ldx) {
  if (job == kSolve) return session.solve(false, nrhs, x, ldx, x, ldx);
  int status = 0;
  if (job == kForward)
    status = session.solve_part(ESPALIER_SOLVER_PART_L, false, nrhs, x, ldx);
  if (job == kDiagonal || job == kDiagonalAndBackward)
    status = session.solve_part(ESPALIER_SOLVER_PART_D, false, nrhs, x, ldx);
  if (status == 0 && job >= kBackward)
    status = session.solve_part(ESPALIER_SOLVER_PART_L, true, nrhs, x, ldx);
  return status;
}

}  // namespace

void ma97_solve_d(int job, int nrhs, double* x, int ldx, void** akeep, void** /*fkeep*/,
                  const ma97_control_d* control, ma97_info_d* info) {
  *info = {};
  Session* const session = session_of(akeep);
  if (session == nullptr) return refuse_unanalysed(*control, *info);
  if (job < kSolve || job > kDiagonalAndBackward) {
    info->flag = kBadJob;
    return;
  }
  guarded(*control, *info, [&] {
    const int status = solve(*session, job, nrhs, x, ldx);
    if (status == 0) tell(*session, *control, *info);
    // It was said when the matrix was factored.
    if (info->flag == kSingular) info->flag = kSingularWarning;
    return status;
  });
}

void ma97_factor_solve_d(int matrix_type, const int* ptr, const int* row,
                         const double* val, int nrhs, double* x, int ldx, void** akeep,
                         void** fkeep, const ma97_control_d* control, ma97_info_d* info,
                         double* scale) {
  ma97_factor_d(matrix_type, ptr, row, val, akeep, fkeep, control, info, scale);
  if (info->flag < 0) return;
  ma97_info_d solved{};
  ma97_solve_d(0, nrhs, x, ldx, akeep, fkeep, control, &solved);
  if (solved.flag < 0) info->flag = solved.flag;
}

void ma97_free_akeep_d(void** akeep) {
  delete session_of(akeep);
  if (akeep != nullptr) *akeep = nullptr;
}

void ma97_free_fkeep_d(void** fkeep) {
  if (fkeep != nullptr) *fkeep = nullptr;
}

void ma97_finalise_d(void** akeep, void** fkeep) {
  ma97_free_fkeep_d(fkeep);
  ma97_free_akeep_d(akeep);
}
