#include "espalier/machine/code_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace espalier {
namespace {

constexpr std::string_view kChanged = "Anonymous:";

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

// Of a line as "7f00-7f10 r-xp 00000000 fd:01 42   /usr/lib/libm.so.6".
std::optional<AddressRange> code_of_file(std::string_view line) {
  if (line.find(" r-xp ") == line.npos || line.find('/') == line.npos)
    return std::nullopt;
  AddressRange range;
  const char* const end = line.data() + line.size();
  const auto first = std::from_chars(line.data(), end, range.begin, 16);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-')
    return std::nullopt;
  const auto last = std::from_chars(first.ptr + 1, end, range.end, 16);
  if (last.ec != std::errc()) return std::nullopt;
  return range;
}

}  // namespace

std::vector<AddressRange> unchanged_code(std::string_view smaps) {
  std::vector<AddressRange> ranges;
  std::optional<AddressRange> open;
  while (!smaps.empty()) {
    const std::string_view line = next_line(smaps);
    if (line.find('-') < line.find(' ')) open = code_of_file(line);
    if (!open || !line.starts_with(kChanged)) continue;
    if (line.ends_with(" 0 kB")) ranges.push_back(*open);
    open.reset();
  }
  return ranges;
}

void release_code() {
  std::ifstream file("/proc/self/smaps");
  const std::string smaps(std::istreambuf_iterator<char>(file), {});
  for (const AddressRange& range : unchanged_code(smaps))
    // Where the system refuses, the pages stay.
    (void)madvise(reinterpret_cast<void*>(range.begin), range.end - range.begin,
                  MADV_DONTNEED);
}

}  // namespace espalier
