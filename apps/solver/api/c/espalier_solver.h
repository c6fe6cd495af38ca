#ifndef ESPALIER_SOLVER_H
#define ESPALIER_SOLVER_H

/**
 * @file
 * The sparse direct solver's C interface (C99): A x = b inside a bound on the memory of
 * the process. espalier/solver/solver.h is the C++ interface. Every promise of the one
 * header stands here: over 300 lines.
 *
 *     create  ->  plan  ->  factorise  ->  solve, any number of times
 *                              ^  |
 *                  refactorise +--+->  save        load  ->  solve
 *
 * espalier_solver_analyse() takes the place of create() for a matrix in any of the usual
 * forms; then espalier_solver_factorise_values() needs values alone.
 *
 * Conventions. Indices are from 0 where nothing else is said, sizes in bytes. Functions
 * return 0, or a negative errno code with its explanation in
 * espalier_solver_last_error():
 *
 *   -EINVAL     an argument that cannot be, or a call out of turn
 *   -ENOMEM     the bound is too small, or the system has no memory left
 *   -EDOM       not positive definite, where Cholesky was asked for
 *   -EBUSY      the program runs StarPU itself (ESPALIER_SOLVER_RUNTIME_ADOPTED), or a
 *               solver exists in this process that has other workers; or fork() made this
 *               process of one where a solver runs StarPU, whose threads are not here
 *   -EOVERFLOW  sizes leave the 64-bit range
 *   -ECANCELED  espalier_solver_progress said so
 *   -EIO        a file cannot be read or written, or the runtime fails
 *
 * Nothing throws. Small systems are solved without StarPU, by the caller's thread and,
 * where it is worth their start, others that end with the call. The others run StarPU,
 * which they share: those that exist in a process at the same time need the same number
 * of workers, and the bound of each is one on the whole process; those with one budget
 * keep to it together. A solver's functions may
 * be called from any thread, one call at a time. NULL is refused wherever a pointer is
 * not said to be optional.
 *
 * Over 300 lines: the whole interface is one header.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ESPALIER_SOLVER_API __attribute__((visibility("default")))
#else
#define ESPALIER_SOLVER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct espalier_solver espalier_solver;

/** Explanation of the last call in this thread that returned a negative code: one line,
 *  never NULL, valid until this thread's next call that fails. */
ESPALIER_SOLVER_API const char* espalier_solver_last_error(void);

/* ------------------------------------------------------------------------ matrix --- */

enum {
  ESPALIER_SOLVER_GENERAL = 0,  /**< every nonzero */
  ESPALIER_SOLVER_SYMMETRIC = 1 /**< the lower triangle, with the diagonal */
};

/** A square matrix by compressed columns. The arrays are copied. Other forms:
 *  espalier_solver_input. */
typedef struct espalier_solver_matrix {
  int32_t order;               /**< n >= 0 */
  int32_t storage;             /**< ESPALIER_SOLVER_GENERAL or …_SYMMETRIC */
  const int64_t* column_start; /**< n + 1 offsets: from 0 on, never falling */
  const int32_t* rows;         /**< column_start[n] entries, increasing in each column */
  const double* values;        /**< likewise, finite */
} espalier_solver_matrix;

enum {
  ESPALIER_SOLVER_COLUMNS = 0, /**< compressed columns */
  ESPALIER_SOLVER_ROWS = 1,    /**< compressed rows */
  ESPALIER_SOLVER_TRIPLETS = 2,
  /** Dense matrices of some variables each, which are added. Element e is of the k
   *  variables rows[starts[e]] … rows[starts[e + 1] - 1], all different; its k^2 values
   *  follow those of element e - 1, column by column. Where the symmetry is
   *  ESPALIER_SOLVER_SYMMETRIC or …_HERMITIAN they are the k (k + 1) / 2 of its lower
   *  triangle. */
  ESPALIER_SOLVER_ELEMENTS = 3
};

