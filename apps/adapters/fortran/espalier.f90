! One module for a program to compile: over 300 lines.
!
! Espalier's solver from Fortran 2008, over the C interface: espalier_solver.h says what the
! functions and the fields mean. Compile this file with your program and link
! libespalier_solver.so.
!
!   use espalier
!   type(espalier_input) :: a
!   type(c_ptr) :: solver
!   a = espalier_triplets(n, rows, columns, values, ESPALIER_SYMMETRIC)
!   call espalier_check(espalier_solver_analyse(solver, a, espalier_default_options()))
module espalier
  use, intrinsic :: iso_c_binding
  implicit none

  integer(c_int32_t), parameter :: ESPALIER_GENERAL = 0, ESPALIER_SYMMETRIC = 1, &
    ESPALIER_WHOLE = 2, ESPALIER_WHOLE_OR_GENERAL = 3, ESPALIER_HERMITIAN = 4
  integer(c_int32_t), parameter :: ESPALIER_REAL = 0, ESPALIER_COMPLEX = 1
  integer(c_int32_t), parameter :: ESPALIER_COLUMNS = 0, ESPALIER_ROWS = 1, &
    ESPALIER_TRIPLETS_FORMAT = 2, ESPALIER_ELEMENTS_FORMAT = 3
  integer(c_int32_t), parameter :: ESPALIER_KIND_AUTO = 0, ESPALIER_KIND_CHOLESKY = 1, &
    ESPALIER_KIND_LDLT = 2, ESPALIER_KIND_LU = 3
  integer(c_int64_t), parameter :: ESPALIER_MEMORY_LEAST = 0, ESPALIER_MEMORY_AUTO = -1, &
    ESPALIER_UNBOUNDED = huge(0_c_int64_t)

  ! espalier_solver_input: indices are from 1.
  type, bind(c) :: espalier_input
    integer(c_size_t) :: size = 0
    integer(c_int64_t) :: order = 0, entries = 0
    integer(c_int32_t) :: format = 0, symmetry = 0, index_bits = 32, index_base = 1
    type(c_ptr) :: starts = c_null_ptr, rows = c_null_ptr, columns = c_null_ptr
    type(c_ptr) :: values = c_null_ptr
    integer(c_int32_t) :: scalar = 0
  end type

  ! espalier_solver_options: start from espalier_default_options().
  type, bind(c) :: espalier_options
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: kind = 0, precision = 0, scaling = 0, ordering = 0
    integer(c_int32_t) :: workers = 0, estimate_errors = 0, no_refinement = 0, runtime = 0
    real(c_double) :: pivot_threshold = 0
    integer(c_int64_t) :: delay_reserve = 0
    type(c_ptr) :: out_of_core = c_null_ptr, elimination = c_null_ptr
    type(c_ptr) :: budget = c_null_ptr
    real(c_double) :: lease_seconds = 0
    type(c_ptr) :: schur = c_null_ptr ! variables from 0
    integer(c_int64_t) :: schur_count = 0
    real(c_double) :: low_rank = 0
    type(c_ptr) :: communicator = c_null_ptr
    integer(c_int32_t) :: factor_parts = 0, front_grids = 0
    type(c_funptr) :: progress = c_null_funptr
    type(c_ptr) :: progress_context = c_null_ptr
  end type

  ! espalier_solver_statistics.
  type, bind(c) :: espalier_statistics
    integer(c_size_t) :: size = 0
    integer(c_int32_t) :: order = 0, kind = 0, precision = 0, structural_rank = 0
    integer(c_int64_t) :: factor_entries = 0
    real(c_double) :: factor_flops = 0, analyse_seconds = 0, factor_seconds = 0
    real(c_double) :: solve_seconds = 0, refine_seconds = 0
    integer(c_int64_t) :: baseline_bytes = 0, booked_peak = 0, allocated_peak = 0
    integer(c_int64_t) :: factor_growth = 0, peak_resident = 0
    integer(c_int64_t) :: bytes_written = 0, bytes_read = 0
    integer(c_int64_t) :: delayed_pivots = 0, perturbed_pivots = 0, null_space = 0
    integer(c_int64_t) :: negative_pivots = 0, two_by_two_pivots = 0
    integer(c_int32_t) :: failed_column = 0, refinement_steps = 0, gmres_steps = 0
    integer(c_int32_t) :: doubts = 0
    real(c_double) :: backward_error = 0, condition_1norm = 0, forward_error_bound = 0
    type(c_ptr) :: advice = c_null_ptr
    integer(c_int32_t) :: singular = 0, rank = 0, scalar = 0
  end type

  interface
    integer(c_int) function espalier_solver_analyse(solver, input, options) bind(c)
      import
      type(c_ptr), intent(out) :: solver
      type(espalier_input), intent(in) :: input
      type(espalier_options), intent(in) :: options
    end function
    subroutine espalier_solver_destroy(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end subroutine
    integer(c_int) function espalier_solver_least(solver, in_core, out_of_core) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), intent(out) :: in_core, out_of_core
    end function
    integer(c_int) function espalier_solver_plan(solver, bound) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: bound
    end function
    integer(c_int) function espalier_solver_factorise(solver) bind(c)
      import
      type(c_ptr), value :: solver
    end function
    integer(c_int) function espalier_solver_factorise_values(solver, values, entries) &
        bind(c)
      import
      type(c_ptr), value :: solver
      real(c_double), intent(in) :: values(*)
      integer(c_int64_t), value :: entries
    end function
    ! x may not be b: for solving in place there is espalier_solver_solve().
    integer(c_int) function espalier_solver_solve_block(solver, transposed, columns, b, &
        ldb, x, ldx) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int32_t), value :: transposed, columns
      real(c_double), intent(in) :: b(*)
      integer(c_int64_t), value :: ldb, ldx
      real(c_double), intent(inout) :: x(*)
    end function
    integer(c_int) function espalier_solver_solve(solver, transposed, columns, vectors) &
        bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int32_t), value :: transposed, columns
      real(c_double), intent(inout) :: vectors(*)
    end function
    ! The same for complex matrices; 2 for the conjugated and transposed one.
    integer(c_int) function espalier_solver_solve_complex(solver, transposed, columns, &
        vectors) bind(c, name="espalier_solver_solve")
      import
      type(c_ptr), value :: solver
      integer(c_int32_t), value :: transposed, columns
      complex(c_double_complex), intent(inout) :: vectors(*)
    end function
    integer(c_int) function espalier_solver_factorise_complex_values(solver, values, &
        entries) bind(c, name="espalier_solver_factorise_values")
      import
      type(c_ptr), value :: solver
      complex(c_double_complex), intent(in) :: values(*)
      integer(c_int64_t), value :: entries
    end function
    ! The determinant is mantissa * 2**exponent.
    integer(c_int) function espalier_solver_read_determinant(solver, mantissa, exponent) &
        bind(c)
      import
      type(c_ptr), value :: solver
      real(c_double), intent(out) :: mantissa
      integer(c_int64_t), intent(out) :: exponent
    end function
    integer(c_int) function espalier_solver_read_schur(solver, block, leading) bind(c)
      import
      type(c_ptr), value :: solver
      real(c_double), intent(inout) :: block(*)
      integer(c_int64_t), value :: leading
    end function
    integer(c_int) function espalier_solver_read_null_space(solver, transposed, basis, &
        leading) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int32_t), value :: transposed
      real(c_double), intent(inout) :: basis(*)
      integer(c_int64_t), value :: leading
    end function
    ! Rows and columns from 0.
    integer(c_int) function espalier_solver_read_inverse(solver, count, rows, columns, &
        values) bind(c)
      import
      type(c_ptr), value :: solver
      integer(c_int64_t), value :: count
      integer(c_int32_t), intent(in) :: rows(*), columns(*)
      real(c_double), intent(inout) :: values(*)
    end function
    integer(c_int) function espalier_solver_read_statistics(solver, statistics) bind(c)
      import
      type(c_ptr), value :: solver
      type(espalier_statistics), intent(inout) :: statistics
    end function
    type(c_ptr) function espalier_solver_last_error() bind(c)
      import
    end function
    integer(c_int) function espalier_solver_parse_memory(text, bound) bind(c)
      import
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int64_t), intent(out) :: bound
    end function
    pure integer(c_size_t) function espalier_strlen(text) bind(c, name="strlen")
      import
      type(c_ptr), value, intent(in) :: text
    end function
  end interface

