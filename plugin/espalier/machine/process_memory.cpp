#include "espalier/machine/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <charconv>

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

// Without a stream: the first one of a process costs ten times what is read here.
ProcessMemory process_memory() {
  const int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 8192> text;  // the system gives it in one piece, some 1500 bytes
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  if (size <= 0) return {};
  return parse_process_memory({text.data(), static_cast<std::size_t>(size)});
}

}  // namespace espalier
