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

// Of a tensor with `units` to spread its features by, on the fullest device.
double tensor_share(const ShardingSetting& setting, std::int64_t units, MeshState state) {
  return share(setting.sequences, spread(setting.mesh, state, AxisState::kBatch)) *
         share(units, spread(setting.mesh, state, AxisState::kFeatures));
}

double tensor_bytes(const ShardingSetting& setting, std::int64_t width) {
  return static_cast<double>(setting.sequences) *
         static_cast<double>(setting.tokens_a_sequence) * static_cast<double>(width) *
         static_cast<double>(setting.bytes_a_value);
}

// What a device has of it when it is whole along `axis`.
double bytes_along(const ShardingSetting& setting, std::int64_t width, MeshState state,
                   std::size_t axis) {
  return tensor_bytes(setting, width) *
         tensor_share(setting, width, with_axis(state, axis, AxisState::kWhole));
}

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

std::string described(std::string text, std::string_view more) {
  if (!text.empty()) text += " x ";
  return text += more;
}

// A linear layer by one combination of ways.
class Linear {
 public:
  Linear(const ShardingSetting& setting, std::int64_t in, std::int64_t out)
      : setting_(setting), in_(in), out_(out) {}

  OperatorWay way(std::size_t combination) const {
    OperatorWay way;
    std::vector<LinearWay> ways;
    double parameters = double(in_) * double(out_);
    std::int64_t computing = 1, columns = 1, rows = 1;
    for (const MeshAxis& axis : setting_.mesh.axes) {
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
    parameters *= share(out_, columns) * share(in_, rows);
    const double tokens = double(setting_.sequences) * double(setting_.tokens_a_sequence);
    Seconds seconds = 6 * tokens * share(setting_.sequences, computing) * parameters /
                      setting_.flops_a_second;
    for (std::size_t a = 0; a < ways.size(); ++a)
      seconds += communication(way, ways[a], a, parameters);
    way.cost = cost_of(seconds);
    way.memory =
        bytes_of(parameters * double(setting_.bytes_a_parameter) +
                 tensor_bytes(setting_, in_) * tensor_share(setting_, in_, way.in));
    return way;
  }

 private:
  [[nodiscard]] Seconds communication(const OperatorWay& way, LinearWay one,
                                      std::size_t a, double parameters) const {
    const MeshAxis& axis = setting_.mesh.axes[a];
    const double x = bytes_along(setting_, in_, way.in, a);
    const double y = bytes_along(setting_, out_, way.out, a);
    switch (one) {
      case LinearWay::kData:
        return all_reduce(axis, parameters * double(setting_.bytes_a_value));
      case LinearWay::kColumn:
        return all_reduce(axis, x);
      case LinearWay::kRow:
        return all_reduce(axis, y);
      case LinearWay::kColumnGather:
        return 2 * all_gather(axis, x);
      case LinearWay::kRowScatter:
        return 2 * all_gather(axis, y);
      case LinearWay::kWhole:
        break;
    }
    return 0;
  }

  const ShardingSetting& setting_;
  std::int64_t in_, out_;
};

}  // namespace

std::int32_t state_count(const Mesh& mesh) {
  std::int32_t count = 1;
  for (std::size_t a = 0; a < mesh.axes.size(); ++a) count *= 3;
  return count;
}

Cost reshard_cost(const ShardingSetting& setting, std::int64_t width, MeshState from,
                  MeshState to) {
  Seconds seconds = 0;
  MeshState now = from;
  for (std::size_t a = 0; a < setting.mesh.axes.size(); ++a) {
    const AxisState before = on_axis(from, a), after = on_axis(to, a);
    if (before == after) continue;
    const double bytes = bytes_along(setting, width, now, a);
    const bool gather = before == AxisState::kWhole || after == AxisState::kWhole;
    seconds += gather ? all_gather(setting.mesh.axes[a], bytes)
                      : 2 * all_to_all(setting.mesh.axes[a], bytes);
    now = with_axis(now, a, after);
  }
  return cost_of(seconds);
}

ShardedOperator linear_operator(const ShardingSetting& setting, std::string name,
                                std::int64_t in_width, std::int64_t out_width) {
  ShardedOperator linear{std::move(name), in_width, {}};
  std::size_t combinations = 1;
  for (std::size_t a = 0; a < setting.mesh.axes.size(); ++a) combinations *= kWays.size();
  const Linear layer(setting, in_width, out_width);
  for (std::size_t c = 0; c < combinations; ++c) linear.ways.push_back(layer.way(c));
  return linear;
}

ShardedOperator local_operator(const ShardingSetting& setting, std::string name,
                               std::int64_t in_width, std::int64_t units, double flops) {
  static constexpr std::array<std::string_view, 3> kNames = {"whole", "batch",
                                                             "features"};
  ShardedOperator local{std::move(name), in_width, {}};
  for (MeshState state = 0; state < state_count(setting.mesh); ++state) {
    if (units == 0 && spread(setting.mesh, state, AxisState::kFeatures) > 1) continue;
    OperatorWay way{state, state, 0, 0, {}};
    for (std::size_t a = 0; a < setting.mesh.axes.size(); ++a)
      way.name = described(std::move(way.name),
                           kNames[static_cast<std::size_t>(on_axis(state, a))]);
    const double part = tensor_share(setting, units == 0 ? 1 : units, state);
    way.cost = cost_of(flops * part / setting.flops_a_second);
    way.memory = bytes_of(tensor_bytes(setting, in_width) * part);
    local.ways.push_back(std::move(way));
  }
  return local;
}

}  // namespace espalier
