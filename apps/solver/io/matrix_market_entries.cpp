#include "solver/io/matrix_market_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "solver/io/matrix_market_header.h"
#include "solver/io/text_reader.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 17;

// An index from 1 to size; -1: none, with a message. Moves `at` past it.
std::int32_t parse_index(const char*& at, const char* end, std::int32_t size,
                         const char* what, std::string& message) {
  while (at != end && is_blank(*at)) ++at;
  std::int64_t index = 0;
  const auto [next, error] = std::from_chars(at, end, index);
  const bool delimited = next == end || is_blank(*next);
  if (error == std::errc() && delimited && index >= 1 && index <= size) {
    at = next;
    return static_cast<std::int32_t>(index - 1);
  }
  std::string_view rest(at, end - at);
  const std::string_view word = take_word(rest);
  if (word.empty())
    message = fmt::format("the {} is missing", what);
  else if (error == std::errc::invalid_argument || !delimited)
    message = fmt::format("malformed {} '{}'", what, word);
  else
    message = fmt::format("{} {} is outside 1 … {}", what, word, size);
  return -1;
}

// An empty message: the line was an entry.
std::string parse_entry(std::string_view line, std::int32_t size, EntryField field,
                        MatrixMarketEntry& entry, double& imaginary) {
  std::string message;
  const char* at = line.data();
  const char* const end = at + line.size();
  entry.row = parse_index(at, end, size, "row", message);
  if (entry.row < 0) return message;
  entry.column = parse_index(at, end, size, "column", message);
  if (entry.column < 0) return message;
  std::string_view rest(at, end - at);
  entry.value = 1;
  if (field != EntryField::kPattern) {
    const std::string_view word = take_word(rest);
    message = parse_value(word, entry.value);
    if (!message.empty()) return message;
    const bool whole = word.find_first_of(".eEdD") == word.npos &&
                       word.find_first_of("+-", 1) == word.npos;
    if (field == EntryField::kInteger && !whole) {
      return fmt::format("'{}' is not an integer", word);
    }
  }
  if (field == EntryField::kComplex) {
    message = parse_value(take_word(rest), imaginary);
    if (!message.empty()) return fmt::format("imaginary part: {}", message);
  }
  const std::string_view more = take_word(rest);
  if (!more.empty()) return fmt::format("'{}' after the entry's last field", more);
  return {};
}

bool is_gap(char c) { return c == ' ' || c == '\t'; }

// A number that ends where blanks, a line or the text do.
template <class Number>
bool take_number(const char*& at, const char* end, Number& number) {
  while (at != end && is_gap(*at)) ++at;
  const auto [next, error] = std::from_chars(at, end, number);
  at = next;
  return error == std::errc() && (at == end || is_gap(*at) || *at == '\r' || *at == '\n');
}

bool take_index(const char*& at, const char* end, std::int32_t size,
                std::int32_t& index) {
  std::int64_t number = 0;
  if (!take_number(at, end, number) || number < 1 || number > size) return false;
  index = static_cast<std::int32_t>(number - 1);
  return true;
}

bool take_finite(const char*& at, const char* end, double& value) {
  return take_number(at, end, value) && std::isfinite(value);
}

bool take_values(const char*& at, const char* end, EntryField field, double& value,
                 double& imaginary) {
  switch (field) {
    case EntryField::kPattern:
      value = 1;
      return true;
    case EntryField::kInteger: {
      std::int64_t whole = 0;
      const bool taken = take_number(at, end, whole);
      value = static_cast<double>(whole);
      return taken;
    }
    case EntryField::kReal:
      return take_finite(at, end, value);
    case EntryField::kComplex:
      return take_finite(at, end, value) && take_finite(at, end, imaginary);
  }
  return false;
}

// An entry as nearly all are written, in half the time of parse_entry(), which knows all
// that may be. Removes its line. @return false: whatever the line is, it is still there
bool take_plain_entry(std::string_view& text, std::int32_t size, EntryField field,
                      MatrixMarketEntry& entry, double& imaginary) {
  const char* at = text.data();
  const char* const end = at + text.size();
  if (!take_index(at, end, size, entry.row) || !take_index(at, end, size, entry.column) ||
      !take_values(at, end, field, entry.value, imaginary))
    return false;
  while (at != end && (is_gap(*at) || *at == '\r')) ++at;
  if (at != end && *at++ != '\n') return false;
  text.remove_prefix(static_cast<std::size_t>(at - text.data()));
  return true;
}

}  // namespace

void parse_chunk(EntryChunk& chunk, std::int32_t size, EntryField field) {
  chunk.entries.clear();
  chunk.imaginary.clear();
  chunk.fault.reset();
  std::string_view text = chunk.text;
  while (!text.empty()) {
    MatrixMarketEntry entry;
    double imaginary = 0;
    if (!take_plain_entry(text, size, field, entry, imaginary)) {
      const std::string_view line = take_line(text);
      if (is_blank_or_comment(line)) continue;
      std::string message = parse_entry(line, size, field, entry, imaginary);
      if (!message.empty()) {
        chunk.fault = {line.data(), std::move(message)};
        return;
      }
    }
    chunk.entries.push_back(entry);
    if (field == EntryField::kComplex) chunk.imaginary.push_back(imaginary);
  }
}

// Position of the line of the chunk's k-th entry.
const char* entry_position(const EntryChunk& chunk, std::size_t k) {
  std::string_view text = chunk.text;
  while (true) {
    const std::string_view line = take_line(text);
    if (!is_blank_or_comment(line) && k-- == 0) return line.data();
  }
}

// Cuts the text at line ends; keeps the chunks' memory for reuse.
void cut_into_chunks(std::string_view text, std::vector<EntryChunk>& chunks) {
  std::size_t used = 0;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > kChunkBytes) end = std::min(text.find('\n', kChunkBytes), end - 1) + 1;
    if (used == chunks.size()) chunks.emplace_back();
    chunks[used++].text = text.substr(0, end);
    text.remove_prefix(end);
  }
  chunks.resize(used);
}

}  // namespace espalier::solver
