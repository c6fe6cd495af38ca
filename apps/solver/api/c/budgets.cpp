// The C interface: bounds that several solvers share.

#include "espalier/machine/memory_limits.h"
#include "solver/api/c/handle.h"

using namespace espalier;
using namespace espalier::solver;
using namespace espalier::solver::c_api;

int espalier_solver_budget_create(espalier_solver_budget** budget, int64_t bytes) {
  return guarded([&] {
    need(budget, "budget") = nullptr;
    if (bytes == ESPALIER_SOLVER_MEMORY_AUTO) bytes = memory_room().bytes;
    *budget = new espalier_solver_budget{Budget::create(bytes)};
    return 0;
  });
}

void espalier_solver_budget_destroy(espalier_solver_budget* budget) { delete budget; }

int espalier_solver_budget_read(const espalier_solver_budget* budget, int64_t* bytes,
                                int64_t* leased, int64_t* left) {
  return guarded([&] {
    const Budget& inner = *need(budget, "budget").budget;
    if (bytes != nullptr) *bytes = inner.bytes();
    if (leased != nullptr) *leased = inner.leased();
    if (left != nullptr) *left = inner.left();
    return 0;
  });
}