/** Beside ESPALIER_SOLVER_GENERAL, of which no symmetry is looked for, and
 *  ESPALIER_SOLVER_SYMMETRIC, which in espalier_solver_input stands for either triangle.
 *  Of a complex matrix
 *  ESPALIER_SOLVER_WHOLE is Hermitian or symmetric. */
enum {
  ESPALIER_SOLVER_WHOLE = 2,            /**< symmetric, both triangles given */
  ESPALIER_SOLVER_WHOLE_OR_GENERAL = 3, /**< found out by the entries */
  ESPALIER_SOLVER_HERMITIAN = 4         /**< complex, either triangle */
};

/** Numbers of a matrix and of its vectors. Where they are complex every `double*` of
 *  matrices, vectors and blocks points to numbers of two doubles, real and imaginary
 * part: `double _Complex` in C, `complex(c_double_complex)` in Fortran. Counts, orders
 * and distances such as `leading` are in complex numbers. */
enum { ESPALIER_SOLVER_REAL = 0, ESPALIER_SOLVER_COMPLEX = 1 };

/** A square matrix in any of the usual forms, in any order of entries; those that are
 *  given several times are added. Of a symmetric matrix each entry (i, j) off the
 *  diagonal stands for (j, i), too, whichever triangle it is in. Arrays are read during
 *  the call; start from ESPALIER_SOLVER_INPUT_INIT. */
typedef struct espalier_solver_input {
  size_t size;     /**< sizeof(espalier_solver_input): the caller's version */
  int64_t order;   /**< n: 0 <= n < 2^31 */
  int64_t entries; /**< how many triplets or elements; others have it in `starts` */
  int32_t format;  /**< ESPALIER_SOLVER_COLUMNS, …_ROWS, …_TRIPLETS or …_ELEMENTS */
  int32_t symmetry;     /**< ESPALIER_SOLVER_GENERAL, …_SYMMETRIC, …_WHOLE,
                             …_WHOLE_OR_GENERAL */
  int32_t index_bits;   /**< of all three arrays of indices: 32 or 64 */
  int32_t index_base;   /**< the first index and the first offset: 0 or 1 */
  const void* starts;   /**< n + 1 offsets of columns or rows, or entries + 1 of
                             elements; not of triplets */
  const void* rows;     /**< of each entry, or the elements' variables; not of compressed
                             rows */
  const void* columns;  /**< of triplets and of compressed rows */
  const double* values; /**< of each entry, finite */
  int32_t scalar;       /**< ESPALIER_SOLVER_REAL or …_COMPLEX */
} espalier_solver_input;

#define ESPALIER_SOLVER_INPUT_INIT \
  { sizeof(espalier_solver_input), 0, 0, 0, 0, 32, 0, NULL, NULL, NULL, NULL, 0 }

/* ----------------------------------------------------------------------- options --- */

enum {
  ESPALIER_SOLVER_KIND_AUTO = 0, /**< by the matrix; L D L^T where Cholesky fails */
  ESPALIER_SOLVER_KIND_CHOLESKY = 1,
  ESPALIER_SOLVER_KIND_LDLT = 2,
  ESPALIER_SOLVER_KIND_LU = 3
};
enum { ESPALIER_SOLVER_DOUBLE = 0, ESPALIER_SOLVER_SINGLE = 1 };
enum {
  ESPALIER_SOLVER_SCALING_AUTO = 0,
  ESPALIER_SOLVER_SCALING_NONE = 1,
  ESPALIER_SOLVER_SCALING_EQUILIBRATE = 2,
  ESPALIER_SOLVER_SCALING_MATCHING = 3
};
enum {
  ESPALIER_SOLVER_ORDERING_DEFAULT = 0, /**< as _AUTO */
  ESPALIER_SOLVER_ORDERING_AUTO = 1,    /**< minimum degree, or nested dissection */
  ESPALIER_SOLVER_ORDERING_METIS = 2,
  ESPALIER_SOLVER_ORDERING_SCOTCH = 3,
  ESPALIER_SOLVER_ORDERING_AMD = 4,
  ESPALIER_SOLVER_ORDERING_NATURAL = 5,
  ESPALIER_SOLVER_ORDERING_NESTED = 6 /**< nested dissection of its own, no library */
};
enum {
  ESPALIER_SOLVER_GRIDS_NEVER = 0,     /**< a block column of a front has one owner */
  ESPALIER_SOLVER_GRIDS_BY_VOLUME = 1, /**< where the process that receives most of a
                                            front receives less by a quarter */
  ESPALIER_SOLVER_GRIDS_ALWAYS = 2     /**< wherever there are two rows of tiles */
};
enum {
  ESPALIER_SOLVER_RUNTIME_AUTO = 0,   /**< StarPU for large systems */
  ESPALIER_SOLVER_RUNTIME_STARPU = 1, /**< always: `workers` threads */
  ESPALIER_SOLVER_RUNTIME_NONE = 2,   /**< never: the caller's thread, and threads that
                                            end with the call, `workers` in all */
  /** always StarPU, which the program has started and ends when the solver has gone: on
      the first `workers` of its CPU workers, 0: all, in a scheduling context of our own.
      Its tasks go on, and nobody waits for them */
  ESPALIER_SOLVER_RUNTIME_ADOPTED = 3
};

