#include "espalier/sharding/tensor_parallel.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr double kPicosecond = 1e-12;

struct Way {
  std::string_view name;
  AxisState in, out;
};
constexpr std::array<Way, 6> kWays = {
    {{"data", AxisState::kBatch, AxisState::kBatch},
     {"column", AxisState::kWhole, AxisState::kFeatures},
     {"row", AxisState::kFeatures, AxisState::kWhole},
     {"column-gather", AxisState::kBatch, AxisState::kFeatures},
     {"row-scatter", AxisState::kFeatures, AxisState::kBatch},
     {"whole", AxisState::kWhole, AxisState::kWhole}}};

// The largest part when `whole` things are dealt to `parts`.
double share(std::int64_t whole, std::int64_t parts) {
  return static_cast<double>((whole + parts - 1) / parts) / static_cast<double>(whole);
}

// Devices along the axes in that state.
std::int64_t spread(const Mesh& mesh, MeshState state, AxisState by) {
  std::int64_t product = 1;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    if (on_axis(state, a) == by) product *= mesh.axes[a].devices;
  return product;
}

SpreadTensor tokens(const ShardingSetting& setting, std::int64_t width) {
  return {setting.sequences, width,
          static_cast<double>(setting.sequences) *
              static_cast<double>(setting.tokens_a_sequence) *
              static_cast<double>(width) * static_cast<double>(setting.bytes_a_value)};
}

// What a device has of it when it is whole along `axis`.
double bytes_along(const Mesh& mesh, const SpreadTensor& tensor, MeshState state,
                   std::size_t axis) {
  return tensor.bytes *
         tensor_share(mesh, tensor, with_axis(state, axis, AxisState::kWhole));
}

std::string described(std::string text, std::string_view more) {
  if (!text.empty()) text += " x ";
  return text += more;
}

Seconds communication(const MeshAxis& axis, LinearWay way, double x, double y, double p) {
  switch (way) {
    case LinearWay::kData:
      return all_reduce_time(p, axis.devices, axis.link);
    case LinearWay::kColumn:
      return all_reduce_time(x, axis.devices, axis.link);
    case LinearWay::kRow:
      return all_reduce_time(y, axis.devices, axis.link);
    case LinearWay::kColumnGather:
      return 2 * all_gather_time(x, axis.devices, axis.link);
    case LinearWay::kRowScatter:
      return 2 * all_gather_time(y, axis.devices, axis.link);
    case LinearWay::kWhole:
      break;
  }
  return 0;
}

// By one combination of ways.
OperatorWay product_way(const Mesh& mesh, const WeightProduct& product,
                        const DeviceFigures& device, std::size_t combination) {
  OperatorWay way;
  std::vector<LinearWay> ways;
  std::int64_t computing = 1, columns = 1, rows = 1;
  for (const MeshAxis& axis : mesh.axes) {
    const auto one = static_cast<LinearWay>(combination % kWays.size());
    combination /= kWays.size();
    const Way& known = kWays[static_cast<std::size_t>(one)];
    way.in = with_axis(way.in, ways.size(), known.in);
    way.out = with_axis(way.out, ways.size(), known.out);
    way.name = described(std::move(way.name), known.name);
    if (one == LinearWay::kData) computing *= axis.devices;
    if (known.out == AxisState::kFeatures) columns *= axis.devices;
    if (known.in == AxisState::kFeatures) rows *= axis.devices;
    ways.push_back(one);
  }
  const double part =
      share(product.out.features, columns) * share(product.in.features, rows);
  const double parameters = product.parameters * part;
  Seconds seconds =
      product.flops * share(product.in.samples, computing) * part / device.flops_a_second;
  for (std::size_t a = 0; a < ways.size(); ++a)
    seconds += communication(
        mesh.axes[a], ways[a], bytes_along(mesh, product.in, way.in, a),
        bytes_along(mesh, product.out, way.out, a), parameters * device.bytes_a_gradient);
  way.cost = cost_of(seconds);
  way.memory = bytes_of(parameters * device.bytes_a_parameter);
  return way;
}

}  // namespace

Cost cost_of(Seconds seconds) {
  const double picoseconds = std::round(seconds / kPicosecond);
  if (!(picoseconds < static_cast<double>(kForbidden) / 1e3))
    throw OverflowError(fmt::format("a cost of {} seconds is too large", seconds));
  return static_cast<Cost>(picoseconds);
}

