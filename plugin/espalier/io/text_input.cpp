#include "espalier/io/text_input.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::size_t kBlock = 64 * 1024;

}  // namespace

TextInput::TextInput(std::istream& in, const std::string& name)
    : in_(in), name_(name), buffer_(kBlock) {
  fill();
  if (std::string_view(buffer_.data(), size_).starts_with(kByteOrderMark))
    first_ = kByteOrderMark.size();
}

void TextInput::fail(const std::string& message) const {
  throw FileError(name_, line_, message);
}

bool TextInput::take_line(std::string& line) {
  line.clear();
  if (peek() == kEnd) return false;
  line_ += after_newline_ ? 1 : 0;
  after_newline_ = false;
  while (!after_newline_ && peek() != kEnd) {
    const std::string_view text(buffer_.data() + first_, size_ - first_);
    const std::size_t end = text.find('\n');
    line += text.substr(0, end);
    if (line.size() > kLongestLine)
      fail(fmt::format("the line is longer than {} bytes", kLongestLine));
    after_newline_ = end != std::string_view::npos;
    first_ += after_newline_ ? end + 1 : text.size();
  }
  return true;
}

void TextInput::fill() {
  if (at_end_) return;
  in_.read(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
  if (in_.bad()) throw FileError(name_, 0, "cannot be read");
  at_end_ = !in_;
  first_ = 0;
  size_ = static_cast<std::size_t>(in_.gcount());
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kMost = 80;
  std::string shown(text.substr(0, kMost));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; },
      '?');
  return "'" + shown + (text.size() > kMost ? "…'" : "'");
}

}  // namespace espalier
