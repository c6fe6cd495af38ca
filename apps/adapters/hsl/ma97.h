#pragma once

// The C interface of HSL_MA97 in double precision, as its hosts declare it: names, types
// and order of the fields are theirs. What a host may find in a struct that is longer in
// a later version is not touched: fields behind the last one here are left alone.

extern "C" {

struct ma97_control_d {
  int f_arrays;  ///< indices from 1
  int action;    ///< go on with a singular matrix
  int nemin;
  double multiplier;
  int ordering;
  int print_level;  ///< 0: errors, 1: warnings, on standard error
  int scaling;
  double small;
  double u;  ///< threshold of pivots
  int unit_diagnostics, unit_error, unit_warning;
  long factor_min;
  int solve_blas3;
  long solve_min;
  int solve_mf;
  double consist_tol;
};

struct ma97_info_d {
  int flag;  ///< 0; 7: singular, a warning; negative: an error
  int flag68, flag77;
  int matrix_dup, matrix_rank, matrix_outrange, matrix_missing_diag;
  int maxdepth, maxfront;
  int num_delay;
  long num_factor, num_flops;
  int num_neg, num_sup, num_two;
  int ordering;
  int stat;
};

#define ESPALIER_HSL_API __attribute__((visibility("default")))

ESPALIER_HSL_API void ma97_default_control_d(ma97_control_d* control);
/// @param val    null, or the values that the order is to suit
/// @param order  null: variables go where the first values want them. Else the place of
///               each variable in the order of elimination: with control.ordering 0 as
///               the host wants it, and on return as all factorisations keep it: the
///               host's up to changes that keep the fill, or one of the pattern and
///               `val`. Where zeros on the diagonal want partners that `val` has not
///               shown, and where pivots are delayed, variables still move
ESPALIER_HSL_API void ma97_analyse_d(int check, int n, const int* ptr, const int* row,
                                     double* val, void** akeep,
                                     const ma97_control_d* control, ma97_info_d* info,
                                     int* order);
/// Likewise, of row and column of each entry.
ESPALIER_HSL_API void ma97_analyse_coord_d(int n, int ne, const int* row, const int* col,
                                           double* val, void** akeep,
                                           const ma97_control_d* control,
                                           ma97_info_d* info, int* order);
/// @param matrix_type  3: positive definite, and a matrix that is not is flag -8;
///                     4: indefinite
/// @param ptr, row     looked at by MA97 where `check` was 0; those of the analysis here
/// @param scale        not used: scaling is our own
ESPALIER_HSL_API void ma97_factor_d(int matrix_type, const int* ptr, const int* row,
                                    const double* val, void** akeep, void** fkeep,
                                    const ma97_control_d* control, ma97_info_d* info,
                                    double* scale);
ESPALIER_HSL_API void ma97_factor_solve_d(int matrix_type, const int* ptr, const int* row,
                                          const double* val, int nrhs, double* x, int ldx,
                                          void** akeep, void** fkeep,
                                          const ma97_control_d* control,
                                          ma97_info_d* info, double* scale);
/// @param job  0: A x = b; of S A S = (P L) D (P L)^T, 1: P L x = S b, 2: D x = b,
///             3: (P L)^T S^-1 x = b, 4: D (P L)^T S^-1 x = b. Entries of x stay with the
///             rows of A between them
ESPALIER_HSL_API void ma97_solve_d(int job, int nrhs, double* x, int ldx, void** akeep,
                                   void** fkeep, const ma97_control_d* control,
                                   ma97_info_d* info);
ESPALIER_HSL_API void ma97_free_akeep_d(void** akeep);
ESPALIER_HSL_API void ma97_free_fkeep_d(void** fkeep);
ESPALIER_HSL_API void ma97_finalise_d(void** akeep, void** fkeep);
}
