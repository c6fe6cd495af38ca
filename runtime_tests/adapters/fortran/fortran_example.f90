! A saddle point of order 5 by triplets: solved, its inertia, other values, an error.
program fortran_example
  use espalier
  implicit none
  integer, parameter :: n = 5
  integer(c_int32_t) :: rows(7) = [1, 2, 3, 4, 4, 5, 5], columns(7) = [1, 2, 3, 1, 2, 2, 3]
  real(c_double) :: values(7) = [4, 5, 6, 1, 1, 1, -1], x(n), b(n, 2), y(n, 2)
  type(espalier_statistics) :: facts
  type(c_ptr) :: solver
  character(len=:), allocatable :: text
  integer :: failures = 0, status

  call espalier_check(espalier_solver_analyse(solver, &
    espalier_triplets(n, rows, columns, values, ESPALIER_SYMMETRIC), &
    espalier_default_options()))
  call espalier_check(espalier_solver_plan(solver, ESPALIER_MEMORY_LEAST))
  call espalier_check(espalier_solver_factorise(solver))
  x = [1, 2, 3, 4, 5]
  x = times(x)
  call espalier_check(espalier_solver_solve(solver, 0, 1, x))
  call expect(maxval(abs(x - [1, 2, 3, 4, 5])) < 1e-13, "one right-hand side, in place")
  facts = espalier_read_statistics(solver)
  call expect(facts%negative_pivots == 2 .and. facts%rank == n, "inertia and rank")

  values(1:3) = [7, 8, 9]
  call espalier_check(espalier_solver_factorise_values(solver, values, 7_c_int64_t))
  b(:, 1) = times([1d0, 1d0, 1d0, 1d0, 1d0])
  b(:, 2) = times([5d0, 4d0, 3d0, 2d0, 1d0])
  call espalier_check(espalier_solver_solve_block(solver, 0, 2, b, 5_c_int64_t, y, &
    5_c_int64_t))
  call expect(maxval(abs(y(:, 1) - 1)) < 1e-13 .and. &
    maxval(abs(y(:, 2) - [5, 4, 3, 2, 1])) < 1e-13, "other values, two right-hand sides")
  status = espalier_solver_plan(solver, 1_c_int64_t)
  text = espalier_last_error()
  call expect(status /= 0 .and. index(text, "suffices") > 0, "a bound that is too small")
  call espalier_solver_destroy(solver)
  call solve_elements()
  call solve_complex()
  call refuse_lengths()
  call refuse_sections()
  if (failures > 0) error stop 1

