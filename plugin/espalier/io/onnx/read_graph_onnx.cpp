#include "espalier/io/onnx/read_graph_onnx.h"

#include <istream>

#include "espalier/io/onnx/read_operator_graph.h"
#include "espalier/io/text_file.h"
#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"

namespace espalier {

TaskGraph read_graph_onnx(std::istream& in, const std::string& name,
                          const OnnxOptions& options) {
  const OperatorGraph graph = read_operator_graph(in, name, options);
  try {
    return task_graph_of(graph).graph;
  } catch (const Error& error) {
    throw FileError(name, 0, error.what());
  }
}

TaskGraph read_graph_onnx(const std::string& path, const OnnxOptions& options) {
  TaskGraph graph;
  read_file(path, [&](std::istream& in) { graph = read_graph_onnx(in, path, options); });
  return graph;
}

}  // namespace espalier
