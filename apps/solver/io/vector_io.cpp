#include "solver/io/vector_io.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "espalier/io/output_file.h"
#include "espalier/model/error.h"
#include "solver/io/matrix_market_entries.h"
#include "solver/io/matrix_market_header.h"
#include "solver/io/text_reader.h"

namespace espalier::solver {
namespace {

constexpr std::int64_t kEmptyColumns = 100;  // that are accepted in any file

class VectorReader {
 public:
  // `parts`: 2 for complex numbers, 1 for real ones.
  VectorReader(const std::string& path, std::int64_t parts)
      : text_(path), parts_(parts) {}

  DenseVectors read(std::int64_t rows) {
    std::string_view text;
    header_ = read_header(text_, text);
    check_header(text.data() - 1, rows);
    sparse_ = header_.format == "coordinate";
    vectors_ = {parts_ * header_.rows, header_.columns, {}, {}};
    if (sparse_)
      vectors_.values.resize(vectors_.rows * vectors_.columns);
    else
      vectors_.values.reserve(parts_ * header_.entries);
    do {
      sparse_ ? read_entries(text) : read_values(text);
      text = text_.next_block();
    } while (!text.empty());
    if (read_ < header_.entries)
      text_.fail_at(text.data(), fmt::format("the file ends after {} of {} {}", read_,
                                             header_.entries, what()));
    vectors_.rows_with_entries = rows_with_entries();
    return std::move(vectors_);
  }

 private:
  // Whether the file's values have two parts.
  [[nodiscard]] bool complex() const { return header_.field == "complex"; }
  [[nodiscard]] const char* what() const { return sparse_ ? "entries" : "values"; }

  void check_header(const char* at, std::int64_t rows) const {
    const auto& [format, field, symmetry, file_rows, columns, entries] = header_;
    const bool known = field == "real" || field == "integer" || (complex() && parts_ > 1);
    if (complex() && parts_ == 1)
      text_.fail_at_banner("a complex right-hand side, of a real matrix");
    if (symmetry != "general" || !known) {
      text_.fail_at_banner(
          fmt::format("'{} {} {}': a right-hand side must be 'array real general' "
                      "or 'coordinate real general'{}",
                      format, field, symmetry, parts_ > 1 ? ", or complex" : ""));
    }
    if (file_rows != rows || columns < 1) {
      text_.fail_at(at, fmt::format("{} x {} values for a matrix of order {}", file_rows,
                                    columns, rows));
    }
    const bool array = format == "array";
    if (entries >
        text_.most_bytes() / (array ? 2 : 6) + 1) {  // "1\n", "1 1 1\n" at least
      text_.fail_at(at, fmt::format("{} {} announced in a file too short for them",
                                    entries, array ? "values" : "entries"));
    }
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
    if (columns > kMost || rows > kMost) {
      text_.fail_at(at, fmt::format("{} x {}: more than 2^31 - 1", file_rows, columns));
    }
    // So that a file of one line cannot ask for gigabytes.
    if (!array && columns > entries + kEmptyColumns) {
      text_.fail_at(at, fmt::format("{} columns with {} entries: most are empty", columns,
                                    entries));
    }
  }

  [[noreturn]] void fail_too_many(const char* at) const {
    text_.fail_at(at,
                  fmt::format("more than the {} {} announced", header_.entries, what()));
  }

  void read_values(std::string_view text) {
    while (!text.empty()) {
      std::string_view line = take_line(text);
      if (is_blank_or_comment(line)) continue;
      const char* const at = line.data();
      double value = 0;
      const std::string fault = parse_value(take_word(line), value);
      if (!fault.empty()) text_.fail_at(at, fault);
      double part = 0;
      const std::string other = complex() ? parse_value(take_word(line), part) : "";
      if (!other.empty()) text_.fail_at(at, fmt::format("imaginary part: {}", other));
      if (!take_word(line).empty())
        text_.fail_at(at, complex() ? "expected two values" : "expected one value");
      if (read_++ == header_.entries) fail_too_many(at);
      vectors_.values.push_back(value);
      if (parts_ > 1) vectors_.values.push_back(part);
    }
  }

  void read_entries(std::string_view text) {
    const auto [rows, columns] = std::pair(header_.rows, header_.columns);
    cut_into_chunks(text, chunks_);
    for (EntryChunk& chunk : chunks_) {
      parse_chunk(chunk, static_cast<std::int32_t>(std::max(rows, columns)),
                  complex()                 ? EntryField::kComplex
                  : header_.field == "real" ? EntryField::kReal
                                            : EntryField::kInteger);
      for (std::size_t k = 0; k < chunk.entries.size(); ++k) add(chunk, k);
      if (chunk.fault) text_.fail_at(chunk.fault->position, chunk.fault->message);
    }
  }

