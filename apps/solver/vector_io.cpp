#include "solver/vector_io.h"

#include <fmt/format.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "espalier/model/error.h"
#include "solver/matrix_market_header.h"
#include "solver/text_reader.h"

namespace espalier::solver {
namespace {

void check_header(const TextReader& reader, const char* at,
                  const MatrixMarketHeader& header, std::int64_t rows) {
  if (header.format != "array" || header.symmetry != "general" ||
      (header.field != "real" && header.field != "integer")) {
    reader.fail(fmt::format("'{} {} {}': a right-hand side must be 'array real general'",
                            header.format, header.field, header.symmetry));
  }
  if (header.rows != rows || header.columns < 1) {
    reader.fail_at(at, fmt::format("{} x {} values for a matrix of order {}", header.rows,
                                   header.columns, rows));
  }
  if (header.entries > reader.most_bytes() / 2 + 1) {  // a digit and a line end each
    reader.fail_at(at, fmt::format("{} values announced in a file too short for them",
                                   header.entries));
  }
}

}  // namespace

DenseVectors read_vectors(const std::string& path, std::int64_t rows) {
  TextReader reader(path);
  std::string_view text;
  const MatrixMarketHeader header = read_header(reader, text);
  check_header(reader, text.data() - 1, header, rows);
  DenseVectors vectors{header.rows, header.columns, {}};
  vectors.values.reserve(header.entries);
  do {
    while (!text.empty()) {
      std::string_view line = take_line(text);
      if (is_blank_or_comment(line)) continue;
      const char* const at = line.data();
      double value = 0;
      const std::string fault = parse_value(take_word(line), value);
      if (!fault.empty()) reader.fail_at(at, fault);
      if (!take_word(line).empty()) reader.fail_at(at, "expected one value");
      if (std::ssize(vectors.values) == header.entries) {
        reader.fail_at(at,
                       fmt::format("more than the {} values announced", header.entries));
      }
      vectors.values.push_back(value);
    }
    text = reader.next_block();
  } while (!text.empty());
  if (std::ssize(vectors.values) < header.entries) {
    reader.fail_at(text.data(), fmt::format("the file ends after {} of {} values",
                                            vectors.values.size(), header.entries));
  }
  return vectors;
}

void write_vectors(const std::string& path, std::span<const double> values,
                   std::int64_t rows) {
  errno = 0;
  const auto fail = [&path] {
    throw FileError(
        path, 0,
        fmt::format("cannot write: {}", errno ? std::strerror(errno) : "unknown reason"));
  };
  gzFile file = gzopen(path.c_str(), path.ends_with(".gz") ? "wb" : "wbT");
  if (file == nullptr) fail();
  constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
  std::string text = "%%MatrixMarket matrix array real general\n";
  fmt::format_to(std::back_inserter(text), "{} {}\n", rows,
                 rows > 0 ? std::ssize(values) / rows : 1);
  bool written = true;
  const auto flush = [&] {
    if (!text.empty()) {
      written &= gzwrite(file, text.data(), static_cast<unsigned>(text.size())) > 0;
    }
    text.clear();
  };
  for (double value : values) {
    fmt::format_to(std::back_inserter(text), "{}\n", value);
    if (text.size() > kFlushBytes) flush();
  }
  flush();
  if (gzclose(file) != Z_OK || !written) fail();
}

}  // namespace espalier::solver