/** A bound on the process that several solvers share: espalier_solver_budget_create(). */
typedef struct espalier_solver_budget espalier_solver_budget;

/** Processes that solve a system together: espalier_solver_communicator_create(). */
typedef struct espalier_solver_communicator espalier_solver_communicator;

/** Called from the thread that called, once soon after a call has begun and then 20 times
 * a second at most, with the part `done` of the work, which need not come to 1.
 *
 * While a matrix is factored that part is of the operations. In solves, solve_part()
 * too, it is of the right-hand sides, in read_inverse() of the entries: it is called
 * before each pass over the factor and between fronts. In save() and load() it is of the
 * file. In analyses it is 0: before each step, while a matching is sought, in a
 * dissection and in a search by degree. create() and analyse() are analyses, and least()
 * and plan() where they try another order.
 *
 * While METIS or SCOTCH orders it is not called: seconds with METIS from some 100 000
 * unknowns on. ESPALIER_SOLVER_ORDERING_NESTED and _AMD are none of them.
 *
 * With a communicator each process may have a function or none, and any of them ends the
 * call at all: -ECANCELED everywhere. Analyses ask at process 0; solves before each pass
 * over the factor; a factorisation while the process that is asked has work.
 *
 *  @return 0 to go on; anything else ends the call with -ECANCELED, as does an exception
 *  of C++, which goes no further. What the call was to give can be asked for again: a
 *  factorisation that is ended leaves the plan, a solve the factor, and nothing of use in
 *  its vectors, save() an older file of that name as it was */
typedef int (*espalier_solver_progress)(void* context, double done);

/** Start from ESPALIER_SOLVER_OPTIONS_INIT: zeros are the defaults.
 *
 *  Fields may be added at the end of this struct and of espalier_solver_statistics;
 * `size` tells the caller's version. An older, smaller one goes on working, the rest
 * being the defaults. A newer, larger one works as long as what this version does not
 * know is zero (in the options), and is filled with zeros there (in the statistics). */
