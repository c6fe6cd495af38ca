#pragma once

// What libespalier_solver.so shows of its C++ interface; all else is hidden. Versions of
// symbols: apps/solver/api/c/espalier_solver.map.
#define ESPALIER_SOLVER_EXPORT __attribute__((visibility("default")))
