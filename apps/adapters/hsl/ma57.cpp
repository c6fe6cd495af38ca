// MA57 as its hosts call it, on Espalier's solver.
//
// MA57 keeps everything in the caller's arrays and has no call that ends it. Ours is kept
// in Matrices, by numbers that KEEP and IFACT hold (docs/decisions/0139).

#include "ma57.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "matrices.h"
#include "session.h"

namespace {

using espalier::adapters::kLeastThreshold;
using espalier::adapters::kMostThreshold;
using espalier::adapters::Session;
using espalier::adapters::ma57::Matrices;
using espalier::adapters::ma57::Matrix;

// INFO(1). MA57's codes for too small arrays would make hosts try again with larger ones:
// what else goes wrong is told as a bad order, with our text on standard error.
constexpr int kFailed = -1, kShortRightHandSide = -11, kShortArray = -7,
              kNoRightHandSide = -16, kBadEntries = -2, kRankDeficient = 4,
              kZeroPivot = -5, kSignsChange = -6;
// ICNTL(7), beside pivoting: what is wrong with a pivot ends the factorisation. We pivot
// all the same, and look at what has come of it.
constexpr int kSameSigns = 2, kNoZeros = 3, kMadeDefinite = 4;
// Host arrays that we ask for: enough for what names a factor.
constexpr int kArrayEntries = 8, kMark = 0x45535057;

// KEEP or IFACT: two numbers.
void name(int* array, int number) {
  array[0] = kMark;
  array[1] = number;
}

std::shared_ptr<Matrix> find(const int* array) {
  if (array[0] != kMark)
    throw std::invalid_argument("MA57: an array that no earlier call has filled");
  if (auto matrix = Matrices::of_the_process().find(array[1])) return matrix;
  throw std::invalid_argument("MA57: this matrix was given up: of a thread the " +
                              std::to_string(Matrices::kMost) +
                              " that it used last stay in memory");
}

// Nothing is thrown into the host.
template <class Body>
void guarded(int* info, Body body) noexcept {
  std::fill_n(info, 40, 0);
  const auto fail = [&](int status, const char* text) {
    info[0] = kFailed;
    info[1] = status;
    std::fprintf(stderr, "libhsl (Espalier): %s\n", text);
  };
  try {
    const int status = body();
    if (status != 0) fail(status, espalier_solver_last_error());
  } catch (const std::exception& error) {
    fail(kFailed, error.what());
  }
}

void refuse(int* info, int code, int detail) {
  info[0] = code;
  info[1] = detail;
}

void tell(const Session& session, int* info, double* rinfo) {
  const espalier_solver_statistics facts = session.statistics();
  info[13] = static_cast<int>(
      std::min<std::int64_t>(facts.factor_entries, std::int64_t{1} << 30));
  info[20] = session.order();
  info[21] = static_cast<int>(facts.two_by_two_pivots);
  info[22] = static_cast<int>(
      std::min<std::int64_t>(facts.delayed_pivots, std::int64_t{1} << 30));
  info[23] = static_cast<int>(facts.negative_pivots);
  info[24] = facts.rank;
  rinfo[3] = facts.factor_flops;
  // By pivots, as MA57: an ill-conditioned matrix is for the host to judge.
  if (facts.rank < session.order() || !session.is_finite()) info[0] = kRankDeficient;
}

// After tell().
void check_pivots(int pivoting, int* info) {
  const int negative = info[23], rank = info[24];
  if (pivoting != kSameSigns && pivoting != kNoZeros) return;
  if (info[0] == kRankDeficient)
    refuse(info, kZeroPivot, rank + 1);
  else if (pivoting == kSameSigns && negative > 0 && negative < rank)
    refuse(info, kSignsChange, negative + 1);
}

}  // namespace

void ma57id_(double* cntl, int* icntl) {
  std::fill_n(cntl, 5, 0.0);
  cntl[0] = 0.01;
  cntl[1] = 1e-20;
  cntl[2] = 0.5;
  std::fill_n(icntl, 20, 0);
  std::fill_n(icntl, 4, 6);
  icntl[4] = 2;
  icntl[5] = 5;
  icntl[6] = 1;
  icntl[8] = 10;
  icntl[10] = icntl[11] = 16;
  icntl[12] = 10;
  icntl[13] = 100;
  icntl[14] = 1;
}

