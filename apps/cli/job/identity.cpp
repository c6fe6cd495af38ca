#include "cli/job/identity.h"

#include <fmt/format.h>
#include <mpi.h>
#include <starpu.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <vector>

namespace espalier::cli {
namespace {

std::string mpi_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string version(text.data(), static_cast<std::size_t>(length));
  std::ranges::replace(version, '\n', ' ');
  return version;
}

std::string starpu_version() {
  int major = 0, minor = 0, release = 0;
  starpu_get_version(&major, &minor, &release);
  return fmt::format("{}.{}.{}", major, minor, release);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string_view line_at(std::span<const std::string_view> lines, std::size_t i) {
  return i < lines.size() ? lines[i] : "nothing more";
}

}  // namespace

std::string identity_of_build(double timeout_seconds) {
  return fmt::format(
      "byte order={}\n"
      "bytes of int, long, pointer, double={} {} {} {}\n"
      "StarPU={}\nMPI={}\nESPALIER_CLUSTER_TIMEOUT={}\n",
      std::endian::native == std::endian::little ? "little" : "big", sizeof(int),
      sizeof(long), sizeof(void*), sizeof(double), starpu_version(), mpi_version(),
      timeout_seconds);
}

std::optional<std::string> first_difference(std::span<const std::string> identities,
                                            std::span<const std::string> hosts) {
  const std::vector<std::string_view> first = lines_of(identities.front());
  for (std::size_t rank = 1; rank < identities.size(); ++rank) {
    const std::vector<std::string_view> other = lines_of(identities[rank]);
    for (std::size_t i = 0; i < std::max(first.size(), other.size()); ++i) {
      if (line_at(first, i) == line_at(other, i)) continue;
      return fmt::format(
          "the processes of this job differ: rank 0 on {} has '{}', rank {} on {} has "
          "'{}'",
          hosts[0], line_at(first, i), rank, hosts[rank], line_at(other, i));
    }
  }
  return std::nullopt;
}

}  // namespace espalier::cli
