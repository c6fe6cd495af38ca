#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/name_table.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// What a file has said of a graph so far and on which lines, in any order: a name may be
/// used before its size is known. build_graph() makes the graph of it.
class GraphDraft {
 public:
  static constexpr Bytes kUnknown = -1;

  struct Datum {
    Bytes size = kUnknown;
    std::int64_t line = 0;  // that named it first; then that gave its size
    bool kept = false;
  };
  struct Operator {
    Bytes workspace = 0;
    Flops work = 0;
    std::int64_t line = 0;
  };
  struct Write {
    TaskId task;
    DatumId datum;
    std::int64_t line = 0;
  };
  struct Read {
    TaskId task;
    DatumId datum;
  };

  /// The datum of that name, a new one if it was not named before. The name is not empty.
  DatumId datum(std::string_view name, std::int64_t line);
  /// A new operator; an empty name: unnamed. False when another one has that name.
  [[nodiscard]] bool add_operator(std::string_view name, const Operator& task);

  [[nodiscard]] std::string_view name(DatumId id) const {
    return data_names_.name(index(id));
  }
  [[nodiscard]] std::string_view name(TaskId id) const {
    return task_names_.name(index(id));
  }
  /// The line of the operator of that name, which there is.
  [[nodiscard]] std::int64_t line_of_operator(std::string_view name) const;

  std::vector<Datum> data;
  std::vector<Operator> operators;
  std::vector<Read> reads;
  std::vector<Write> writes;

 private:
  NameTable data_names_, task_names_;
};

/// The graph, its items numbered as in the draft. `file` is for messages.
/// @throws FileError naming the line for a datum whose size was not given, one with two
///         producers, a sum of sizes that leaves the 64-bit range, one of work above
///         1e250, a cycle; without a line when there is no operator
[[nodiscard]] TaskGraph build_graph(const GraphDraft& draft, const std::string& file);

}  // namespace espalier
