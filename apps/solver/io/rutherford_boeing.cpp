// One format: header, pointers, values, each kind of number: over 300 lines.

#include "solver/io/rutherford_boeing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>
#include <vector>

#include "solver/io/complex_entries.h"
#include "solver/io/matrix_market_header.h"
#include "solver/io/text_reader.h"
#include "solver/matrix/triplets.h"

namespace espalier::solver {
namespace {

constexpr std::int64_t kMostRows = 1'000'000;  // more than entries, in any file

class RutherfordBoeingReader {
 public:
  // `complex`: such matrices, too.
  RutherfordBoeingReader(const std::string& path, bool complex)
      : text_(path), complex_(complex) {}

  AnyMatrix read() {
    read_header();
    const std::vector<std::int64_t> pointer = read_pointers();
    for (std::int64_t k = 0; k < entries_; ++k) {
      row_.push_back(static_cast<std::int32_t>(next_integer(rows_, "row") - 1));
    }
    read_entries(pointer);
    if (values_ == 'c')
      return std::move(complex_entries_)
          .assembled(file_symmetry(), static_cast<std::int32_t>(rows_));
    return assembled();
  }

 private:
  // So many fields of `width` characters on a line.
  struct Format {
    std::int64_t fields = 1, width = 0;
  };

  std::string_view next_line() {
    if (rest_.empty()) rest_ = text_.next_block();
    if (rest_.empty()) text_.fail("the file ends too early");
    return take_line(rest_);
  }

  void read_header();
  std::int64_t header_number(std::string_view& line, const char* what) const;
  void check_type(std::string_view line, const std::string& type);
  [[nodiscard]] Format parse_format(std::string_view line, std::string_view word) const;
  std::vector<std::int64_t> read_pointers();
  std::string_view next_field();
  std::int64_t next_integer(std::int64_t most, const char* what);
  double next_value();
  [[nodiscard]] FileSymmetry file_symmetry() const {
    return symmetry_ == 's'   ? FileSymmetry::kSymmetric
           : symmetry_ == 'h' ? FileSymmetry::kHermitian
           : symmetry_ == 'z' ? FileSymmetry::kSkew
                              : FileSymmetry::kGeneral;
  }
  void check_side(std::int32_t row, std::int32_t column, int& triangle) const;
  void read_entries(const std::vector<std::int64_t>& pointer);
  InputMatrix assembled();

  void start(const Format& format) {
    format_ = format;
    field_ = format.fields;
  }

