#include "cli/train_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "cli/naming.h"
#include "cli/output.h"
#include "cli/remedy.h"
#include "espalier/io/text_file.h"
#include "espalier/training/choose_trained.h"
#include "espalier/training/fold_constants.h"
#include "training/step/mlp.h"

namespace espalier::cli {

namespace {

// Of several sources the first.
Remedy one_network(const TrainCommand& command) {
  if (!command.source.file.empty())
    return drop_option("--transformer") + drop_option("--mlp");
  return command.mlp.empty() ? set_option("--mlp", "64x64x10") : drop_option("--mlp");
}

}  // namespace

void check_network(const TrainCommand& command) {
  const bool file = !command.source.file.empty();
  const bool transformer = !command.source.transformer.empty();
  if (file + transformer + !command.mlp.empty() != 1)
    throw Refused("one of a MODEL.onnx, --transformer and --mlp is required",
                  one_network(command));
  if (!file)
    for (const auto& [option, names] : {std::pair{"--trained", &command.trained},
                                        std::pair{"--frozen", &command.frozen}})
      if (!names->empty())
        throw Refused(fmt::format("{} {}: is for initializers of a MODEL.onnx", option,
                                  names->front()),
                      drop_option(option));
  if (command.mlp.empty()) return check(command.source);
  if (!command.source.dimensions.empty())
    throw Refused("--dim: is for a MODEL.onnx", drop_option("--dim"));
  refusing(set_option("--mlp", "784x256x10"),
           [&] { (void)training::mlp_widths(command.mlp); });
}

OperatorGraph read_network(const TrainCommand& command) {
  if (!command.mlp.empty())
    return training::mlp(training::mlp_widths(command.mlp),
                         command.source.batch.value_or(32));
  const OperatorGraph model = read_model(command.source);
  if (command.trained.empty() && command.frozen.empty()) return fold_constants(model);
  return naming<InvalidInput>(command.source.file, [&] {
    return fold_constants(choose_trained(model, command.trained, command.frozen));
  });
}

std::vector<std::string> not_trained(const OperatorGraph& model) {
  std::vector<std::string> names;
  for (const TensorId id : left_alone(model)) names.push_back(model.tensor(id).name);
  return names;
}

void warn_of_not_trained(const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::string some;
  for (std::size_t i = 0; i < std::min<std::size_t>(names.size(), 4); ++i)
    some += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (names.size() > 4) some += fmt::format(" and {} more", names.size() - 4);
  note(
      fmt::format("initializers that are scalars or exponents are not trained: {} "
                  "(--trained NAME: a scalar is; --frozen NAME: it is meant so)",
                  some));
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