typedef struct espalier_solver_options {
  size_t size;             /**< sizeof(espalier_solver_options): the caller's version */
  int32_t kind;            /**< ESPALIER_SOLVER_KIND_… */
  int32_t precision;       /**< of the factor; solutions are refined in double */
  int32_t scaling;         /**< ESPALIER_SOLVER_SCALING_… */
  int32_t ordering;        /**< ESPALIER_SOLVER_ORDERING_… */
  int32_t workers;         /**< 0: one a core */
  int32_t estimate_errors; /**< 1: condition and forward error with each solve */
  int32_t no_refinement;   /**< 1: solutions as the factor gives them; 2: and nothing is
                                found out about their errors */
  int32_t runtime;         /**< ESPALIER_SOLVER_RUNTIME_… */
  double pivot_threshold;  /**< L D L^T, LU: in (0, 1]; 0: 0.01 */
  int64_t delay_reserve;   /**< bytes of the bound kept for delayed pivots; 0: 1 MiB and
                                a quarter of what it has beyond the least, or all that
                                nothing else could use */
  const char* out_of_core; /**< directory for what does not fit, not ""; NULL: none */
  const int32_t* order;    /**< takes the place of `ordering`: order[k] is eliminated as
                                the k-th, n indices from 0; NULL: none */
  espalier_solver_budget* budget; /**< shared with others; NULL: none */
  double lease_seconds; /**< to wait for what others have leased of the budget; 0: no */
  const int32_t* schur; /**< variables that are not eliminated, from 0, in the order in
                             which espalier_solver_read_schur() gives them; what is
                             said of the matrix is then said of the others' block,
                             which alone is solved with: entries of right-hand sides
                             at these variables are not read, and solutions are 0
                             there; NULL: none */
  int64_t schur_count;  /**< how many they are */
  double low_rank;      /**< block low rank: what a tile of the factor may lose, as a part
                             of its norm, in (0, 1); L L^T, in core, not saved; not with
                             ESPALIER_SOLVER_RUNTIME_NONE, and small systems lose
                             nothing; 0: none */
  espalier_solver_communicator* communicator; /**< whose processes solve it together;
                                                   NULL: this one alone */
  int32_t factor_parts; /**< 1: espalier_solver_solve_part() is going to be called; the
                             matrix is not put in block triangular form */
  int32_t front_grids; /**< ESPALIER_SOLVER_GRIDS_…: whether fronts that processes share
                            are in tiles over grids of them, where `kind` is given */
  espalier_solver_progress progress; /**< from the analysis on; NULL: none */
  void* progress_context;            /**< what it is called with */
} espalier_solver_options;

#define ESPALIER_SOLVER_OPTIONS_INIT                                                  \
  {                                                                                   \
    sizeof(espalier_solver_options), 0, 0, 0, 0, 0, 0, 0, 0, 0., 0, NULL, NULL, NULL, \
        0., NULL, 0, 0., NULL, 0, 0, NULL, NULL                                       \
  }

/* ------------------------------------------------------------------------ phases --- */

/**
 * Analyses a matrix: scaling, order of elimination, structure of the factor. Starts
 * StarPU unless the system is small.
 * @param options  NULL: the defaults
 */
ESPALIER_SOLVER_API int espalier_solver_create(espalier_solver** solver,
                                               const espalier_solver_matrix* matrix,
                                               const espalier_solver_options* options);

/** The last solver ends StarPU. NULL is allowed. */
ESPALIER_SOLVER_API void espalier_solver_destroy(espalier_solver* solver);

/**
 * The least bounds in bytes that are sure to suffice, in another run on the same matrix,
 * too: 2 MiB above what plan() needs here. It refuses what is below that need; bounds in
 * between may be accepted or not, as the resident set is. Before the first plan(),
 * where the order of elimination was left to this library and another one may do with
 * less memory, that one is tried, once: the matrix is analysed again for it. Of a
 * communicator: in the order at hand.
 * @param out_of_core  if not NULL, with the directory of the options; -1: there is none
 */
ESPALIER_SOLVER_API int espalier_solver_least(const espalier_solver* solver,
                                              int64_t* in_core, int64_t* out_of_core);

/**
 * Plans the factorisation inside a bound. A factor that there was is given up. Where the
 * order of elimination was left to this library and the bound does not suffice for it,
 * another one is tried, once, as for espalier_solver_least().
 *
 * With a budget, a lease is taken of what the bound leaves beside what was resident when
 * the solver was made, or of all that is left of the budget where that is less; it is
 * given back by the next plan() and by destroy().
 * @param bound  bytes that may be resident in the process, ESPALIER_SOLVER_MEMORY_LEAST
 *               or …_AUTO; INT64_MAX: unbounded, with a budget the most that is of use
 * With options.low_rank the bound may be below the least one: whether it suffices is
 * known when espalier_solver_factorise() has ended.
 * @return -ENOMEM when the bound is too small: the text has the least one; the plan that
 *         there was is given up too
 */