  TextReader text_;
  std::string_view rest_, line_;
  Format format_, index_format_, value_format_;
  std::int64_t field_ = 0;  // of the line, the next one
  char values_ = 'r', symmetry_ = 'u';
  std::int64_t rows_ = 0, entries_ = 0;
  std::vector<std::int32_t> row_;
  Triplets lower_, upper_;
  ComplexEntries complex_entries_;  // in their place
  bool complex_;
};

std::int64_t RutherfordBoeingReader::header_number(std::string_view& line,
                                                   const char* what) const {
  const char* const at = line.data();
  const std::string_view word = take_word(line);
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (word.empty() || error != std::errc() || stop != end || number < 0) {
    text_.fail_at(at, fmt::format("{}: '{}' is not a number", what, word));
  }
  return number;
}

void RutherfordBoeingReader::check_type(std::string_view line, const std::string& type) {
  const auto fail = [&](const char* message) {
    text_.fail_at(line.data(), fmt::format("type '{}': {}", type, message));
  };
  if (type.size() != 3) fail("three letters such as 'rsa' were expected");
  values_ = type[0];
  symmetry_ = type[1];
  if (!complex_ && (values_ == 'c' || symmetry_ == 'h'))
    fail("only real matrices are read here");
  if (std::string_view("ripc").find(values_) == std::string_view::npos)
    fail("unknown kind of values");
  if (symmetry_ == 'r') fail("not square");
  if (symmetry_ == 'h' && values_ != 'c') fail("only complex matrices are Hermitian");
  if (std::string_view("suzh").find(symmetry_) == std::string_view::npos)
    fail("unknown symmetry");
  if (type[2] != 'a') fail("only assembled matrices are read");
}

void RutherfordBoeingReader::read_header() {
  next_line();
  std::string_view line = next_line();
  std::array<std::int64_t, 5> lines{};
  for (std::size_t k = 0; k < 4; ++k) lines[k] = header_number(line, "number of lines");
  std::string_view more = line;
  if (!take_word(more).empty()) lines[4] = header_number(line, "number of lines");
  line = next_line();
  const std::string_view type_line = line;
  check_type(type_line, lower_case(take_word(line)));
  rows_ = header_number(line, "rows");
  const std::int64_t columns = header_number(line, "columns");
  entries_ = header_number(line, "entries");
  if (rows_ != columns) {
    text_.fail_at(type_line.data(), fmt::format("{} x {}: not square", rows_, columns));
  }
  if (values_ == 'c' && rows_ > kMostComplexOrder)
    text_.fail_at(type_line.data(), fmt::format("order {} of a complex matrix: more "
                                                "than {}",
                                                rows_, kMostComplexOrder));
  if (rows_ > std::numeric_limits<std::int32_t>::max() ||
      rows_ > text_.most_bytes() + kMostRows || entries_ > text_.most_bytes()) {
    text_.fail_at(type_line.data(), fmt::format("order {} with {} entries: too large for "
                                                "the file",
                                                rows_, entries_));
  }
  line = next_line();
  const std::string_view formats = line;
  start(parse_format(formats, take_word(line)));
  index_format_ = parse_format(formats, take_word(line));
  if (values_ != 'p') value_format_ = parse_format(formats, take_word(line));
  if (lines[4] > 0) next_line();  // what right-hand sides there are
}

// "(16I5)", "(1P,4E20.12)", "(1P5D16.8)", "(I8)".
RutherfordBoeingReader::Format RutherfordBoeingReader::parse_format(
    std::string_view line, std::string_view word) const {
  Format format;
  std::string letters = lower_case(word);
  std::string_view rest = letters;
  const auto skip = [&rest](std::size_t count) { rest.remove_prefix(count); };
  const auto number = [&](std::int64_t missing) {
    std::int64_t result = missing;
    const auto [stop, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), result);
    if (error == std::errc()) skip(stop - rest.data());
    return result;
  };
  if (rest.starts_with('(')) skip(1);
  format.fields = number(1);
  if (rest.starts_with('p')) {
    skip(rest.starts_with("p,") ? 2 : 1);
    format.fields = number(1);
  }
  if (!rest.empty() && std::string_view("iedfg").find(rest[0]) != rest.npos) {
    skip(1);
    format.width = number(0);
  }
  if (format.width < 1 || format.width > 200 || format.fields < 1) {
    text_.fail_at(line.data(), fmt::format("format '{}' is not understood", word));
  }
  return format;
}

std::string_view RutherfordBoeingReader::next_field() {
  if (field_ >= format_.fields) {
    line_ = next_line();
    field_ = 0;
  }
  const auto from = static_cast<std::size_t>(field_++ * format_.width);
  std::string_view field =
      from < line_.size() ? line_.substr(from, format_.width) : std::string_view();
  const std::string_view word = take_word(field);
  if (word.empty() || !take_word(field).empty()) {
    text_.fail_at(line_.data(),
                  fmt::format("field {} of the line is not a number", field_));
  }
  return word;
}

std::int64_t RutherfordBoeingReader::next_integer(std::int64_t most, const char* what) {
  const std::string_view word = next_field();
  std::int64_t number = 0;
  const char* const end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || stop != end || number < 1 || number > most) {
    text_.fail_at(line_.data(),
                  fmt::format("{} '{}': expected 1 … {}", what, word, most));
  }
  return number;
}

