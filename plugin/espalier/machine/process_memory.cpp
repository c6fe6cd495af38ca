#include "espalier/machine/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace espalier {

namespace {

std::string text_of(const char* path) {
  // Without a stream: the first one of a process costs ten times what is read here.
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::array<char, 8192> text;  // the system gives it in one piece, some 1500 bytes
  const ssize_t size = read(file, text.data(), text.size());
  close(file);
  return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, size))};
}

}  // namespace

std::string process_status() { return text_of("/proc/self/status"); }

std::optional<Bytes> counted_rss() {
  return status_field(text_of("/proc/self/smaps_rollup"), "Rss");
}

Bytes rss_error(std::int64_t processors, Bytes page_size) {
  const Bytes pages =
      checked_mul(processors, std::max<Bytes>(32, checked_mul(processors, 2)));
  return checked_mul(pages, page_size);
}

std::optional<Bytes> status_field(std::string_view status, std::string_view name) {
  for (std::size_t at = status.find(name); at != std::string_view::npos;
       at = status.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at > 0 && status[at - 1] != '\n') || !status.substr(end).starts_with(':'))
      continue;
    const std::size_t digits = status.find_first_not_of(" \t", end + 1);
    if (digits == std::string_view::npos) return std::nullopt;
    Bytes kib = 0;  // the system writes "kB" and means 1024 bytes
    const auto parsed =
        std::from_chars(status.data() + digits, status.data() + status.size(), kib);
    if (parsed.ec != std::errc()) return std::nullopt;
    return checked_mul(kib, 1024);
  }
  return std::nullopt;
}

ProcessMemory parse_process_memory(std::string_view status) {
  return {status_field(status, "VmRSS"), status_field(status, "VmHWM")};
}

ProcessMemory process_memory() { return parse_process_memory(process_status()); }

}  // namespace espalier
