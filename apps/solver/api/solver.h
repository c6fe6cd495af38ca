#pragma once

// The Solver, and the types behind it that it shows to the program and to tests.

#include "espalier/solver/solver.h"
#include "solver/distributed/channel.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/general_matrix.h"
#include "solver/memory/budget.h"
#include "solver/memory/memory_account.h"
#include "solver/memory/spill_file.h"
#include "solver/runtime/runtime.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"
#include "solver/tree/assembly_tree.h"
