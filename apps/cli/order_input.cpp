#include "cli/order_input.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <vector>

#include "cli/naming.h"
#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/remedy.h"
#include "espalier/io/graph_io.h"
#include "espalier/model/error.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/training/transformer.h"
#ifdef ESPALIER_WITH_ONNX
#include "espalier/io/onnx/onnx_module.h"
#include "espalier/machine/load_module.h"
#endif

namespace espalier::cli {
namespace {

// "batch=8"; the name may hold an '=' itself.
void add_dimension(GraphSource& source, const std::string& text) {
  const std::size_t equals = text.rfind('=');
  std::int64_t value = -1;
  const char* end = text.data() + text.size();
  if (equals != std::string::npos && equals > 0) {
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, value);
    if (error != std::errc() || stop != end) value = -1;
  }
  if (value < 0)
    throw CLI::ValidationError(
        "--dim", fmt::format("'{}' is not NAME=N with N from 0 to 2^63 - 1", text));
  const std::string name = text.substr(0, equals);
  if (!source.dimensions.emplace(name, value).second)
    throw CLI::ValidationError("--dim", fmt::format("'{}' is given twice", name));
}

std::string ending(const std::string& path) {
  std::string text = std::filesystem::path(path).extension().string();
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

OperatorGraph read_onnx(const GraphSource& source) {
#ifdef ESPALIER_WITH_ONNX
  const auto& module = module_table<OnnxModule>("libespalier_onnx.so", "ONNX models",
                                                "espalier_onnx_module");
  return module.read(source.file, {.batch = source.batch,
                                   .dimensions = source.dimensions,
                                   .keep_weights = !source.free_weights});
#else
  throw FileError(source.file, 0, "this program was built without ONNX (libonnx-dev)");
#endif
}

}  // namespace

void add_model(CLI::App& app, GraphSource& source, const std::string& place,
               const std::string& help) {
  app.add_option(place, source.file, help);
  app.add_option("--transformer", source.transformer,
                 "Instead of a file: gpt2, gpt2-medium, gpt2-large, gpt2-xl, tiny,\n"
                 "or layers=6,width=512,heads=8,sequence=128,vocabulary=1000,\n"
                 "dropout=0.1")
      ->type_name("SHAPE");
  whole(app.add_option("--batch", source.batch,
                       "First extent of the inputs of an ONNX model, whatever it says;\n"
                       "of a transformer")
            ->type_name("N"),
        1);
  app.add_option_function<std::vector<std::string>>(
         "--dim",
         [&source](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) add_dimension(source, text);
         },
         "Value of a dimension that an ONNX model leaves open, by its\n"
         "name or by TENSOR:AXIS; may be given several times")
      ->type_name("NAME=N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

void add_graph(CLI::App& app, GraphSource& source) {
  add_model(app, source, "GRAPH",
            "Computation graph: an ONNX model (.onnx), JSON (.json) or DOT\n"
            "(.dot, .gv) with sizes; docs/manual/planning.md has the formats");
  app.add_flag("--free-weights", source.free_weights,
               "Free each weight of an ONNX model after its last use,\n"
               "instead of keeping all for the next run");
}

std::string title(const GraphSource& source) {
  return source.transformer.empty() ? source.file : source.transformer;
}

bool is_model(const GraphSource& source) {
  return !source.transformer.empty() || ending(source.file) == ".onnx";
}

namespace {

// Options of ONNX models with something else.
void check_onnx_options(const GraphSource& source) {
  if (source.transformer.empty() && is_model(source)) return;
  std::vector<std::string> given;
  if (source.batch && source.transformer.empty()) given.emplace_back("--batch");
  if (!source.dimensions.empty()) given.emplace_back("--dim");
  if (source.free_weights) given.emplace_back("--free-weights");
  refuse_options(given, "only for ONNX models", title(source) + ": ");
}

}  // namespace

void check(const GraphSource& source) {
  if (!source.transformer.empty() && !source.file.empty())
    throw Refused(
        "--transformer is for no file; there is " + source.file,
        drop_option(std::filesystem::exists(source.file) ? "--transformer" : "GRAPH"));
  if (!source.transformer.empty())
    refusing(set_option("--transformer", "tiny"),
             [&] { (void)transformer_shape(source.transformer); });
  else if (source.file.empty())
    throw Refused("GRAPH is required", set_option("--transformer", "tiny"));
  check_onnx_options(source);
}

OperatorGraph read_model(const GraphSource& source) {
  if (!source.transformer.empty()) {
    TransformerShape shape = transformer_shape(source.transformer);
    shape.batch = source.batch.value_or(1);
    return transformer(shape);
  }
  if (!is_model(source))
    throw FileError(source.file, 0, "is no ONNX model, whose operators are known");
  return read_onnx(source);
}

TaskGraph read_graph(const GraphSource& source) {
  if (is_model(source)) {
    const OperatorGraph model = read_model(source);
    return naming<Error>(title(source), [&] { return task_graph_of(model).graph; });
  }
  const std::string format = ending(source.file);
  const bool json = format == ".json";
  if (!json && format != ".dot" && format != ".gv")
    throw FileError(source.file, 0,
                    "ends in none of .onnx, .json, .dot and .gv, which tell the format");
  return json ? read_graph_json(source.file) : read_graph_dot(source.file);
}

}  // namespace espalier::cli
