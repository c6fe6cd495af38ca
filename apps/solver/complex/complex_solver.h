#pragma once

// As solver/api/solver.h.

#include "espalier/solver/complex_solver.h"
#include "solver/api/solver.h"
