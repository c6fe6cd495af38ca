#include "solver/io/matrix_market_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "solver/io/matrix_market_header.h"
#include "solver/io/text_reader.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 17;

// An index from 1 to size; -1: none, with a message. Moves `at` past it.
std::int32_t parse_index(const char*& at, const char* end, std::int32_t size,
                         const char* what, std::string& message) {
  while (at != end && (*at == ' ' || *at == '\t')) ++at;
  std::int64_t index = 0;
  const auto [next, error] = std::from_chars(at, end, index);
  const bool delimited = next == end || *next == ' ' || *next == '\t' || *next == '\r';
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

}  // namespace

void parse_chunk(EntryChunk& chunk, std::int32_t size, EntryField field) {
  chunk.entries.clear();
  chunk.imaginary.clear();
  chunk.fault.reset();
  std::string_view text = chunk.text;
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (is_blank_or_comment(line)) continue;
    MatrixMarketEntry entry;
    double imaginary = 0;
    std::string message = parse_entry(line, size, field, entry, imaginary);
    if (!message.empty()) {
      chunk.fault = {line.data(), std::move(message)};
      return;
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
