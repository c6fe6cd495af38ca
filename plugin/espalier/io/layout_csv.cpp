#include "espalier/io/layout_csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <istream>
#include <optional>
#include <utility>

#include "espalier/io/csv_lines.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

enum Column : std::size_t { kId, kLower, kUpper, kSize, kOffset, kColumns };

constexpr std::array<std::string_view, kColumns> kNames = {"id", "lower", "upper", "size",
                                                           "offset"};
constexpr std::array<std::pair<std::string_view, Column>, 10> kColumnOf = {
    {{"id", kId},
     {"buffer", kId},
     {"buffer_id", kId},
     {"lower", kLower},
     {"start", kLower},
     {"begin", kLower},
     {"upper", kUpper},
     {"end", kUpper},
     {"size", kSize},
     {"offset", kOffset}}};

// Where each column stands.
class Header {
 public:
  explicit Header(const CsvLines& lines) : fields_(lines.fields().size()) {
    for (std::size_t f = 0; f < fields_; ++f) add(lines, f);
    for (const Column column : {kId, kLower, kUpper, kSize}) {
      if (!at_[column])
        lines.fail(fmt::format("the column '{}' is missing from {}", kNames[column],
                               excerpt(lines.line())));
    }
  }

  // The line without the column `offset`.
  void append(const CsvLines& lines, LayoutFile& file) const {
    if (lines.fields().size() != fields_)
      lines.fail(
          fmt::format("{} fields, the header has {}", lines.fields().size(), fields_));
    bool first = true;
    for (std::size_t f = 0; f < fields_; ++f) {
      if (at_[kOffset] == f) continue;
      if (!first) file.text += ',';
      file.text += lines.fields()[f];
      first = false;
    }
    file.ends.push_back(file.text.size());
  }

  [[nodiscard]] std::string_view text(const CsvLines& lines, Column column) const {
    return lines.fields()[*at_[column]];
  }

  [[nodiscard]] std::int64_t integer(const CsvLines& lines, Column column) const {
    const std::string_view field = text(lines, column);
    std::int64_t value = 0;
    const char* end = field.data() + field.size();
    const auto [stop, error] = std::from_chars(field.data(), end, value);
    if (error == std::errc::result_out_of_range)
      lines.fail(fmt::format("{} {} is out of range", kNames[column], excerpt(field)));
    if (error != std::errc() || stop != end)
      lines.fail(fmt::format("{} {} is not an integer", kNames[column], excerpt(field)));
    return value;
  }

  [[nodiscard]] bool upper_is_included() const { return upper_is_included_; }

 private:
  void add(const CsvLines& lines, std::size_t field) {
    const std::string_view name = lines.fields()[field];
    if (name == "alignment" || name == "gaps")
      lines.fail(fmt::format("the column '{}' is not supported", name));
    const auto known =
        std::ranges::find(kColumnOf, name, &std::pair<std::string_view, Column>::first);
    if (known == kColumnOf.end()) return;
    if (at_[known->second])
      lines.fail(fmt::format("the column '{}' is there twice", kNames[known->second]));
    at_[known->second] = field;
    if (name == "end") upper_is_included_ = true;
  }

  std::size_t fields_;
  std::array<std::optional<std::size_t>, kColumns> at_;
  bool upper_is_included_ = false;
};

Buffer read_buffer(const CsvLines& lines, const Header& header) {
  Buffer buffer{header.integer(lines, kLower), header.integer(lines, kUpper),
                header.integer(lines, kSize)};
  if (header.upper_is_included() &&
      __builtin_add_overflow(buffer.upper, 1, &buffer.upper))
    lines.fail(fmt::format("end {} is out of range", header.text(lines, kUpper)));
  if (buffer.lower >= buffer.upper)
    lines.fail(fmt::format("buffer {}: the lifetime [{}, {}) is empty",
                           excerpt(header.text(lines, kId)), buffer.lower, buffer.upper));
  if (buffer.size < 0)
    lines.fail(fmt::format("buffer {}: the size {} is negative",
                           excerpt(header.text(lines, kId)), buffer.size));
  return buffer;
}

}  // namespace

LayoutFile read_layout_csv(std::istream& in, const std::string& name, Bytes alignment) {
  CsvLines lines(in, name);
  if (!lines.next()) throw FileError(name, 0, "holds no header");
  const Header header(lines);
  LayoutFile file;
  header.append(lines, file);
  std::vector<Buffer> buffers;
  std::vector<std::int64_t> numbers;  // of the lines
  AlignedTotal total(alignment);
  while (lines.next()) {
    header.append(lines, file);
    buffers.push_back(read_buffer(lines, header));
    numbers.push_back(lines.number());
    const std::string_view id = header.text(lines, kId);
    if (id.empty()) lines.fail("the id is empty");
    if (!file.ids.add(id))
      lines.fail(fmt::format("id {} is that of line {} already", excerpt(id),
                             numbers[*file.ids.find(id)]));
    if (const Bytes size = buffers.back().size; !total.add(size))
      lines.fail(total.overflow_at(size));
  }
  file.ids.freeze();
  file.buffers = BufferSet(std::move(buffers));
  return file;
}

LayoutFile read_layout_csv(const std::string& path) {
  LayoutFile file;
  read_file(path, [&](std::istream& in) { file = read_layout_csv(in, path); });
  return file;
}

void write_layout_csv(std::ostream& out, const LayoutFile& file,
                      std::span<const Bytes> offsets) {
  TextOutput text(out);
  text.line("{},offset", file.header());
  for (std::size_t i = 0; i < file.buffers.size(); ++i)
    text.line("{},{}", file.line_of(buffer_id(i)), offsets[i]);
  text.flush();
}

void write_layout_csv(const std::string& path, const LayoutFile& file,
                      std::span<const Bytes> offsets) {
  write_file(path, [&](std::ostream& out) { write_layout_csv(out, file, offsets); });
}

}  // namespace espalier