ESPALIER_SOLVER_API int espalier_solver_plan(espalier_solver* solver, int64_t bound);

/**
 * Factors inside the plan's bound.
 * @return -ENOMEM when, with options.low_rank, compression leaves too much for a bound
 *         below the least one: another can be planned; -EDOM when a Cholesky pivot is not
 * positive: the text and espalier_solver_statistics::failed_column name the column
 */
ESPALIER_SOLVER_API int espalier_solver_factorise(espalier_solver* solver);

/**
 * Factors a matrix of other values under the same plan, with the same scaling.
 * @param matrix  of the same order, with no entry outside the first one's pattern
 * @return as espalier_solver_factorise(); -EINVAL for a matrix that does not fit: then
 *         the factor that there was is given up
 */
ESPALIER_SOLVER_API int espalier_solver_refactorise(espalier_solver* solver,
                                                    const espalier_solver_matrix* matrix);

/**
 * x = A^-1 b, or A^-T b, in place, for `nrhs` vectors of n finite entries, one after
 * the other.
 * @param transposed  0 or 1; of a complex matrix 2 is A^-H b
 */
ESPALIER_SOLVER_API int espalier_solver_solve(espalier_solver* solver, int32_t transposed,
                                              int32_t nrhs, double* vectors);

/**
 * Writes what solving needs to a file, after factorise(). An older file of that name
 * stays as it is until the new one is whole. The file is for machines of the same order
 * of bytes.
 */
ESPALIER_SOLVER_API int espalier_solver_save(const espalier_solver* solver,
                                             const char* path);

/**
 * A solver that save() wrote, ready to solve. To factorise again, plan first.
 * @param options  NULL: the defaults. Kind, precision, scaling, ordering and pivot
 *                 threshold are the file's
 * @return -EIO for a file that is damaged or none of these
 */
ESPALIER_SOLVER_API int espalier_solver_load(espalier_solver** solver, const char* path,
                                             const espalier_solver_options* options);

/* -------------------------------------------------------------------- statistics --- */

/** Why a solution is not to be trusted. */
enum {
  ESPALIER_SOLVER_DOUBT_SINGULAR = 1,       /**< the matrix is, to working precision */
  ESPALIER_SOLVER_DOUBT_BACKWARD_ERROR = 2, /**< it is not the solution of this system */
  ESPALIER_SOLVER_DOUBT_FORWARD_ERROR = 4   /**< its error may be a tenth of it or more */
};

/** What is not known yet is 0. `size` is left as the caller has set it: see
 *  espalier_solver_options. */