void ma57ad_(const int* n, const int* ne, const int* irn, const int* jcn,
             const int* /*lkeep*/, int* keep, int* /*iwork*/, const int* icntl, int* info,
             double* rinfo) {
  std::fill_n(rinfo, 20, 0.0);
  guarded(info, [&] {
    for (int k = 0; k < *ne; ++k)
      if (irn[k] < 1 || irn[k] > *n || jcn[k] < 1 || jcn[k] > *n) {
        refuse(info, kBadEntries, k + 1);
        return 0;
      }
    espalier_solver_options options = ESPALIER_SOLVER_OPTIONS_INIT;
    options.kind = ESPALIER_SOLVER_KIND_LDLT;
    options.no_refinement = 2;  // hosts refine themselves
    options.factor_parts = 1;   // jobs 2 to 4 of a solve
    if (icntl[5] == 0 || icntl[5] == 2) options.ordering = ESPALIER_SOLVER_ORDERING_AMD;
    if (icntl[5] == 4) options.ordering = ESPALIER_SOLVER_ORDERING_METIS;
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = *n;
    input.entries = *ne;
    input.format = ESPALIER_SOLVER_TRIPLETS;
    input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
    input.index_base = 1;
    input.rows = irn;
    input.columns = jcn;
    Matrices& all = Matrices::of_the_process();
    if (keep[0] == kMark) all.remove(keep[1]);  // the same arrays again
    name(keep, all.add(std::make_unique<Session>("ma57", input, options))->number);
    info[8] = info[9] = kArrayEntries;  // for FACT and IFACT
    return 0;
  });
}

void ma57bd_(const int* /*n*/, const int* /*ne*/, const double* a, double* /*fact*/,
             const int* /*lfact*/, int* ifact, const int* lifact, const int* /*lkeep*/,
             const int* keep, int* /*iwork*/, const int* icntl, const double* cntl,
             int* info, double* rinfo) {
  guarded(info, [&] {
    if (*lifact < 2) throw std::invalid_argument("MA57: LIFACT is less than 2");
    const std::shared_ptr<Matrix> matrix = find(keep);
    const std::scoped_lock lock(matrix->mutex);
    Session& session = *matrix->session;
    if (icntl[6] == kMadeDefinite)
      throw std::invalid_argument("ICNTL(7) is 4: no matrix is made definite here");
    session.set_pivot_threshold(std::clamp(cntl[0], kLeastThreshold, kMostThreshold));
    const int status = session.factorise(a);
    if (status != 0) return status;
    name(ifact, keep[1]);
    tell(session, info, rinfo);
    check_pivots(icntl[6], info);
    return 0;
  });
}

void ma57cd_(const int* job, const int* n, const double* /*fact*/, const int* /*lfact*/,
             const int* ifact, const int* /*lifact*/, const int* nrhs, double* rhs,
             const int* lrhs, double* /*w*/, const int* /*lw*/, int* /*iw1*/,
             const int* /*icntl*/, int* info) {
  guarded(info, [&] {
    const std::shared_ptr<Matrix> matrix = find(ifact);
    const std::scoped_lock lock(matrix->mutex);
    if (*lrhs < *n) {
      refuse(info, kShortRightHandSide, *lrhs);
    } else if (*nrhs < 1) {
      refuse(info, kNoRightHandSide, *nrhs);
    } else if (*job > 1 && *job <= 4) {
      const auto part = *job == 3 ? ESPALIER_SOLVER_PART_D : ESPALIER_SOLVER_PART_L;
      return matrix->session->solve_part(part, *job == 4, *nrhs, rhs, *lrhs);
    } else {
      return matrix->session->solve(false, *nrhs, rhs, *lrhs, rhs, *lrhs);
    }
    return 0;
  });
}

void ma57ed_(const int* /*n*/, const int* ic, int* /*keep*/, const double* fact,
             const int* lfact, double* newfac, const int* lnew, const int* ifact,
             const int* lifact, int* newifc, const int* linew, int* info) {
  std::fill_n(info, 40, 0);
  const bool real = *ic <= 0;
  if (real ? *lnew < *lfact : *linew < *lifact) {
    refuse(info, kShortArray, real ? *lnew : *linew);
  } else if (real) {
    std::copy_n(fact, *lfact, newfac);
  } else {
    std::copy_n(ifact, *lifact, newifc);
  }
}
