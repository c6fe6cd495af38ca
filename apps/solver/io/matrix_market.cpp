#include "solver/io/matrix_market.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "solver/io/complex_entries.h"
#include "solver/io/matrix_market_entries.h"
#include "solver/io/matrix_market_header.h"
#include "solver/io/rutherford_boeing.h"
#include "solver/io/text_reader.h"
#include "solver/matrix/triplets.h"

namespace espalier::solver {
namespace {

constexpr std::int64_t kEmptyRows = 1'000'000;  // that are accepted in any file

using Symmetry = FileSymmetry;
enum class Accepted { kSymmetric, kReal, kAny };

class MatrixMarketReader {
 public:
  MatrixMarketReader(TextReader&& text, Accepted accepted)
      : path_(text.path()), text_(std::move(text)), accepted_(accepted) {}
  MatrixMarketReader(const std::string& path, Accepted accepted)
      : MatrixMarketReader(TextReader(path), accepted) {}

  AnyMatrix read() {
    std::string_view text;
    header_ = read_header(text_, text);
    check_header(text.data() - 1);
    size_ = static_cast<std::int32_t>(header_.rows);
    if (!complex())
      lower_.reserve(symmetry_ == Symmetry::kGeneral ? header_.entries / 2 + size_ / 2
                                                     : header_.entries);
    read_entries(text);
    if (complex()) return std::move(complex_).assembled(symmetry_, size_);
    return assembled();
  }

 private:
  [[nodiscard]] bool complex() const { return field_ == EntryField::kComplex; }

  // @return false: not one of the words
  bool take_field() {
    const std::string& field = header_.field;
    field_ = field == "real"      ? EntryField::kReal
             : field == "integer" ? EntryField::kInteger
             : field == "pattern" ? EntryField::kPattern
                                  : EntryField::kComplex;
    return field_ != EntryField::kComplex || field == "complex";
  }

  bool take_symmetry() {
    const std::string& symmetry = header_.symmetry;
    symmetry_ = symmetry == "symmetric"   ? Symmetry::kSymmetric
                : symmetry == "general"   ? Symmetry::kGeneral
                : symmetry == "hermitian" ? Symmetry::kHermitian
                                          : Symmetry::kSkew;
    if (symmetry_ == Symmetry::kHermitian) return complex();
    return symmetry_ != Symmetry::kSkew ||
           (symmetry == "skew-symmetric" && accepted_ != Accepted::kSymmetric);
  }

  void check_words() {
    const auto& [format, field, symmetry, rows, columns, entries] = header_;
    if (accepted_ != Accepted::kAny && (field == "complex" || symmetry == "hermitian")) {
      throw FileError(
          path_, 1,
          fmt::format("'{} {}': complex matrices are not read here, only real "
                      "ones; espalier solve does",
                      field, symmetry));
    }
    const bool known_field = take_field(), known_symmetry = take_symmetry();
    if (format != "coordinate" || !known_field || !known_symmetry) {
      throw FileError(path_, 1,
                      fmt::format("'{} {} {}': the matrix must be 'coordinate', 'real', "
                                  "'integer' or 'pattern'{}, and 'symmetric' or {}",
                                  format, field, symmetry,
                                  accepted_ == Accepted::kAny
                                      ? ", or 'complex', which may be 'hermitian', too"
                                      : "",
                                  accepted_ == Accepted::kSymmetric
                                      ? "'general'"
                                      : "'skew-symmetric' or 'general'"));
    }
  }

  void check_header(const char* size_line) {
    const auto [rows, columns, entries] =
        std::tuple(header_.rows, header_.columns, header_.entries);
    check_words();
    if (rows != columns) {
      text_.fail_at(size_line, fmt::format("{} x {}: not square", rows, columns));
    }
    if (rows > std::numeric_limits<std::int32_t>::max()) {
      text_.fail_at(size_line, fmt::format("order {}: more than 2^31 - 1", rows));
    }
    if (complex() && rows > kMostComplexOrder) {
      text_.fail_at(size_line, fmt::format("order {} of a complex matrix: more than {}",
                                           rows, kMostComplexOrder));
    }
    if (entries > text_.most_bytes() / 4 + 1) {  // "1 1\n" at least
      text_.fail_at(size_line, fmt::format("{} entries announced in a file too short for "
                                           "them",
                                           entries));
    }
    // So that a file of one line cannot ask for gigabytes.
    if (rows > 2 * entries + kEmptyRows) {
      text_.fail_at(
          size_line,
          fmt::format("order {} with {} entries: most rows are empty", rows, entries));
    }
  }

  void read_entries(std::string_view text) {
    std::vector<EntryChunk> chunks;
    do {
      read_block(text, chunks);
      text = text_.next_block();
    } while (!text.empty());
    if (read_ < header_.entries)
      text_.fail_at(text.data(), fmt::format("the file ends after {} of {} entries",
                                             read_, header_.entries));
  }

  void read_block(std::string_view text, std::vector<EntryChunk>& chunks) {
    cut_into_chunks(text, chunks);
    const auto count = static_cast<std::int64_t>(chunks.size());
#pragma omp parallel for schedule(dynamic) if (count > 1)
    for (std::int64_t k = 0; k < count; ++k) parse_chunk(chunks[k], size_, field_);
    for (const EntryChunk& chunk : chunks) {
      append(chunk);
      if (chunk.fault) text_.fail_at(chunk.fault->position, chunk.fault->message);
    }
  }

