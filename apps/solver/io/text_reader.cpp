#include "solver/io/text_reader.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>

namespace espalier::solver {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
constexpr std::int64_t kMostDeflateRatio = 1032;  // the limit of the format

// Position of the first character from `at` that is blank, or is not; else the size.
std::size_t find(std::string_view text, std::size_t at, bool blank) {
  while (at < text.size() && is_blank(text[at]) != blank) ++at;
  return at;
}

}  // namespace

void TextReader::Close::operator()(gzFile_s* file) const noexcept { gzclose(file); }

TextReader::TextReader(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) fail("no such file");
  if (error) fail(error.message());
  if (fs::is_directory(status)) fail("is a directory");
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) fail(errno ? std::strerror(errno) : "out of memory");
  gzbuffer(file_.get(), 1U << 18);
  buffer_ = std::make_unique_for_overwrite<char[]>(kBlockBytes);
  most_bytes_ = std::numeric_limits<std::int64_t>::max();  // not known
  if (!fs::is_regular_file(status)) return;
  const auto bytes = static_cast<std::int64_t>(fs::file_size(path, error));
  if (!error) most_bytes_ = gzdirect(file_.get()) ? bytes : bytes * kMostDeflateRatio;
}

void TextReader::fill() {
  while (!at_end_ && used_ < kBlockBytes) {
    const int got = gzread(file_.get(), buffer_.get() + used_,
                           static_cast<unsigned>(kBlockBytes - used_));
    int status = Z_OK;
    const char* message = gzerror(file_.get(), &status);
    used_ += std::max(got, 0);
    const char* const end = buffer_.get() + used_;
    if (status == Z_BUF_ERROR) fail_at(end, "the gzip data is cut off here");
    if (status == Z_ERRNO) fail_at(end, std::strerror(errno));
    if (status != Z_OK && status != Z_STREAM_END) {
      fail_at(end, fmt::format("damaged gzip data: {}", message));
    }
    at_end_ = got <= 0;
  }
}

std::string_view TextReader::beginning() {
  fill();
  return {buffer_.get(), used_};
}

std::string_view TextReader::next_block() {
  char* const end_of_block = buffer_.get() + block_;
  block_line_ += std::count(buffer_.get(), end_of_block, '\n');
  std::copy(end_of_block, buffer_.get() + used_, buffer_.get());
  used_ -= block_;
  block_ = 0;
  fill();
  const std::string_view text(buffer_.get(), used_);
  if (at_end_) {
    block_ = used_;
  } else {
    const std::size_t last_end = text.rfind('\n');
    if (last_end == text.npos) {
      fail_at(buffer_.get(), fmt::format("a line longer than {} bytes", kBlockBytes));
    }
    block_ = last_end + 1;
  }
  return text.substr(0, block_);
}

std::int64_t TextReader::line_of(const char* position) const {
  return block_line_ + std::count<const char*>(buffer_.get(), position, '\n');
}

void TextReader::fail_at(const char* position, const std::string& message) const {
  throw FileError(path_, line_of(position), message);
}

void TextReader::fail_at_banner(const std::string& message) const {
  throw FileError(path_, 1, message);
}

void TextReader::fail(const std::string& message) const {
  throw FileError(path_, 0, message);
}

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::string_view take_word(std::string_view& line) {
  const std::size_t start = find(line, 0, false);
  const std::size_t end = find(line, start, true);
  const std::string_view word = line.substr(start, end - start);
  line.remove_prefix(end);
  return word;
}

std::string lower_case(std::string_view word) {
  std::string result(word);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

bool is_blank_or_comment(std::string_view line) {
  return line.starts_with('%') || find(line, 0, false) == line.size();
}

}  // namespace espalier::solver
