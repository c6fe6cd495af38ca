#include "solver/io/matrix_market_header.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace espalier::solver {
namespace {

void parse_banner(const TextReader& reader, std::string_view line,
                  MatrixMarketHeader& header) {
  const char* const at = line.data();
  std::array<std::string, 5> word;
  for (std::string& each : word) each = lower_case(take_word(line));
  if (word[0] != "%%matrixmarket" || word[4].empty() || !take_word(line).empty())
    reader.fail_at(at,
                   "not a Matrix Market file: expected a first line such as "
                   "'%%MatrixMarket matrix coordinate real symmetric'");
  if (word[1] != "matrix")
    reader.fail_at(at, fmt::format("object '{}': expected 'matrix'", word[1]));
  header.format = word[2];
  header.field = word[3];
  header.symmetry = word[4];
  if (header.format != "coordinate" && header.format != "array") {
    reader.fail_at(
        at, fmt::format("format '{}': expected 'coordinate' or 'array'", header.format));
  }
}

void parse_sizes(const TextReader& reader, std::string_view line,
                 MatrixMarketHeader& header) {
  const char* const at = line.data();
  const bool array = header.format == "array";
  std::array<std::int64_t*, 3> size = {&header.rows, &header.columns, &header.entries};
  for (std::size_t k = 0; k < (array ? 2 : 3); ++k) {
    const std::string_view word = take_word(line);
    const auto [end, error] =
        std::from_chars(word.data(), word.data() + word.size(), *size[k]);
    if (error != std::errc() || end != word.data() + word.size()) {
      reader.fail_at(
          at, fmt::format("size line: '{}' is not a number; expected {}", word,
                          array ? "rows and columns" : "rows, columns and entries"));
    }
    if (*size[k] < 0) reader.fail_at(at, fmt::format("size line: {} < 0", *size[k]));
  }
  if (!take_word(line).empty()) reader.fail_at(at, "size line: too many numbers");
  if (array) {
    if (header.columns > 0 &&
        header.rows > std::numeric_limits<std::int64_t>::max() / header.columns) {
      reader.fail_at(at, "size line: rows * columns overflows");
    }
    header.entries = header.rows * header.columns;
  }
}

}  // namespace

MatrixMarketHeader read_header(TextReader& reader, std::string_view& rest) {
  MatrixMarketHeader header;
  rest = reader.next_block();
  if (rest.empty()) reader.fail("the file is empty");
  parse_banner(reader, take_line(rest), header);
  while (true) {
    if (rest.empty()) {
      rest = reader.next_block();
      if (rest.empty()) reader.fail_at(rest.data(), "the file ends before its size line");
    }
    const std::string_view line = take_line(rest);
    if (is_blank_or_comment(line)) continue;
    parse_sizes(reader, line, header);
    return header;
  }
}

namespace {

// With an e where Fortran writes a D, or nothing before an exponent of three digits.
// @param from  where the number ends for others
// @return empty: it is none of Fortran's either
std::string plain_exponent(std::string_view digits, std::size_t from) {
  if (from == 0 || from == digits.size()) return {};
  std::string_view exponent = digits.substr(from);
  const bool letter = exponent[0] == 'd' || exponent[0] == 'D';
  if (letter) exponent.remove_prefix(1);
  const bool sign = exponent.starts_with('+') || exponent.starts_with('-');
  if (!letter && !(sign && exponent.size() == 4)) return {};
  return fmt::format("{}e{}", digits.substr(0, from), exponent);
}

}  // namespace

std::string parse_value(std::string_view word, double& value) {
  std::string_view digits = word.starts_with('+') ? word.substr(1) : word;
  const auto read = [&digits, &value] {
    return std::from_chars(digits.data(), digits.data() + digits.size(), value);
  };
  std::from_chars_result end = read();
  const std::string plain =
      plain_exponent(digits, static_cast<std::size_t>(end.ptr - digits.data()));
  if (!plain.empty()) {
    digits = plain;
    end = read();
  }
  const bool whole = end.ptr == digits.data() + digits.size();
  if (end.ec == std::errc() && whole && std::isfinite(value)) return {};
  if (end.ec == std::errc::result_out_of_range && whole) {
    value = std::strtod(std::string(digits).c_str(), nullptr);
    if (std::isfinite(value) && value != 0) return {};  // a subnormal one
    return fmt::format("value '{}' is outside the range of a double", word);
  }
  if (end.ec == std::errc() && whole)
    return fmt::format("value '{}' is not finite", word);
  return word.empty() ? std::string("the value is missing")
                      : fmt::format("malformed value '{}'", word);
}

}  // namespace espalier::solver