  void add(const EntryChunk& chunk, std::size_t k) {
    const auto& [row, column, value] = chunk.entries[k];
    const auto fail = [&](const char* what, std::int64_t index, std::int64_t most) {
      text_.fail_at(entry_position(chunk, k),
                    fmt::format("{} {} is outside 1 … {}", what, index + 1, most));
    };
    if (row >= header_.rows) fail("row", row, header_.rows);
    if (column >= header_.columns) fail("column", column, header_.columns);
    if (read_++ == header_.entries) fail_too_many(entry_position(chunk, k));
    double* const sum = &vectors_.values[parts_ * row + column * vectors_.rows];
    sum[0] += value;
    if (complex()) sum[1] += chunk.imaginary[k];
    if (!std::isfinite(sum[0]) || !std::isfinite(sum[parts_ - 1])) {
      text_.fail_at(entry_position(chunk, k),
                    fmt::format("the sum of the values at ({}, {}) is outside the range "
                                "of a double",
                                row + 1, column + 1));
    }
  }

  [[nodiscard]] std::vector<std::int32_t> rows_with_entries() const {
    const std::int64_t rows = vectors_.rows;
    std::vector<bool> entry(rows);
    for (std::int64_t c = 0; c < vectors_.columns; ++c)
      for (std::int64_t i = 0; i < rows; ++i)
        if (vectors_.values[i + c * rows] != 0) entry[i] = true;
    std::vector<std::int32_t> result;
    for (std::int64_t i = 0; i < rows; ++i)
      if (entry[i]) result.push_back(static_cast<std::int32_t>(i));
    return result;
  }

  TextReader text_;
  std::int64_t parts_;  // of a value in the result
  MatrixMarketHeader header_;
  DenseVectors vectors_;
  std::vector<EntryChunk> chunks_;
  std::int64_t read_ = 0;  // values or entries
  bool sparse_ = false;
};

}  // namespace

DenseVectors read_vectors(const std::string& path, std::int64_t rows) {
  return VectorReader(path, 1).read(rows);
}

DenseVectors read_complex_vectors(const std::string& path, std::int64_t rows) {
  return VectorReader(path, 2).read(rows);
}

namespace {

// zlib's end of a file; the descriptor is a copy, which gzclose() closes.
class Compressed {
 public:
  Compressed(OutputFile& file, const std::string& path)
      : path_(path), file_(gzdopen(file.copy_of_descriptor(), "wb")) {
    if (file_ == nullptr) fail();
  }
  Compressed(const Compressed&) = delete;
  Compressed& operator=(const Compressed&) = delete;
  ~Compressed() {
    if (file_ != nullptr) gzclose(file_);
  }
  void write(std::string_view text) {
    if (gzwrite(file_, text.data(), static_cast<unsigned>(text.size())) <= 0) fail();
  }
  void close() {
    if (gzclose(std::exchange(file_, nullptr)) != Z_OK) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw WriteError(path_, 0,
                     fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  const std::string& path_;
  gzFile file_;
};

void append(std::string& text, double value) {
  fmt::format_to(std::back_inserter(text), "{}\n", value);
}
void append(std::string& text, Complex value) {
  fmt::format_to(std::back_inserter(text), "{} {}\n", value.real(), value.imag());
}

template <class Value, class Write>
void format_vectors(std::span<const Value> values, std::int64_t rows, Write&& write) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  std::string text = fmt::format("%%MatrixMarket matrix array {} general\n",
                                 std::is_same_v<Value, Complex> ? "complex" : "real");
  fmt::format_to(std::back_inserter(text), "{} {}\n", rows,
                 rows > 0 ? std::ssize(values) / rows : 1);
  for (const Value value : values) {
    append(text, value);
    if (text.size() <= kBlock) continue;
    write(std::string_view(text));
    text.clear();
  }
  if (!text.empty()) write(std::string_view(text));
}

template <class Value>
void write_any_vectors(const std::string& path, std::span<const Value> values,
                       std::int64_t rows) {
  OutputFile file(path);
  if (path.ends_with(".gz")) {
    Compressed compressed(file, path);
    format_vectors(values, rows, [&](std::string_view text) { compressed.write(text); });
    compressed.close();
  } else {
    format_vectors(values, rows, [&](std::string_view text) { file.write(text); });
  }
  file.commit();
}

}  // namespace

void write_vectors(const std::string& path, std::span<const double> values,
                   std::int64_t rows) {
  write_any_vectors(path, values, rows);
}

void write_complex_vectors(const std::string& path, std::span<const Complex> values,
                           std::int64_t rows) {
  write_any_vectors(path, values, rows);
}

}  // namespace espalier::solver
