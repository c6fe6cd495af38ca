#include "cli/plan_input.h"

#include <strings.h>

#include <istream>
#include <streambuf>
#include <string_view>
#include <utility>

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

// The blocks of a reader as a stream.
class BlockBuffer : public std::streambuf {
 public:
  explicit BlockBuffer(solver::TextReader& text) : text_(text) {}

 protected:
  int_type underflow() override {
    const std::string_view block = text_.next_block();
    if (block.empty()) return traits_type::eof();
    char* const first = const_cast<char*>(block.data());  // a get area is not written to
    setg(first, first, first + block.size());
    return traits_type::to_int_type(*first);
  }

 private:
  solver::TextReader& text_;
};

TreeFile read_tree(solver::TextReader& text) {
  BlockBuffer buffer(text);
  std::istream in(&buffer);
  in.exceptions(std::ios::badbit);  // rethrows what the buffer throws
  return espalier::read_tree(in, text.path());
}

}  // namespace

PlanInput read_plan_input(const MatrixSource& source, const AssemblyRequest& request) {
  if (!source.grid.empty() || solver::is_rutherford_boeing(source.file))
    return assembly_input(read_input(source, request.kind), request);
  // Opened once: of a pipe nothing can be read again.
  solver::TextReader text(source.file);
  if (is_matrix_market(text))
    return assembly_input(read_input(source, std::move(text), request.kind), request);
  TreeFile file = read_tree(text);
  return {std::make_shared<const TaskTree>(std::move(file.tree)),
          {},
          std::move(file.ids),
          std::nullopt};
}

}  // namespace espalier::cli
