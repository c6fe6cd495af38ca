#include "espalier/machine/process_memory.h"

#include <charconv>
#include <fstream>
#include <iterator>
#include <string>

namespace espalier {

ProcessMemory parse_process_memory(std::string_view status) {
  const auto field = [status](std::string_view name) -> std::optional<Bytes> {
    std::size_t at = status.find(name);
    if (at == std::string_view::npos) return std::nullopt;
    at = status.find_first_not_of(" \t", at + name.size());
    if (at == std::string_view::npos) return std::nullopt;
    Bytes kib = 0;  // the system writes "kB" and means 1024 bytes
    const auto parsed =
        std::from_chars(status.data() + at, status.data() + status.size(), kib);
    if (parsed.ec != std::errc()) return std::nullopt;
    return checked_mul(kib, 1024);
  };
  return {field("\nVmRSS:"), field("\nVmHWM:")};
}

ProcessMemory process_memory() {
  std::ifstream file("/proc/self/status");
  return parse_process_memory(std::string(std::istreambuf_iterator<char>(file),
                                          std::istreambuf_iterator<char>()));
}

}  // namespace espalier