double RutherfordBoeingReader::next_value() {
  double value = 0;
  const std::string message = parse_value(next_field(), value);
  if (!message.empty()) text_.fail_at(line_.data(), message);
  return value;
}

std::vector<std::int64_t> RutherfordBoeingReader::read_pointers() {
  std::vector<std::int64_t> pointer;
  for (std::int64_t k = 0; k <= rows_; ++k) {
    pointer.push_back(next_integer(entries_ + 1, "pointer") - 1);
    const std::int64_t least = k == 0 ? 0 : pointer[k - 1];
    if (pointer[k] < least || (k == 0 && pointer[k] > 0) ||
        (k == rows_ && pointer[k] != entries_)) {
      text_.fail_at(line_.data(),
                    fmt::format("pointer {}: {} after {}, of {} entries", k + 1,
                                pointer[k] + 1, least + 1, entries_));
    }
  }
  start(index_format_);
  return pointer;
}

void RutherfordBoeingReader::check_side(std::int32_t row, std::int32_t column,
                                        int& triangle) const {
  const int side = row == column ? 0 : row > column ? 1 : -1;
  if (symmetry_ == 'u') return;
  if (side * triangle < 0 || (symmetry_ == 'z' && side == 0))
    text_.fail(fmt::format("entry ({}, {}): one triangle was expected{}", row + 1,
                           column + 1, symmetry_ == 'z' ? ", without diagonal" : ""));
  if (side != 0) triangle = side;
}

void RutherfordBoeingReader::read_entries(const std::vector<std::int64_t>& pointer) {
  if (values_ != 'p') start(value_format_);
  int triangle = 0;
  for (std::int32_t column = 0; column < rows_; ++column) {
    for (auto at = pointer[column]; at < pointer[column + 1]; ++at) {
      const std::int32_t row = row_[at];
      const double value = values_ == 'p' ? 1 : next_value();
      const double part = values_ == 'c' ? next_value() : 0;
      check_side(row, column, triangle);
      if (symmetry_ == 'h' && row == column && part != 0)
        text_.fail_at(
            line_.data(),
            fmt::format("entry ({0}, {0}): imaginary part {1}, but the diagonal "
                        "of a Hermitian matrix is real",
                        row + 1, part));
      if (values_ == 'c') {
        complex_entries_.append(file_symmetry(), row, column, {value, part});
        continue;
      }
      const auto [low, high] = std::minmax(row, column);
      const bool negate = symmetry_ == 'z' && row < column;
      (symmetry_ == 'u' && row < column ? upper_ : lower_)
          .append(high, low, negate ? -value : value);
    }
  }
}

InputMatrix RutherfordBoeingReader::assembled() {
  const auto size = static_cast<std::int32_t>(rows_);
  SymmetricMatrix below = assemble(size, std::move(lower_));
  if (symmetry_ == 's') return below;
  if (symmetry_ == 'z') return skew_symmetric(std::move(below));
  return from_triangles(std::move(below), assemble(size, std::move(upper_)));
}

}  // namespace

bool is_rutherford_boeing(const std::string& path) {
  std::string name = lower_case(path);
  if (name.ends_with(".gz")) name.resize(name.size() - 3);
  if (name.ends_with(".rb") || name.ends_with(".hb")) return true;
  if (name.size() < 4 || name[name.size() - 4] != '.') return false;
  const std::string_view type = std::string_view(name).substr(name.size() - 3);
  return std::string_view("ripc").find(type[0]) != type.npos &&
         std::string_view("suzhr").find(type[1]) != type.npos &&
         std::string_view("ae").find(type[2]) != type.npos;
}

InputMatrix read_rutherford_boeing(const std::string& path) {
  return std::get<InputMatrix>(
      with_finite_sums(RutherfordBoeingReader(path, false).read(), path));
}

AnyMatrix read_any_rutherford_boeing(const std::string& path) {
  return with_finite_sums(RutherfordBoeingReader(path, true).read(), path);
}

}  // namespace espalier::solver