contains

  ! Springs between 1 and 2, 2 and 3, and one that holds 1: [2 -1 0; -1 2 -1; 0 -1 1], whose
  ! inverse is [1 1 1; 1 2 2; 1 2 3].
  subroutine solve_elements()
    real(c_double) :: springs(7) = [1, -1, 1, 1, -1, 1, 1], force(3) = [0, 0, 1]
    real(c_double) :: mantissa, entries(2)
    integer(c_int64_t) :: exponent
    type(c_ptr) :: held
    call espalier_check(espalier_solver_analyse(held, espalier_elements(3, [1, 3, 5, 6], &
      [1, 2, 2, 3, 1], springs, ESPALIER_SYMMETRIC), espalier_default_options()))
    call espalier_check(espalier_solver_plan(held, ESPALIER_UNBOUNDED))
    call espalier_check(espalier_solver_factorise(held))
    call espalier_check(espalier_solver_solve(held, 0, 1, force))
    call expect(maxval(abs(force - [1, 2, 3])) < 1e-13, "elements")
    call espalier_check(espalier_solver_read_determinant(held, mantissa, exponent))
    call expect(abs(scale(mantissa, int(exponent)) - 1) < 1e-13, "the determinant")
    call espalier_check(espalier_solver_read_inverse(held, 2_c_int64_t, [1, 0], [2, 0], &
      entries))
    call expect(maxval(abs(entries - [2, 1])) < 1e-13, "entries of the inverse")
    call espalier_solver_destroy(held)
  end subroutine

  ! Arrays whose lengths do not agree are not read beyond their ends.
  subroutine refuse_lengths()
    type(c_ptr) :: none
    real(c_double) :: two(2) = [1, 2]
    call expect(espalier_solver_analyse(none, espalier_triplets(3, [1, 2, 3], [1, 2, 3], &
      two, ESPALIER_GENERAL), espalier_default_options()) /= 0, "values of other length")
    text = espalier_last_error()
    call expect(index(text, "entries is -1") > 0, "what is wrong with lengths")
    call expect(espalier_solver_analyse(none, espalier_pattern(3, [1, 2, 3], [1, 2], &
      ESPALIER_GENERAL), espalier_default_options()) /= 0, "columns of other length")
    call expect(espalier_solver_analyse(none, espalier_elements(3, [1, 3, 6], [1, 2, 3], &
      two, ESPALIER_SYMMETRIC), espalier_default_options()) /= 0, "elements beyond")
    call expect(espalier_solver_analyse(none, espalier_elements(2, [1, 3], [1, 2], two, &
      ESPALIER_SYMMETRIC), espalier_default_options()) /= 0, "values of elements too few")
  end subroutine

  ! Fortran would hand over a copy of a section with gaps, which is gone before it is read.
  subroutine refuse_sections()
    type(c_ptr) :: none
    integer(c_int32_t), target :: table(2, 2) = reshape([1, 1, 2, 2], [2, 2])
    real(c_double) :: two(2) = [1, 2], four(4) = [1, 1, 2, 2]
    call expect(espalier_solver_analyse(none, espalier_triplets(2, table(1, :), &
      table(2, :), two, ESPALIER_GENERAL), espalier_default_options()) /= 0, "sections")
    text = espalier_last_error()
    call expect(index(text, "entries is -2") > 0, "what is wrong with sections")
    call expect(espalier_solver_analyse(none, espalier_triplets(2, [1, 2], [1, 2], &
      four(1:4:2), ESPALIER_GENERAL), espalier_default_options()) /= 0, "values with gaps")
    call expect(espalier_solver_analyse(none, espalier_elements(2, [1, 2, 3], [1, 2], &
      four(1:4:2), ESPALIER_GENERAL), espalier_default_options()) /= 0, "elements' values")
    call espalier_check(espalier_solver_analyse(none, espalier_triplets(2, table(:, 1), &
      table(:, 2), four(2:3), ESPALIER_GENERAL), espalier_default_options()))
    call espalier_solver_destroy(none)
  end subroutine

  ! [2 1+i; 1-i 3] x = b, Hermitian, of which the upper triangle is given.
  subroutine solve_complex()
    complex(c_double_complex) :: upper(3), z(2)
    type(c_ptr) :: hermitian
    upper = [(2d0, 0d0), (1d0, 1d0), (3d0, 0d0)]
    ! Of x = (1, i).
    z = [(2d0, 0d0) + (1d0, 1d0) * (0d0, 1d0), (1d0, -1d0) + (3d0, 0d0) * (0d0, 1d0)]
    call espalier_check(espalier_solver_analyse(hermitian, &
      espalier_complex_triplets(2, [1, 1, 2], [1, 2, 2], upper, ESPALIER_HERMITIAN), &
      espalier_default_options()))
    call espalier_check(espalier_solver_plan(hermitian, ESPALIER_UNBOUNDED))
    call espalier_check(espalier_solver_factorise(hermitian))
    call espalier_check(espalier_solver_solve_complex(hermitian, 0, 1, z))
    call expect(maxval(abs(z - [(1d0, 0d0), (0d0, 1d0)])) < 1e-14, "complex numbers")
    upper = 2 * upper
    call espalier_check(espalier_solver_factorise_complex_values(hermitian, upper, &
      3_c_int64_t))
    call espalier_check(espalier_solver_solve_complex(hermitian, 2, 1, z))
    call espalier_solver_destroy(hermitian)
  end subroutine

  function times(v) result(product)
    real(c_double), intent(in) :: v(n)
    real(c_double) :: product(n)
    integer :: k
    product = 0
    do k = 1, size(values)
      product(rows(k)) = product(rows(k)) + values(k) * v(columns(k))
      if (rows(k) /= columns(k)) &
        product(columns(k)) = product(columns(k)) + values(k) * v(rows(k))
    end do
  end function

  subroutine expect(right, what)
    logical, intent(in) :: right
    character(len=*), intent(in) :: what
    print '(3a)', what, ": ", trim(merge("ok   ", "WRONG", right))
    if (.not. right) failures = failures + 1
  end subroutine
end program
