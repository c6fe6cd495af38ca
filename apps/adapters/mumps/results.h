#pragma once

// What the stand-in for dmumps_c answers beside solutions, and how it refuses.

#include <dmumps_c.h>

#include <cstdint>
#include <string>
#include <vector>

#include "session.h"

namespace espalier::adapters::mumps {

// INFOG(1).
inline constexpr int kRefused = -800, kBadJob = -3, kBadOrder = -16, kBadEntries = -2,
                     kMissing = -22, kBadElements = -24, kBadPermutation = -4,
                     kSingular = -10, kAllocation = -13, kBoundTooSmall = -19,
                     kOther = -90, kBadRightHandSide = -26, kBadCount = -45,
                     kBadSchur = -49, kBadNullSpace = -36, kBadNullCount = -32,
                     kIncompatible = -37, kBadSparseCount = -46, kBadInverseCount = -47,
                     kNotWithInverse = -48, kBadSparseEnd = -27, kBadSparseBegin = -28;

// A refusal: INFOG(1), INFOG(2) and what is said on unit 6 where ICNTL(4) allows it.
struct Refusal {
  int code, detail;
  std::string text;
};

[[noreturn]] void refuse(int code, int detail, const std::string& text);
/// A refusal of the solver's, by the code of espalier_solver_….
[[noreturn]] void refuse_status(int status);

/// The variables of the Schur complement, from 0; none unless ICNTL(19) asks for it.
[[nodiscard]] std::vector<std::int32_t> schur_variables(const DMUMPS_STRUC_C& id);

/// ICNTL(33): RINFOG(12) 2^INFOG(34).
void give_determinant(DMUMPS_STRUC_C& id, const Session& session);
/// ICNTL(19) = 1: SCHUR by rows, all of it, whatever SYM is.
void give_schur(DMUMPS_STRUC_C& id, const Session& session);
/// What those two are of a matrix that is not finite.
void give_nan(DMUMPS_STRUC_C& id);
/// ICNTL(24): PIVNUL_LIST, kept in `rows`: as many as the null space has dimensions,
/// without which the other rows are independent. Null where they are not found: no pivot
/// is, a basis of the null space would have more than 2^24 numbers, or is none.
void give_null_pivots(DMUMPS_STRUC_C& id, const Session& session,
                      std::vector<MUMPS_INT>& rows);
/// ICNTL(25): -1 all vectors of a null space basis in RHS, i > 0 the i-th.
void give_null_space(DMUMPS_STRUC_C& id, const Session& session);
/// ICNTL(20) = 1 … 3: RHS, of this leading dimension, becomes what RHS_SPARSE is.
void spread_right_hand_sides(DMUMPS_STRUC_C& id, std::int64_t leading);
/// ICNTL(30): RHS_SPARSE receives the entries of A^-1 whose places it names.
void give_inverse_entries(DMUMPS_STRUC_C& id, const Session& session);

}  // namespace espalier::adapters::mumps
