#pragma once

// MA57 of HSL in double precision, as Fortran and its callers have it: everything by
// reference, arrays from 1 in what is said here. What is done of it, and how its answers
// come about: ma57.cpp.

#define ESPALIER_MA57 __attribute__((visibility("default")))

extern "C" {

/// Defaults into CNTL(5) and ICNTL(20).
ESPALIER_MA57 void ma57id_(double* cntl, int* icntl);
/// Takes the pattern; KEEP gets what names it.
ESPALIER_MA57 void ma57ad_(const int* n, const int* ne, const int* irn, const int* jcn,
                           const int* lkeep, int* keep, int* iwork, const int* icntl,
                           int* info, double* rinfo);
/// Factors; IFACT gets what names the factor.
ESPALIER_MA57 void ma57bd_(const int* n, const int* ne, const double* a, double* fact,
                           const int* lfact, int* ifact, const int* lifact,
                           const int* lkeep, const int* keep, int* iwork,
                           const int* icntl, const double* cntl, int* info,
                           double* rinfo);
/// Solves in place: JOB = 1 with A, 2, 3, 4 with P L P^T, P D P^T, P L^T P^T, which come
/// to the same one after the other; what scales A goes with the outer ones.
ESPALIER_MA57 void ma57cd_(const int* job, const int* n, const double* fact,
                           const int* lfact, const int* ifact, const int* lifact,
                           const int* nrhs, double* rhs, const int* lrhs, double* w,
                           const int* lw, int* iw1, const int* icntl, int* info);
/// Copies FACT (IC = 0) or IFACT to a longer array.
ESPALIER_MA57 void ma57ed_(const int* n, const int* ic, int* keep, const double* fact,
                           const int* lfact, double* newfac, const int* lnew,
                           const int* ifact, const int* lifact, int* newifc,
                           const int* linew, int* info);
}
