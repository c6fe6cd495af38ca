#include "cli/train_input.h"

#include <fmt/format.h>

#include <ostream>

#include "cli/remedy.h"
#include "espalier/io/text_file.h"
#include "espalier/training/fold_constants.h"
#include "training/step/mlp.h"

namespace espalier::cli {

namespace {

// Of several sources the first.
Remedy one_network(const TrainCommand& command) {
  if (!command.source.file.empty())
    return {
        .edits = {{Edit::Kind::kDrop, "--transformer"}, {Edit::Kind::kDrop, "--mlp"}}};
  return command.mlp.empty() ? set_option("--mlp", "64x64x10") : drop_option("--mlp");
}

}  // namespace

void check_network(const TrainCommand& command) {
  const bool file = !command.source.file.empty();
  const bool transformer = !command.source.transformer.empty();
  if (file + transformer + !command.mlp.empty() != 1)
    throw Refused("one of a MODEL.onnx, --transformer and --mlp is required",
                  one_network(command));
  if (command.mlp.empty()) return check(command.source);
  refusing(set_option("--mlp", "784x256x10"),
           [&] { (void)training::mlp_widths(command.mlp); });
}

OperatorGraph read_network(const TrainCommand& command) {
  if (!command.mlp.empty())
    return training::mlp(training::mlp_widths(command.mlp),
                         command.source.batch.value_or(32));
  return fold_constants(read_model(command.source));
}

std::string network_title(const TrainCommand& command) {
  return command.mlp.empty() ? title(command.source) : "mlp " + command.mlp;
}

void write_losses(const std::string& path, const std::vector<float>& losses) {
  write_file(path, [&](std::ostream& out) {
    for (const float loss : losses) out << fmt::format("{}\n", loss);
  });
}

}  // namespace espalier::cli
