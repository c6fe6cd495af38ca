#include "training/step/mlp.h"

#include <fmt/format.h>

#include <charconv>

#include "espalier/model/error.h"

namespace espalier::training {

std::vector<std::int64_t> mlp_widths(std::string_view text) {
  std::vector<std::int64_t> widths;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    std::int64_t width = 0;
    const auto [behind, status] = std::from_chars(at, end, width);
    if (status != std::errc() || width < 1 || (behind != end && *behind != 'x'))
      throw InvalidInput(fmt::format("'{}' is no list of widths as 784x256x10", text));
    widths.push_back(width);
    more = behind != end;
    at = more ? behind + 1 : end;
  }
  if (widths.size() < 2)
    throw InvalidInput(fmt::format("'{}': at least two widths, as 784x10", text));
  return widths;
}

OperatorGraph mlp(const std::vector<std::int64_t>& widths, std::int64_t batch) {
  OperatorGraphBuilder builder;
  TensorId x = builder.add_tensor(
      {.name = "x", .shape = {batch, widths.at(0)}, .role = TensorRole::kInput});
  for (std::size_t i = 1; i < widths.size(); ++i) {
    const TensorId w = builder.add_tensor({.name = fmt::format("w{}", i),
                                           .shape = {widths[i - 1], widths[i]},
                                           .role = TensorRole::kParameter,
                                           .kept = true});
    const TensorId b = builder.add_tensor({.name = fmt::format("b{}", i),
                                           .shape = {widths[i]},
                                           .role = TensorRole::kParameter,
                                           .kept = true});
    const TensorId sum = builder.add_tensor(
        {.name = fmt::format("sum{}", i), .shape = {batch, widths[i]}});
    builder.add_operator({.name = fmt::format("gemm{}", i),
                          .type = "Gemm",
                          .domain = {},
                          .inputs = {x, w, b},
                          .outputs = {sum}});
    x = sum;
    if (i + 1 == widths.size()) break;
    x = builder.add_tensor({.name = fmt::format("y{}", i), .shape = {batch, widths[i]}});
    builder.add_operator({.name = fmt::format("relu{}", i),
                          .type = "Relu",
                          .domain = {},
                          .inputs = {sum},
                          .outputs = {x}});
  }
  builder.keep(x);
  return std::move(builder).build();
}

}  // namespace espalier::training