  void append(const EntryChunk& chunk) {
    for (const MatrixMarketEntry& entry : chunk.entries) {
      const auto fail = [&](const std::string& message) {
        text_.fail_at(entry_position(chunk, &entry - chunk.entries.data()), message);
      };
      if (read_++ == header_.entries) {
        fail(fmt::format("more than the {} entries announced", header_.entries));
      }
      const auto [row, column, value] = entry;
      if (complex()) {
        const double part = chunk.imaginary[&entry - chunk.entries.data()];
        complex_.append(symmetry_, row, column, {value, part});
        if (symmetry_ == Symmetry::kHermitian && row == column && part != 0)
          fail(
              fmt::format("entry ({0}, {0}): imaginary part {1}, but the diagonal of a "
                          "hermitian matrix is real",
                          row + 1, part));
      } else if (row >= column) {
        lower_.append(row, column, value);
      } else {
        const bool general = symmetry_ == Symmetry::kGeneral;
        const bool negate = symmetry_ == Symmetry::kSkew;
        (general ? upper_ : lower_).append(column, row, negate ? -value : value);
      }
      if (symmetry_ == Symmetry::kSkew && row == column) {
        fail(fmt::format("entry ({0}, {0}): a skew-symmetric matrix has no diagonal",
                         row + 1));
      }
      if (symmetry_ == Symmetry::kGeneral || row == column) continue;
      if (triangle_ == 0) triangle_ = row > column ? 1 : -1;
      if ((row > column) != (triangle_ > 0)) {
        fail(fmt::format(
            "entry ({}, {}) is in the {} triangle, earlier ones in the other; "
            "a {} file gives one of them",
            row + 1, column + 1, row > column ? "lower" : "upper", header_.symmetry));
      }
    }
  }

  InputMatrix assembled() {
    SymmetricMatrix lower = assemble(size_, std::move(lower_));
    if (symmetry_ == Symmetry::kSymmetric) return lower;
    if (symmetry_ == Symmetry::kSkew) return skew_symmetric(std::move(lower));
    SymmetricMatrix upper = assemble(size_, std::move(upper_));
    if (accepted_ == Accepted::kSymmetric) {
      if (const auto found = first_difference(lower, upper)) report_unsymmetric(*found);
    }
    return from_triangles(std::move(lower), std::move(upper));
  }

  [[noreturn]] void report_unsymmetric(const TriangleDifference& difference) const;

  std::string path_;
  TextReader text_;
  MatrixMarketHeader header_;
  EntryField field_ = EntryField::kReal;
  Symmetry symmetry_ = Symmetry::kSymmetric;
  Accepted accepted_;
  std::int32_t size_ = 0;
  std::int64_t read_ = 0;
  int triangle_ = 0;  // of a symmetric file: 1 lower, -1 upper, 0 not known yet
  Triplets lower_, upper_;
  ComplexEntries complex_;  // in their place
};

// Line of the first entry (row, column) of a file that has been read before; 0: none.
std::int64_t find_entry(const std::string& path, std::int32_t row, std::int32_t column,
                        std::int32_t size, EntryField field) {
  TextReader reader(path);
  EntryChunk chunk;
  static_cast<void>(read_header(reader, chunk.text));
  do {
    parse_chunk(chunk, size, field);
    for (std::size_t k = 0; k < chunk.entries.size(); ++k) {
      if (chunk.entries[k].row == row && chunk.entries[k].column == column) {
        return reader.line_of(entry_position(chunk, k));
      }
    }
    chunk.text = reader.next_block();
  } while (!chunk.text.empty());
  return 0;
}

void MatrixMarketReader::report_unsymmetric(const TriangleDifference& difference) const {
  const auto [row, column, below, above] = difference;
  const auto describe = [&](std::int32_t i, std::int32_t j, double value) {
    const std::int64_t line = find_entry(path_, i, j, size_, field_);
    const std::string entry = fmt::format("({}, {})", i + 1, j + 1);
    return std::pair(line, line == 0
                               ? fmt::format("{} is not given", entry)
                               : fmt::format("{} is {} (line {})", entry, value, line));
  };
  const auto lower = describe(row, column, below);
  const auto upper = describe(column, row, above);
  throw FileError(path_, std::max(lower.first, upper.first),
                  fmt::format("not symmetric: {}, {}", lower.second, upper.second));
}

}  // namespace

SymmetricMatrix read_matrix_market(const std::string& path) {
  return std::get<SymmetricMatrix>(
      std::get<InputMatrix>(MatrixMarketReader(path, Accepted::kSymmetric).read()));
}

InputMatrix read_matrix(const std::string& path) {
  if (is_rutherford_boeing(path)) return read_rutherford_boeing(path);
  return read_matrix(TextReader(path));
}

InputMatrix read_matrix(TextReader&& text) {
  const std::string path = text.path();
  return std::get<InputMatrix>(with_finite_sums(
      MatrixMarketReader(std::move(text), Accepted::kReal).read(), path));
}

AnyMatrix read_any_matrix(const std::string& path) {
  return is_rutherford_boeing(path)
             ? read_any_rutherford_boeing(path)
             : with_finite_sums(MatrixMarketReader(path, Accepted::kAny).read(), path);
}

}  // namespace espalier::solver
