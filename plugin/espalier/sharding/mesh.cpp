#include "espalier/sharding/mesh.h"

#include <fmt/format.h>

#include <charconv>

#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::int64_t kMostDevices = 1 << 20;
constexpr int kMostAxes = 4;

[[noreturn]] void refuse(std::string_view text, const char* why) {
  throw InvalidInput(fmt::format("the mesh '{}' {}", text.substr(0, 80), why));
}

}  // namespace

std::int64_t Mesh::devices() const {
  std::int64_t product = 1;
  for (const MeshAxis& axis : axes) product *= axis.devices;
  return product;
}

Mesh parse_mesh(std::string_view text) {
  Mesh mesh;
  int long_axes = 0;
  for (std::string_view rest = text;;) {
    const std::size_t cross = rest.find('x');
    const std::string_view part = rest.substr(0, cross);
    std::int32_t devices = 0;
    const auto [end, error] =
        std::from_chars(part.data(), part.data() + part.size(), devices);
    if (error == std::errc::result_out_of_range) refuse(text, "has too many devices");
    if (error != std::errc() || end != part.data() + part.size() || devices < 1)
      refuse(text, "is not numbers of at least 1 with an x between them");
    if (devices > kMostDevices || mesh.devices() * devices > kMostDevices)
      refuse(text, "has too many devices");
    if (devices > 1 && ++long_axes > kMostAxes) refuse(text, "has over four axes");
    if (devices > 1) mesh.axes.push_back({.devices = devices});
    if (cross == std::string_view::npos) return mesh;
    rest.remove_prefix(cross + 1);
  }
}

}  // namespace espalier
