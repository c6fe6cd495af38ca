#include "cli/plan_input.h"

#include <strings.h>

#include <string_view>
#include <utility>

#include "cli/text_stream.h"
#include "espalier/io/tree_io.h"
#include "solver/io/rutherford_boeing.h"
#include "solver/io/text_reader.h"
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
      analysis.symbolic,
      {.kind = kind, .workers = request.workers, .processes = request.processes});
  return {std::make_shared<const TaskTree>(std::move(assembly.tasks)),
          std::move(assembly.max_workers),
          {},
          MatrixFacts{analysis.symbolic.size, kind, analysis.seconds.ordering_taken}};
}

bool is_matrix_market(solver::TextReader& text) {
  constexpr std::string_view kBanner = "%%MatrixMarket";
  const std::string_view head = text.beginning().substr(0, kBanner.size());
  return head.size() == kBanner.size() &&
         strncasecmp(head.data(), kBanner.data(), kBanner.size()) == 0;
}

}  // namespace

PlanInput read_plan_input(const MatrixSource& source, const AssemblyRequest& request) {
  if (!source.grid.empty() || solver::is_rutherford_boeing(source.file))
    return assembly_input(read_input(source, request.kind), request);
  // Opened once: of a pipe nothing can be read again.
  solver::TextReader text(source.file);
  if (is_matrix_market(text))
    return assembly_input(read_input(source, std::move(text), request.kind), request);
  TextStream in(text);
  TreeFile file = read_tree(in, text.path());
  return {std::make_shared<const TaskTree>(std::move(file.tree)),
          {},
          std::move(file.ids),
          std::nullopt};
}

}  // namespace espalier::cli