typedef struct espalier_solver_statistics {
  size_t size;                /**< sizeof(espalier_solver_statistics), by the caller */
  int32_t order;              /**< of the matrix */
  int32_t kind;               /**< ESPALIER_SOLVER_KIND_…: the one that is used */
  int32_t precision;          /**< of the factor */
  int32_t structural_rank;    /**< of the entries that are not zero when they are
                                   analysed, of all with other values; of L L^T the
                                   order */
  int64_t factor_entries;     /**< nonzeros of L */
  double factor_flops;        /**< of L L^T */
  double analyse_seconds;     /**< scaling and analysis */
  double factor_seconds;      /**< of the last factorisation; 0: one of a few unknowns,
                                   again, which takes less than a microsecond */
  double solve_seconds;       /**< of the last solve: substitutions; 0: likewise */
  double refine_seconds;      /**< of the last solve: refinement and estimates */
  int64_t baseline_bytes;     /**< resident before the first front */
  int64_t booked_peak;        /**< most bytes set aside for fronts at once */
  int64_t allocated_peak;     /**< most bytes of fronts at once */
  int64_t factor_growth;      /**< growth of the resident set while factorising */
  int64_t peak_resident;      /**< most bytes resident in the process, ever */
  int64_t bytes_written;      /**< to the out-of-core file */
  int64_t bytes_read;         /**< from it */
  int64_t delayed_pivots;     /**< columns that went on to a parent */
  int64_t perturbed_pivots;   /**< replaced, as they were too small */
  int64_t null_space;         /**< zero pivots at the end: estimated deficiency */
  int64_t negative_pivots;    /**< L D L^T: negative eigenvalues */
  int64_t two_by_two_pivots;  /**< L D L^T: pivots of order 2 */
  int32_t failed_column;      /**< that had no positive pivot; -1: none */
  int32_t refinement_steps;   /**< of the last solve, of its worst column */
  int32_t gmres_steps;        /**< of the last solve, of all vectors */
  int32_t doubts;             /**< of the last solve: a sum of ESPALIER_SOLVER_DOUBT_…;
                                   0: to be trusted */
  double backward_error;      /**< componentwise, of the system as it was given; of the
                                   last solve's worst column */
  double condition_1norm;     /**< with estimate_errors, and where there was reason to
                                   doubt the factor or a huge solution; else 0 */
  double forward_error_bound; /**< with estimate_errors, and where there was any reason
                                   to doubt the solution; of the worst column */
  const char* advice;         /**< a sentence on what would make factorisations faster on
                                   this machine, valid for ever; NULL: nothing */
  int32_t singular;           /**< 1: the matrix is, to working precision */
  int32_t rank;               /**< its estimated rank, after a factorisation */
  int32_t scalar;             /**< ESPALIER_SOLVER_REAL or …_COMPLEX; then entries of
                                   the factor and operations are complex ones */
} espalier_solver_statistics;

/** What is known so far. Set `statistics->size` before. */
ESPALIER_SOLVER_API int espalier_solver_read_statistics(
    const espalier_solver* solver, espalier_solver_statistics* statistics);

/* ---------------------------------------------------------------------- sessions --- */

/**
 * espalier_solver_create() for a matrix in any form. Its pattern is kept, so that
 * espalier_solver_factorise_values() needs nothing but values.
 */
ESPALIER_SOLVER_API int espalier_solver_analyse(espalier_solver** solver,
                                                const espalier_solver_input* input,
                                                const espalier_solver_options* options);

/**
 * Factors a matrix of other values under the same plan, as espalier_solver_refactorise().
 * @param values   in the order of the entries that were analysed
 * @param entries  how many there are; of elements as well how many values
 * @return as espalier_solver_refactorise(); -EINVAL also for a solver that
 *         espalier_solver_analyse() has not made, and for another number of entries: then
 *         the factor that there was stays
 */
ESPALIER_SOLVER_API int espalier_solver_factorise_values(espalier_solver* solver,
                                                         const double* values,
                                                         int64_t entries);

/**
 * X = A^-1 B, or A^-T B, for `nrhs` vectors of n finite entries.
 * @param ldb, ldx  from one vector to the next in B and X, at least n; inside a bound a
 *                  larger ldx means that vectors are solved for one at a time
 * @param x  may be b where ldx is ldb; else no vector of x overlaps with one of b
 */
ESPALIER_SOLVER_API int espalier_solver_solve_block(espalier_solver* solver,
                                                    int32_t transposed, int32_t nrhs,
                                                    const double* b, int64_t ldb,
                                                    double* x, int64_t ldx);

/** Parts of a factor: L L^T, L D L^T or L U. */
enum {
  ESPALIER_SOLVER_PART_L = 1,
  ESPALIER_SOLVER_PART_D = 2, /**< of L D L^T */
  ESPALIER_SOLVER_PART_U = 3  /**< of L U */
};