contains

  ! Options that are the defaults.
  type(espalier_options) function espalier_default_options() result(options)
    options%size = c_sizeof(options)
  end function

  ! A matrix by its entries, rows and columns from 1. The arrays must live until it has
  ! been analysed. Of arrays whose lengths do not agree `entries` is -1, which is refused; of
  ! sections with gaps, table(1, :), of which there would be a copy that is gone by then, -2.
  type(espalier_input) function espalier_triplets(order, rows, columns, values, symmetry) &
      result(input)
    integer, intent(in) :: order
    integer(c_int32_t), intent(in), target :: rows(:), columns(:)
    real(c_double), intent(in), target :: values(:)
    integer(c_int32_t), intent(in) :: symmetry
    input = espalier_pattern(order, rows, columns, symmetry)
    if (size(values) /= size(rows)) input%entries = -1
    if (.not. is_contiguous(values)) input%entries = -2
    input%values = c_loc(values)
  end function

  ! A matrix by elements: element e is of the variables variables(starts(e)), …,
  ! variables(starts(e + 1) - 1), its values column by column follow those of the one
  ! before; of a symmetric matrix those of the lower triangle. Of arrays that end too early
  ! `entries` is -1, which is refused.
  type(espalier_input) function espalier_elements(order, starts, variables, values, &
      symmetry) result(input)
    integer, intent(in) :: order
    integer(c_int32_t), intent(in), target :: starts(:), variables(:)
    real(c_double), intent(in), target :: values(:)
    integer(c_int32_t), intent(in) :: symmetry
    input%size = c_sizeof(input)
    input%order = order
    input%entries = size(starts, kind=c_int64_t) - 1
    if (input%entries > 0) then
      if (starts(size(starts)) - 1 > size(variables) .or. &
          espalier_element_values(starts, symmetry) > size(values, kind=c_int64_t)) &
        input%entries = -1
    end if
    if (.not. (is_contiguous(starts) .and. is_contiguous(variables) .and. &
        is_contiguous(values))) input%entries = -2
    input%format = ESPALIER_ELEMENTS_FORMAT
    input%symmetry = symmetry
    input%starts = c_loc(starts)
    input%rows = c_loc(variables)
    input%values = c_loc(values)
  end function

  ! How many values elements have.
  pure integer(c_int64_t) function espalier_element_values(starts, symmetry) result(needed)
    integer(c_int32_t), intent(in) :: starts(:), symmetry
    integer(c_int64_t) :: width
    integer :: e
    needed = 0
    do e = 1, size(starts) - 1
      width = max(starts(e + 1) - starts(e), 0)
      if (symmetry == ESPALIER_SYMMETRIC) then
        needed = needed + width * (width + 1) / 2
      else
        needed = needed + width * width
      end if
    end do
  end function

  ! As espalier_triplets(), of a complex matrix.
  type(espalier_input) function espalier_complex_triplets(order, rows, columns, values, &
      symmetry) result(input)
    integer, intent(in) :: order
    integer(c_int32_t), intent(in), target :: rows(:), columns(:)
    complex(c_double_complex), intent(in), target :: values(:)
    integer(c_int32_t), intent(in) :: symmetry
    input = espalier_pattern(order, rows, columns, symmetry)
    if (size(values) /= size(rows)) input%entries = -1
    if (.not. is_contiguous(values)) input%entries = -2
    input%values = c_loc(values)
    input%scalar = ESPALIER_COMPLEX
  end function

  ! Without its values.
  type(espalier_input) function espalier_pattern(order, rows, columns, symmetry) result(input)
    integer, intent(in) :: order
    integer(c_int32_t), intent(in), target :: rows(:), columns(:)
    integer(c_int32_t), intent(in) :: symmetry
    input%size = c_sizeof(input)
    input%order = order
    input%entries = size(rows, kind=c_int64_t)
    if (size(columns) /= size(rows)) input%entries = -1
    if (.not. (is_contiguous(rows) .and. is_contiguous(columns))) input%entries = -2
    input%format = ESPALIER_TRIPLETS_FORMAT
    input%symmetry = symmetry
    input%rows = c_loc(rows)
    input%columns = c_loc(columns)
  end function

  ! What is known of a factorisation and of the last solve.
  type(espalier_statistics) function espalier_read_statistics(solver) result(statistics)
    type(c_ptr), intent(in) :: solver
    statistics%size = c_sizeof(statistics)
    call espalier_check(espalier_solver_read_statistics(solver, statistics))
  end function

  ! Why the last call of this thread failed.
  function espalier_last_error() result(text)
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    type(c_ptr) :: at
    integer :: k
    at = espalier_solver_last_error()
    call c_f_pointer(at, letters, [espalier_strlen(at)])
    allocate (character(len=size(letters)) :: text)
    do k = 1, size(letters)
      text(k:k) = letters(k)
    end do
  end function

  ! Ends the program where a status is an error.
  subroutine espalier_check(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    print '(2a)', "espalier: ", espalier_last_error()
    error stop 1
  end subroutine
end module
