#include "cli/plan_input.h"

#include <strings.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/tree_io.h"
#include "solver/analyse.h"
#include "solver/assembly_tree.h"
#include "solver/grid.h"
#include "solver/matrix_market.h"

namespace espalier::cli {
namespace {

PlanInput assembly_input(const solver::SymmetricMatrix& matrix,
                         solver::OrderingKind ordering, std::int32_t workers) {
  const solver::Symbolic symbolic =
      solver::analyse_pattern(matrix, {.ordering = ordering, .amalgamation = {}});
  solver::AssemblyTree assembly =
      solver::build_assembly_tree(symbolic, {.workers = workers});
  return {std::make_shared<const TaskTree>(std::move(assembly.tasks)),
          std::move(assembly.max_workers),
          {}};
}

bool is_matrix(const std::string& path) {
  constexpr std::string_view kBanner = "%%MatrixMarket";
  std::ifstream file(path, std::ios::binary);
  char head[kBanner.size()] = {};
  file.read(head, sizeof head);
  return std::memcmp(head, "\x1f\x8b", 2) == 0 ||  // gzip
         strncasecmp(head, kBanner.data(), kBanner.size()) == 0;
}

}  // namespace

PlanInput read_plan_input(const std::string& path, solver::OrderingKind ordering,
                          std::int32_t workers) {
  if (is_matrix(path)) {
    return assembly_input(solver::read_matrix_market(path), ordering, workers);
  }
  TreeFile file = read_tree(path);
  return {
      std::make_shared<const TaskTree>(std::move(file.tree)), {}, std::move(file.ids)};
}

PlanInput grid_plan_input(const std::string& grid, solver::OrderingKind ordering,
                          std::int32_t workers) {
  return assembly_input(solver::make_grid(solver::parse_grid(grid)), ordering, workers);
}

}  // namespace espalier::cli
