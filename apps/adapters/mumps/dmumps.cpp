// dmumps_c() of MUMPS 5 on Espalier's solver, for programs that are linked with the
// library of one process: loaded before it, it answers in its place. The struct is that
// of the installed dmumps_c.h. What is not done here is refused by INFOG(1) with a
// message. One answer to each of MUMPS's jobs: over 300 lines.

#include <dmumps_c.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "results.h"
#include "session.h"

namespace {

using espalier::adapters::Session;
using namespace espalier::adapters::mumps;

// What stands behind the struct of one caller. `instance_number` names it.
struct Instance {
  int sym = 0;
  std::unique_ptr<Session> session;
  std::vector<MUMPS_INT> sym_perm, null_pivots;
  std::vector<std::int64_t> inside;  // of the entries, where some are left out
  std::int64_t outside = 0;          // how many were
  std::vector<double> values;        // of those inside
  bool factored = false;
  std::int64_t schur = 0;  // variables that were asked for
  bool elemental = false;  // ICNTL(5) when it was analysed
};

struct Instances {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Instance>> all;
  int last = 0;
};
Instances& instances() {
  static Instances of_the_process;
  return of_the_process;
}

// What MUMPS refuses to do at once in a solve.
void check_together(const DMUMPS_STRUC_C& id) {
  if (id.icntl[29] != 0 && id.icntl[18] != 0)
    refuse(kNotWithInverse, 19, "ICNTL(30) with ICNTL(19)");
  if (id.icntl[29] != 0 && id.icntl[24] != 0)
    refuse(kNotWithInverse, 25, "ICNTL(30) with ICNTL(25)");
  if (id.icntl[24] != 0 && id.icntl[23] == 0)
    refuse(kIncompatible, 24, "ICNTL(25) without ICNTL(24)");
  if (id.icntl[24] != 0 && id.icntl[8] != 1)
    refuse(kIncompatible, 9, "ICNTL(25) with ICNTL(9)");
  if (id.icntl[24] != 0 && id.icntl[19] != 0)
    refuse(kIncompatible, 20, "ICNTL(25) with ICNTL(20)");
}

// Options that would change the answer. Others are hints, or of no consequence here.
struct Unsupported {
  int icntl;
  MUMPS_INT allowed;  // the value that is done, beside the default
  const char* what;
};
constexpr Unsupported kUnsupported[] = {{18, 0, "a distributed matrix"},
                                        {21, 0, "a distributed solution"},
                                        {26, 0, "a reduced right-hand side"},
                                        {31, 0, "factors that are discarded"},
                                        {32, 0, "elimination with the factorisation"}};

void check_options(const DMUMPS_STRUC_C& id) {
  for (const Unsupported& each : kUnsupported)
    if (id.icntl[each.icntl - 1] != each.allowed)
      refuse(kRefused, each.icntl,
             "ICNTL(" + std::to_string(each.icntl) + ") asks for " + each.what);
  if (id.icntl[18] != 0 && id.icntl[18] != 1)
    refuse(kRefused, 19, "ICNTL(19) asks for a distributed Schur complement");
  if (id.icntl[19] < 0 || id.icntl[19] > 3)
    refuse(kRefused, 20, "ICNTL(20) asks for distributed right-hand sides");
}

// What a program has not filled in stays so: its struct need not have been zeroed.
void forget_arrays(DMUMPS_STRUC_C& id) {
  id.nz = id.nz_loc = id.nelt = id.nz_alloc = id.nblk = 0;
  id.nnz = id.nnz_loc = 0;
  for (MUMPS_INT** each : {&id.irn, &id.jcn, &id.irn_loc, &id.jcn_loc, &id.eltptr,
                           &id.eltvar, &id.blkptr, &id.blkvar, &id.perm_in, &id.sym_perm,
                           &id.uns_perm, &id.irhs_sparse, &id.irhs_ptr, &id.isol_loc,
                           &id.irhs_loc, &id.pivnul_list, &id.mapping, &id.listvar_schur})
    *each = nullptr;
  for (DMUMPS_COMPLEX** each :
       {&id.a, &id.a_loc, &id.a_elt, &id.colsca, &id.rowsca, &id.rhs, &id.redrhs,
        &id.rhs_sparse, &id.sol_loc, &id.rhs_loc, &id.schur, &id.wk_user})
    *each = nullptr;
  for (MUMPS_INT* each :
       {&id.lrhs, &id.lredrhs, &id.nz_rhs, &id.lsol_loc, &id.nloc_rhs, &id.lrhs_loc,
        &id.schur_mloc, &id.schur_nloc, &id.schur_lld, &id.mblock, &id.nblock, &id.nprow,
        &id.npcol, &id.deficiency, &id.size_schur, &id.lwk_user})
    *each = 0;
  for (char* each :
       {id.ooc_tmpdir, id.ooc_prefix, id.write_problem, id.save_dir, id.save_prefix})
    std::strcpy(each, "NAME_NOT_INITIALIZED");
}

void set_defaults(DMUMPS_STRUC_C& id) {
  forget_arrays(id);
  for (auto* each : {&id.info, &id.infog})
    std::fill(std::begin(*each), std::end(*each), 0);
  for (auto* each : {&id.rinfo, &id.rinfog})
    std::fill(std::begin(*each), std::end(*each), 0.0);
  std::fill(std::begin(id.icntl), std::end(id.icntl), 0);
  std::fill(std::begin(id.cntl), std::end(id.cntl), 0.0);
  id.nrhs = 1;
  id.icntl[0] = id.icntl[2] = 6;  // streams; ICNTL(2) none
  id.icntl[3] = 2;
  id.icntl[5] = id.icntl[6] = 7;
  id.icntl[7] = 77;
  id.icntl[8] = 1;  // A x = b
  id.icntl[11] = 0;
  id.icntl[13] = 20;
  id.icntl[26] = -32;
  id.icntl[27] = 1;
  id.cntl[0] = id.sym == 1 ? 0 : 0.01;
  id.cntl[1] = 1e-8;
  id.cntl[3] = -1;
  std::strcpy(id.version_number, "5.5.1");
}

// Of the analysis. SYM = 1 is believed as far as it goes: with MUMPS a matrix that is not
// definite is factored all the same.
espalier_solver_options options_of(const DMUMPS_STRUC_C& id, int sym) {
  espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
  options.kind = sym == 1   ? ESPALIER_SOLVER_KIND_AUTO
                 : sym == 2 ? ESPALIER_SOLVER_KIND_LDLT
                            : ESPALIER_SOLVER_KIND_LU;
  switch (id.icntl[6]) {
    case 0:
      options.ordering = ESPALIER_SOLVER_ORDERING_AMD;
      break;
    case 3:
      options.ordering = ESPALIER_SOLVER_ORDERING_SCOTCH;
      break;
    case 5:
      options.ordering = ESPALIER_SOLVER_ORDERING_METIS;
      break;
    default:
      break;
  }
  return options;
}

// Where MUMPS writes: what the struct says, or the environment, or /tmp.
const char* directory_of(const DMUMPS_STRUC_C& id) {
  if (id.ooc_tmpdir[0] != 0 &&
      std::strncmp(id.ooc_tmpdir, "NAME_NOT_INITIALIZED", 20) != 0)
    return id.ooc_tmpdir;
  const char* const told = std::getenv("MUMPS_OOC_TMPDIR");
  return told != nullptr && *told != 0 ? told : "/tmp";
}

// What MUMPS looks at when it factors: CNTL(1), ICNTL(22), ICNTL(23).
void take_factor_options(const DMUMPS_STRUC_C& id, int sym, Session& session) {
  const bool pivots = sym != 1 && id.cntl[0] > 0;
  session.set_pivot_threshold(pivots ? std::min(id.cntl[0], 1.0) : 0);
  session.set_out_of_core(id.icntl[21] == 1 ? directory_of(id) : "");
  // Megabytes for this process; ours is a bound on all of it.
  session.set_bound(id.icntl[22] > 0 ? std::to_string(id.icntl[22]) + "MB" : "");
}

std::int64_t entries_of(const DMUMPS_STRUC_C& id) { return id.nnz > 0 ? id.nnz : id.nz; }

bool is_inside(const DMUMPS_STRUC_C& id, std::int64_t k) {
  return id.irn[k] >= 1 && id.irn[k] <= id.n && id.jcn[k] >= 1 && id.jcn[k] <= id.n;
}

// The pattern without what is outside the matrix, which MUMPS leaves out.
struct Triplets {
  std::vector<MUMPS_INT> rows, columns;  // empty: the caller's
};
Triplets leave_out(const DMUMPS_STRUC_C& id, Instance& instance) {
  Triplets kept;
  const std::int64_t entries = entries_of(id);
  instance.outside = 0;
  instance.inside.clear();
  for (std::int64_t k = 0; k < entries; ++k) instance.outside += !is_inside(id, k);
  if (instance.outside == 0) return kept;
  for (std::int64_t k = 0; k < entries; ++k) {
    if (!is_inside(id, k)) continue;
    instance.inside.push_back(k);
    kept.rows.push_back(id.irn[k]);
    kept.columns.push_back(id.jcn[k]);
  }
  return kept;
}

const double* values_inside(const double* given, Instance& instance) {
  if (instance.outside == 0) return given;
  instance.values.clear();
  for (const std::int64_t k : instance.inside) instance.values.push_back(given[k]);
  return instance.values.data();
}

// PERM_IN(i) is the place of variable i; order[k] the variable at place k.
std::vector<std::int32_t> given_order(const DMUMPS_STRUC_C& id) {
  if (id.icntl[6] != 1) return {};
  if (id.perm_in == nullptr) refuse(kMissing, 3, "PERM_IN is not there");
  std::vector<std::int32_t> order(static_cast<std::size_t>(id.n), -1);
  for (MUMPS_INT i = 0; i < id.n; ++i) {
    const MUMPS_INT place = id.perm_in[i];
    if (place < 1 || place > id.n || order[place - 1] != -1)
      refuse(kBadPermutation, i + 1, "PERM_IN is no permutation");
    order[place - 1] = i;
  }
  return order;
}

void take_triplets(const DMUMPS_STRUC_C& id, const Instance& instance,
                   const Triplets& kept, espalier_solver_input& input) {
  const bool all = instance.outside == 0;
  input.format = ESPALIER_SOLVER_TRIPLETS;
  input.entries = entries_of(id) - instance.outside;
  input.rows = all ? id.irn : kept.rows.data();
  input.columns = all ? id.jcn : kept.columns.data();
}

// Elements are the C interface's.
void take_elements(const DMUMPS_STRUC_C& id, Instance& instance,
                   espalier_solver_input& input) {
  if (id.nelt < 1) refuse(kBadElements, id.nelt, "NELT is " + std::to_string(id.nelt));
  if (id.eltptr == nullptr || id.eltvar == nullptr)
    refuse(kMissing, 1, "ELTPTR or ELTVAR is not there");
  for (MUMPS_INT e = 0; e <= id.nelt; ++e)
    if (e == 0 ? id.eltptr[0] != 1 : id.eltptr[e] < id.eltptr[e - 1])
      refuse(kBadElements, e + 1, "ELTPTR begins with 1 and never falls");
  instance.outside = 0;
  input.format = ESPALIER_SOLVER_ELEMENTS;
  input.entries = id.nelt;
  input.starts = id.eltptr;
  input.rows = id.eltvar;
}

void check_triplets(const DMUMPS_STRUC_C& id) {
  if (entries_of(id) < 1) refuse(kBadEntries, id.nz, "NNZ is not positive");
  if (id.irn == nullptr || id.jcn == nullptr)
    refuse(kMissing, 1, "IRN or JCN is not there");
}

void analyse(DMUMPS_STRUC_C& id, Instance& instance) {
  if (id.n < 1) refuse(kBadOrder, id.n, "N is " + std::to_string(id.n));
  instance.elemental = id.icntl[4] == 1;
  if (!instance.elemental) check_triplets(id);
  const std::vector<std::int32_t> order = given_order(id);
  espalier_solver_options options = options_of(id, instance.sym);
  options.order = order.empty() ? nullptr : order.data();
  const std::vector<std::int32_t> schur = schur_variables(id);
  options.schur = schur.empty() ? nullptr : schur.data();
  options.schur_count = static_cast<std::int64_t>(schur.size());
  instance.schur = options.schur_count;
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
  input.order = id.n;
  input.symmetry =
      instance.sym == 0 ? ESPALIER_SOLVER_GENERAL : ESPALIER_SOLVER_SYMMETRIC;
  input.index_base = 1;
  Triplets kept;
  if (instance.elemental) {
    take_elements(id, instance, input);
  } else {
    kept = leave_out(id, instance);
    take_triplets(id, instance, kept, input);
  }
  instance.session = std::make_unique<Session>("dmumps", input, options);
  instance.factored = false;
}

void report(DMUMPS_STRUC_C& id, std::int64_t schur,
            const espalier_solver_statistics& facts) {
  const auto missing = static_cast<MUMPS_INT>(facts.order - schur - facts.rank);
  id.infog[11] = static_cast<MUMPS_INT>(facts.negative_pivots);
  id.infog[12] = static_cast<MUMPS_INT>(facts.delayed_pivots);
  id.infog[20] = static_cast<MUMPS_INT>(facts.peak_resident / 1000000);
  id.infog[24] = static_cast<MUMPS_INT>(facts.perturbed_pivots);
  id.infog[27] = id.deficiency = missing;
  id.infog[28] = static_cast<MUMPS_INT>(
      std::min<std::int64_t>(facts.factor_entries, std::int64_t{1} << 30));
  id.rinfog[2] = facts.factor_flops;
}

void factorise(DMUMPS_STRUC_C& id, Instance& instance) {
  if (!instance.session) refuse(kBadJob, id.job, "JOB 2 before JOB 1");
  const double* const given = instance.elemental ? id.a_elt : id.a;
  if (given == nullptr) refuse(kMissing, 4, "A or A_ELT is not there");
  instance.factored = false;
  take_factor_options(id, instance.sym, *instance.session);
  const double* const values = values_inside(given, instance);
  if (const int status = instance.session->factorise(values); status != 0)
    refuse_status(status);
  // MUMPS finds no pivot that is a number, and does not look for one where SYM is 1.
  if (!instance.session->is_finite() && instance.sym != 1)
    refuse(kSingular, 0, "the matrix has entries that are not finite");
  const espalier_solver_statistics facts = instance.session->statistics();
  report(id, instance.schur, facts);
  instance.session->read_order(instance.sym_perm);
  id.sym_perm = instance.sym_perm.data();
  if (facts.singular != 0 && id.icntl[23] == 0)
    refuse(kSingular, facts.rank, "the matrix is singular");
  instance.factored = true;
  if (!instance.session->is_finite()) return give_nan(id);
  if (id.icntl[23] != 0) give_null_pivots(id, *instance.session, instance.null_pivots);
  if (id.icntl[32] != 0) give_determinant(id, *instance.session);
  if (instance.schur > 0) give_schur(id, *instance.session);
}

void solve(DMUMPS_STRUC_C& id, Instance& instance) {
  if (!instance.session || !instance.factored)
    refuse(kBadJob, id.job, "JOB 3 before JOB 2");
  check_together(id);
  if (id.icntl[29] != 0) return give_inverse_entries(id, *instance.session);
  if (id.rhs == nullptr) refuse(kMissing, 7, "RHS is not there");
  const MUMPS_INT nrhs = id.nrhs;
  if (nrhs < 1) refuse(kBadCount, nrhs, "NRHS is " + std::to_string(nrhs));
  if (nrhs > 1 && id.lrhs < id.n)
    refuse(kBadRightHandSide, id.lrhs, "LRHS is " + std::to_string(id.lrhs));
  if (id.icntl[24] != 0) return give_null_space(id, *instance.session);
  const MUMPS_INT leading = nrhs > 1 ? id.lrhs : id.n;
  if (id.icntl[19] != 0) spread_right_hand_sides(id, leading);
  // Refinement where it is asked for; the error that MUMPS does not look at, either.
  instance.session->set_refinement(id.icntl[9] == 0 && id.icntl[10] == 0 ? 2 : 0,
                                   id.icntl[10] == 1 ? 1 : 0);
  const int status =
      instance.session->solve(id.icntl[8] != 1, nrhs, id.rhs, leading, id.rhs, leading);
  if (status != 0) refuse_status(status);
  const espalier_solver_statistics facts = instance.session->statistics();
  id.rinfog[6] = facts.backward_error;
  id.rinfog[8] = facts.forward_error_bound;
  id.rinfog[9] = facts.condition_1norm;
  id.infog[14] = facts.refinement_steps;
}

Instance& instance_of(const DMUMPS_STRUC_C& id) {
  const std::scoped_lock lock(instances().mutex);
  const auto found = instances().all.find(id.instance_number);
  if (found == instances().all.end()) refuse(kBadJob, id.job, "JOB -1 comes first");
  return *found->second;
}

void begin(DMUMPS_STRUC_C& id) {
  if (id.sym < 0 || id.sym > 2)
    refuse(kRefused, id.sym, "SYM is " + std::to_string(id.sym));
  auto instance = std::make_unique<Instance>();
  instance->sym = id.sym;
  const std::scoped_lock lock(instances().mutex);
  id.instance_number = ++instances().last;
  instances().all[id.instance_number] = std::move(instance);
  set_defaults(id);
}

void end(DMUMPS_STRUC_C& id) {
  const std::scoped_lock lock(instances().mutex);
  instances().all.erase(id.instance_number);
  id.sym_perm = nullptr;
}

void run(DMUMPS_STRUC_C& id) {
  if (id.job == -1) return begin(id);
  Instance& instance = instance_of(id);
  if (id.job == -2) return end(id);
  if (id.job < 1 || id.job > 6)
    refuse(kBadJob, id.job, "JOB " + std::to_string(id.job) + " is not done here");
  check_options(id);
  if (id.job == 1 || id.job == 4 || id.job == 6) analyse(id, instance);
  if (id.job == 2 || id.job >= 4) factorise(id, instance);
  if (id.job == 3 || id.job >= 5) solve(id, instance);
}

// A call that analysed says how many entries it left out.
constexpr int kOutside = 1;

void answer(DMUMPS_STRUC_C& id, int code, int detail, const char* text) noexcept {
  id.infog[0] = id.info[0] = code;
  id.infog[1] = id.info[1] = detail;
  if (code < 0 && id.icntl[0] > 0 && id.icntl[3] > 0)
    std::fprintf(stderr, "dmumps (Espalier): INFOG(1)=%d: %s\n", code, text);
}

void warn(DMUMPS_STRUC_C& id) {
  const bool analysed = id.job == 1 || id.job == 4 || id.job == 6;
  const std::int64_t count = analysed ? instance_of(id).outside : 0;
  answer(id, count > 0 ? kOutside : 0,
         static_cast<int>(std::min<std::int64_t>(count, INT_MAX)), "");
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void dmumps_c(DMUMPS_STRUC_C* id) {
  try {
    if (id->job != -1) answer(*id, 0, 0, "");
    run(*id);
    warn(*id);
  } catch (const Refusal& refusal) {
    answer(*id, refusal.code, refusal.detail, refusal.text.c_str());
  } catch (const std::bad_alloc&) {
    answer(*id, kAllocation, 0, "out of memory");
  } catch (const std::exception& error) {
    answer(*id, kOther, 0, error.what());
  }
}