/**
 * X = P^-1 B, or P^-T B, for one part P of the factor, in one process. One after the
 * other parts are a solve, without refinement:
 *
 *     L L^T    L, L transposed             (Hermitian: conjugate transposed)
 *     L D L^T  L, D, L transposed          (likewise)
 *     L U      L, U                        of A^T: U transposed, L transposed
 *
 * Scalings go with the outer ones of them. Between them entry i belongs to row i of the
 * matrix: its parts are triangular in an order of the rows, and of columns beside U, that
 * pivoting has found. Of a general matrix that was given by rows U^T and L^T of what is
 * factored are L and U: then U has ones on its diagonal, L has not, and between them
 * entry i belongs to column i.
 * @param part        ESPALIER_SOLVER_PART_…
 * @param transposed  0 or 1; of a complex matrix 2 is P^-H
 * @param ldb, ldx, x  as espalier_solver_solve_block()
 * @return -EINVAL also for a part that the factor does not have, and for a matrix in
 * block triangular form, which options.factor_parts prevents
 */
ESPALIER_SOLVER_API int espalier_solver_solve_part(espalier_solver* solver, int32_t part,
                                                   int32_t transposed, int32_t nrhs,
                                                   const double* b, int64_t ldb,
                                                   double* x, int64_t ldx);

/** Of all that the solver does from now on, in place of options.progress.
 *  @param progress  NULL: none */
ESPALIER_SOLVER_API int espalier_solver_set_progress(espalier_solver* solver,
                                                     espalier_solver_progress progress,
                                                     void* context);

/** Of all solves from now on, in place of what the options say. Over processes all of
 *  them say the same.
 *  @param no_refinement, estimate_errors  as in espalier_solver_options */
ESPALIER_SOLVER_API int espalier_solver_set_refinement(espalier_solver* solver,
                                                       int32_t no_refinement,
                                                       int32_t estimate_errors);

/** The order of elimination: order[k] is eliminated as the k-th, from 0. n entries. */
ESPALIER_SOLVER_API int espalier_solver_read_order(const espalier_solver* solver,
                                                   int32_t* order);

/* ----------------------------------------------------------------------- results --- */

/**
 * The determinant, mantissa * 2^exponent, after factorise(): 0.5 <= |mantissa| < 1, or
 * both are 0 for a matrix that is singular to working precision. Where pivots were
 * perturbed it is that of a matrix nearby. With options.schur: of the others' block.
 */
ESPALIER_SOLVER_API int espalier_solver_read_determinant(const espalier_solver* solver,
                                                         double* mantissa,
                                                         int64_t* exponent);

/**
 * The modulus of the determinant of a complex matrix, likewise, and its argument.
 * @param argument  in (-pi, pi]; of Hermitian matrices 0 or pi
 */
ESPALIER_SOLVER_API int espalier_solver_read_complex_determinant(
    const espalier_solver* solver, double* mantissa, int64_t* exponent, double* argument);

/**
 * The Schur complement on options.schur, k variables, of the others' block, after
 * factorise(): all of it, also of a symmetric matrix. It stands in memory with the factor
 * inside the bound; `block` is the caller's, as is a copy where `leading` is not k.
 * @param block    entry (i, j) goes to block[i + j * leading]
 * @param leading  at least k
 * @return -EINVAL without options.schur, and where the others' block is singular
 */
ESPALIER_SOLVER_API int espalier_solver_read_schur(const espalier_solver* solver,
                                                   double* block, int64_t leading);

/**
 * Entries of A^-1, after factorise(), as the factor has them, without refinement: entry
 * (rows[k], columns[k]), from 0, goes to values[k]. Each column passes through the fronts
 * between its own and the root alone, so that the diagonal, or the pattern of the matrix,
 * costs far less than all of the inverse. With options.schur: of the others' block.
 * @param count  how many entries
 * @return -EINVAL also for a singular matrix and on several processes
 */
ESPALIER_SOLVER_API int espalier_solver_read_inverse(espalier_solver* solver,
                                                     int64_t count, const int32_t* rows,
                                                     const int32_t* columns,
                                                     double* values);

/**
 * An orthonormal basis of the null space of A, or of A^T, after factorise():
 * espalier_solver_statistics::null_space vectors.
 * @param transposed  0 or 1; of a complex matrix 2: of A^H
 * @param basis       vector k begins at basis[k * leading]
 * @param leading     at least n
 * @return -EINVAL where pivots were perturbed; -ENOMEM where the bound has no room for
 *         four times the vectors; -EIO where vectors do not become null vectors: then the
 *         estimate of the dimension was wrong
 */
