#include "cli/plan_input.h"

#include <strings.h>

#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "espalier/io/tree_io.h"
#include "espalier/model/error.h"
#include "solver/io/rutherford_boeing.h"
#include "solver/matrix/kind_of.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::cli {
namespace {

PlanInput assembly_input(solver::InputMatrix&& matrix, const AssemblyRequest& request) {
  const solver::FactorKind kind = request.kind ? *request.kind : solver::kind_of(matrix);
  const solver::Analysis analysis =
      solver::analyse(solver::prepare(std::move(matrix), kind),
                      {.ordering = request.ordering, .amalgamation = {}});
  solver::AssemblyTree assembly = solver::build_assembly_tree(
      analysis.symbolic, {.kind = kind, .workers = request.workers});
  return {std::make_shared<const TaskTree>(std::move(assembly.tasks)),
          std::move(assembly.max_workers),
          {},
          MatrixFacts{analysis.symbolic.size, kind, analysis.seconds.ordering_taken}};
}

bool is_matrix(const std::string& path) {
  constexpr std::string_view kBanner = "%%MatrixMarket";
  std::ifstream file(path, std::ios::binary);
  char head[kBanner.size()] = {};
  file.read(head, sizeof head);
  return std::memcmp(head, "\x1f\x8b", 2) == 0 ||  // gzip
         strncasecmp(head, kBanner.data(), kBanner.size()) == 0 ||
         solver::is_rutherford_boeing(path);
}

}  // namespace

PlanInput read_plan_input(const MatrixSource& source, const AssemblyRequest& request) {
  if (!source.grid.empty() || is_matrix(source.file))
    return assembly_input(read_input(source, request.kind), request);
  TreeFile file = read_tree(source.file);
  return {std::make_shared<const TaskTree>(std::move(file.tree)),
          {},
          std::move(file.ids),
          std::nullopt};
}

}  // namespace espalier::cli
