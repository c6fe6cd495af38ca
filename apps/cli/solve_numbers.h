#pragma once

// What differs in the steps of `espalier solve` on several processes where numbers are
// real and where they are complex.

#include <memory>
#include <vector>

#include "cli/solve_complex.h"
#include "cli/solve_steps.h"
#include "solver/io/vector_io.h"

namespace espalier::cli {

struct RealNumbers {
  using Matrix = solver::InputMatrix;
  using Solver = solver::Solver;
  using Vectors = cli::Vectors;

  static solver::Solver& factoring(Solver& solver) { return solver; }
  static std::int64_t entries(const Matrix& matrix) { return entries_of(matrix); }
  static std::int32_t order(const Matrix& matrix) { return solver::order_of(matrix); }
  static Vectors right_hand_sides(const SolveOptions& options, std::int32_t size) {
    return cli::right_hand_sides(options, size);
  }
  static void tell_determinant(const Solver& solver, SolveRun& run) {
    run.determinant = solver.determinant();
  }
  static std::vector<double> null_space(Solver& solver) {
    return solver.null_space_basis();
  }
  static void write(const std::string& path, const std::vector<double>& values,
                    std::int32_t rows) {
    solver::write_vectors(path, values, rows);
  }
};

struct ComplexNumbers {
  using Matrix = solver::ComplexMatrix;
  using Solver = solver::ComplexSolver;
  using Vectors = ComplexVectors;

  static solver::Solver& factoring(Solver& solver) { return solver.solver(); }
  static std::int64_t entries(const Matrix& matrix) { return std::ssize(matrix.row); }
  static std::int32_t order(const Matrix& matrix) { return matrix.size; }
  static Vectors right_hand_sides(const SolveOptions& options, std::int32_t size) {
    return complex_right_hand_sides(options, size);
  }
  static void tell_determinant(const Solver& solver, SolveRun& run) {
    run.complex_determinant = solver.determinant();
  }
  static std::vector<solver::Complex> null_space(Solver& solver) {
    return cli::null_space(solver);
  }
  static void write(const std::string& path, const std::vector<solver::Complex>& values,
                    std::int32_t rows) {
    solver::write_complex_vectors(path, values, rows);
  }
};

}  // namespace espalier::cli
