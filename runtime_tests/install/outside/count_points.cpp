#include <cstdio>

#include "solver/matrix/grid.h"
#include "solver/symbolic/analyse.h"

int main() {
  const auto matrix = espalier::solver::make_grid({.nx = 4, .ny = 3});
  std::printf("%d points, %d columns of the factor\n", matrix.size,
              espalier::solver::analyse_pattern(matrix).size);
}