Bytes bytes_of(double bytes) {
  if (!(bytes < 0x1p55))
    throw OverflowError(fmt::format("a size of {} bytes is too large", bytes));
  return static_cast<Bytes>(std::ceil(bytes));
}

std::int32_t state_count(const Mesh& mesh) {
  std::int32_t count = 1;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) count *= 3;
  return count;
}

AxisState on_axis(MeshState state, std::size_t axis) {
  for (std::size_t a = 0; a < axis; ++a) state /= 3;
  return static_cast<AxisState>(state % 3);
}

MeshState with_axis(MeshState state, std::size_t axis, AxisState on) {
  MeshState unit = 1;
  for (std::size_t a = 0; a < axis; ++a) unit *= 3;
  return state + unit * (static_cast<MeshState>(on) -
                         static_cast<MeshState>(on_axis(state, axis)));
}

std::string describe_state(const Mesh& mesh, MeshState state) {
  static constexpr std::array<std::string_view, 3> kNames = {"whole", "batch",
                                                             "features"};
  std::string text;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a)
    text =
        described(std::move(text), kNames[static_cast<std::size_t>(on_axis(state, a))]);
  return text;
}

double tensor_share(const Mesh& mesh, const SpreadTensor& tensor, MeshState state) {
  return share(tensor.samples, spread(mesh, state, AxisState::kBatch)) *
         share(tensor.features, spread(mesh, state, AxisState::kFeatures));
}

Cost reshard_cost(const Mesh& mesh, const SpreadTensor& tensor, MeshState from,
                  MeshState to) {
  Seconds seconds = 0;
  MeshState now = from;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) {
    const AxisState before = on_axis(from, a), after = on_axis(to, a);
    if (before == after) continue;
    const double bytes = bytes_along(mesh, tensor, now, a);
    const bool gather = before == AxisState::kWhole || after == AxisState::kWhole;
    const auto& [devices, link] = mesh.axes[a];
    seconds += gather ? all_gather_time(bytes, devices, link)
                      : 2 * all_to_all_time(bytes, devices, link);
    now = with_axis(now, a, after);
  }
  return cost_of(seconds);
}

std::vector<OperatorWay> product_ways(const Mesh& mesh, const WeightProduct& product,
                                      const DeviceFigures& device) {
  std::size_t combinations = 1;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) combinations *= kWays.size();
  std::vector<OperatorWay> ways;
  for (std::size_t c = 0; c < combinations; ++c)
    ways.push_back(product_way(mesh, product, device, c));
  return ways;
}

Cost reshard_cost(const ShardingSetting& setting, std::int64_t width, MeshState from,
                  MeshState to) {
  return reshard_cost(setting.mesh, tokens(setting, width), from, to);
}

ShardedOperator linear_operator(const ShardingSetting& setting, std::string name,
                                std::int64_t in_width, std::int64_t out_width) {
  const SpreadTensor in = tokens(setting, in_width);
  const double parameters = double(in_width) * double(out_width);
  const double flops =
      6 * double(setting.sequences) * double(setting.tokens_a_sequence) * parameters;
  ShardedOperator linear{
      std::move(name), in_width,
      product_ways(setting.mesh, {in, tokens(setting, out_width), parameters, flops},
                   {setting.flops_a_second, double(setting.bytes_a_value),
                    double(setting.bytes_a_parameter)})};
  for (OperatorWay& way : linear.ways)
    way.memory += bytes_of(in.bytes * tensor_share(setting.mesh, in, way.in));
  return linear;
}

ShardedOperator local_operator(const ShardingSetting& setting, std::string name,
                               std::int64_t in_width, std::int64_t units, double flops) {
  ShardedOperator local{std::move(name), in_width, {}};
  const SpreadTensor in = tokens(setting, in_width);
  const SpreadTensor work{in.samples, units == 0 ? 1 : units, in.bytes};
  for (MeshState state = 0; state < state_count(setting.mesh); ++state) {
    if (units == 0 && spread(setting.mesh, state, AxisState::kFeatures) > 1) continue;
    const double part = tensor_share(setting.mesh, work, state);
    local.ways.push_back({state, state, cost_of(flops * part / setting.flops_a_second),
                          bytes_of(in.bytes * part),
                          describe_state(setting.mesh, state)});
  }
  return local;
}

}  // namespace espalier
