#include "espalier/model/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace espalier {
namespace {

constexpr std::size_t kLongestWord = 160, kLongestPath = 4096, kShown = 60;

bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Bytes of the UTF-8 character that the text starts with; 0: it starts with none. What
// is longer than it had to be, a surrogate, or above U+10FFFF is none.
std::size_t character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  if (!std::ranges::all_of(text.substr(1, length - 1), continues)) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool wrong =
      (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
      (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return wrong ? 0 : length;
}

// Bytes of what the text starts with: a character, or a byte that begins none.
std::size_t step(std::string_view text) {
  return std::max<std::size_t>(character(text), 1);
}

// What step() cuts off.
bool shows(std::string_view next, bool keep_line_ends) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(next[k]); };
  if (next.size() > 1) return byte(0) != 0xC2 || byte(1) >= 0xA0;
  return (byte(0) >= 0x20 && byte(0) < 0x7F) || (byte(0) == '\n' && keep_line_ends);
}

// The word, of at most `most` bytes where those end a character.
std::string escaped(std::string_view word, std::size_t most, bool keep_line_ends) {
  std::string shown;
  while (!word.empty() && shown.size() < most) {
    const std::string_view next = word.substr(0, step(word));
    if (shows(next, keep_line_ends)) {
      shown += next;
    } else {
      for (const char byte : next)
        shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    word.remove_prefix(next.size());
  }
  return shown;
}

}  // namespace

std::string printable(std::string_view text, bool keep_line_ends) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool path = word.find('/') != std::string_view::npos;
    const bool whole = word.size() <= (path ? kLongestPath : kLongestWord);
    shown += escaped(word, whole ? std::string_view::npos : kShown, keep_line_ends);
    if (!whole) shown += fmt::format("…({} bytes)", word.size());
    text.remove_prefix(end);
    if (text.empty()) break;
    shown += escaped(text.substr(0, 1), 4, keep_line_ends);
    text.remove_prefix(1);
  }
  return shown;
}

bool is_printable(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(step(text)))
    if (!shows(text.substr(0, step(text)), false)) return false;
  return true;
}

}  // namespace espalier
