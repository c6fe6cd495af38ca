#include "espalier/io/graph_draft.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/io/text_input.h"
#include "espalier/model/error.h"
#include "espalier/model/graph_builder.h"
#include "espalier/model/work_sum.h"

namespace espalier {
namespace {

constexpr const char* kSumTooLarge = "the sum of all sizes leaves the 64-bit range";

void add_data(TaskGraphBuilder& builder, const GraphDraft& draft,
              const std::string& file) {
  for (std::size_t d = 0; d < draft.data.size(); ++d) {
    const GraphDraft::Datum& datum = draft.data[d];
    const std::string_view name = draft.name(datum_id(d));
    if (datum.size == GraphDraft::kUnknown) {
      throw FileError(
          file, datum.line,
          fmt::format("tensor {} is used, but not among the tensors", excerpt(name)));
    }
    try {
      const DatumId added = builder.add_datum(name, datum.size);
      if (datum.kept) builder.keep(added);
    } catch (const OverflowError&) {
      throw FileError(file, datum.line, kSumTooLarge);
    }
  }
}

void add_operators(TaskGraphBuilder& builder, const GraphDraft& draft,
                   const std::string& file) {
  Flops work = 0;
  for (std::size_t i = 0; i < draft.operators.size(); ++i) {
    const GraphDraft::Operator& task = draft.operators[i];
    try {
      work = add_work(work, task.work);
    } catch (const OverflowError& error) {
      throw FileError(file, task.line, error.what());
    }
    try {
      (void)builder.add_task(draft.name(task_id(i)), task.workspace, task.work);
    } catch (const OverflowError&) {
      throw FileError(file, task.line, kSumTooLarge);
    }
  }
  for (const GraphDraft::Read& read : draft.reads) builder.reads(read.task, read.datum);
  for (const GraphDraft::Write& write : draft.writes) {
    try {
      builder.writes(write.task, write.datum);
    } catch (const InvalidInput& error) {
      throw FileError(file, write.line, error.what());
    }
  }
}

}  // namespace

DatumId GraphDraft::datum(std::string_view name, std::int64_t line) {
  if (const auto known = data_names_.find(name)) return datum_id(*known);
  (void)data_names_.add(name);
  data.push_back({.size = kUnknown, .line = line, .kept = false});
  return datum_id(data.size() - 1);
}

bool GraphDraft::add_operator(std::string_view name, const Operator& task) {
  if (!task_names_.add(name)) return false;
  operators.push_back(task);
  return true;
}

std::int64_t GraphDraft::line_of_operator(std::string_view name) const {
  return operators[task_names_.find(name).value()].line;
}

TaskGraph build_graph(const GraphDraft& draft, const std::string& file) {
  if (draft.operators.empty()) throw FileError(file, 0, "holds no operator");
  TaskGraphBuilder builder;
  add_data(builder, draft, file);
  add_operators(builder, draft, file);
  try {
    return std::move(builder).build();
  } catch (const CycleError& error) {
    throw FileError(file, draft.operators[index(error.task())].line, error.what());
  }
}

}  // namespace espalier