ESPALIER_SOLVER_API int espalier_solver_read_null_space(espalier_solver* solver,
                                                        int32_t transposed, double* basis,
                                                        int64_t leading);

/* ------------------------------------------------------------------------ bounds --- */

enum {
  ESPALIER_SOLVER_MEMORY_LEAST = 0, /**< the least bound that suffices */
  ESPALIER_SOLVER_MEMORY_AUTO = -1  /**< espalier_solver_available_memory() */
};

/**
 * Bytes that this process may have resident before a limit is in its way: what it has
 * now, and the least that is left of the control groups around it (versions 1 and 2),
 * ulimit -v and -d, what Slurm gave to the job on this node, and the machine's free
 * memory.
 * @param source       if not NULL, receives which limit that is, one line, cut where it
 *                     does not fit
 * @param source_size  bytes at `source`
 */
ESPALIER_SOLVER_API int espalier_solver_available_memory(int64_t* bytes, char* source,
                                                         size_t source_size);

/**
 * A bound on what is resident in the process, for all solvers that have it in their
 * options. Analysing, and factoring with all solves, take a lease each: what cannot be
 * had beside the leases of others is refused with -ENOMEM, and the text has the budget
 * that would do, or is waited for (espalier_solver_options::lease_seconds).
 * @param bytes  > 0, or ESPALIER_SOLVER_MEMORY_AUTO
 */
ESPALIER_SOLVER_API int espalier_solver_budget_create(espalier_solver_budget** budget,
                                                      int64_t bytes);

/** Solvers that have it keep it. NULL is allowed. */
ESPALIER_SOLVER_API void espalier_solver_budget_destroy(espalier_solver_budget* budget);

/** @param bytes, leased, left  the budget, what solvers have leased of it, and what the
 *                              next one could; each may be NULL */
ESPALIER_SOLVER_API int espalier_solver_budget_read(const espalier_solver_budget* budget,
                                                    int64_t* bytes, int64_t* leased,
                                                    int64_t* left);

/* --------------------------------------------------------------------- processes --- */

/**
 * The processes of an MPI communicator, for espalier_solver_options::communicator of
 * espalier_solver_analyse() and espalier_solver_load(). Collective; what is sent goes
 * over copies of it. MPI runs with MPI_THREAD_MULTIPLE, and ends after this.
 *
 * Calls for a solver that has it are made by every process, in the same order: analyse,
 * plan, factorise, solve, save, load, destroy. Process 0 gives the matrix and its values;
 * of the others' `input` the struct's size and the order are read, and their values,
 * counts of entries and `scalar` are not. Options and bounds are the same everywhere,
 * those of one process. Right-hand sides are whole at every process, and so are
 * solutions. No Schur complement, adopted runtime or ESPALIER_SOLVER_MEMORY_AUTO. save()
 * writes a file for each process.
 *
 * What is refused is refused at every process with the same text, but for arguments that
 * differ. In a program that only one process was started of, all is as without.
 * @param mpi_comm  address of an MPI_Comm
 * @return -EIO also where libespalier_solver_mpi.so, which this loads, is not there, or
 *         MPI does not let several threads communicate
 */
ESPALIER_SOLVER_API int espalier_solver_communicator_create(
    espalier_solver_communicator** communicator, const void* mpi_comm);

/** Collective; after the solvers that have it. NULL is allowed. */
ESPALIER_SOLVER_API void espalier_solver_communicator_destroy(
    espalier_solver_communicator* communicator);

/* ------------------------------------------------------------------------- texts --- */

/** A bound as people write it: "2GiB", "512MB", "min", "auto", "none" (INT64_MAX).
 *  @param bound  for espalier_solver_plan() */
ESPALIER_SOLVER_API int espalier_solver_parse_memory(const char* text, int64_t* bound);

/** "0.1.0" */
ESPALIER_SOLVER_API const char* espalier_solver_version(void);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_SOLVER_H */
