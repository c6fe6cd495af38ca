#include "espalier/io/dot_lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

using Kind = DotToken::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 6> kKeywords = {
    {{"strict", Kind::kStrict},
     {"graph", Kind::kGraph},
     {"digraph", Kind::kDigraph},
     {"node", Kind::kNode},
     {"edge", Kind::kEdge},
     {"subgraph", Kind::kSubgraph}}};

constexpr std::array<std::pair<char, Kind>, 8> kMarks = {{{'{', Kind::kOpenBrace},
                                                          {'}', Kind::kCloseBrace},
                                                          {'[', Kind::kOpenBracket},
                                                          {']', Kind::kCloseBracket},
                                                          {'=', Kind::kEquals},
                                                          {',', Kind::kComma},
                                                          {';', Kind::kSemicolon},
                                                          {':', Kind::kColon}}};

bool is_digit(int c) { return c >= '0' && c <= '9'; }

bool is_name_start(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

bool is_blank(int c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

Kind keyword_or_id(std::string_view text) {
  for (const auto& [keyword, kind] : kKeywords) {
    if (std::ranges::equal(text, keyword, {}, lower)) return kind;
  }
  return Kind::kId;
}

}  // namespace

std::string describe(const DotToken& token) {
  return token.kind == Kind::kEnd ? "the end of the file" : excerpt(token.text);
}

DotToken DotLexer::next() {
  skip_blanks();
  const int c = text_.peek();
  if (c == TextInput::kEnd) return {.kind = Kind::kEnd, .line = text_.line()};
  at_line_start_ = false;
  if (c == '"') return quoted_string();
  if (c == '<') return html_string();
  if (c == '-') return dash();
  if (is_name_start(c)) return word();
  text_.take();
  DotToken token{.kind = Kind::kId, .text = {static_cast<char>(c)}, .line = text_.line()};
  if (is_digit(c) || c == '.') return number(std::move(token));
  for (const auto& [mark, kind] : kMarks) {
    token.kind = kind;
    if (c == mark) return token;
  }
  text_.fail(fmt::format("{} is not of the DOT language", excerpt(token.text)));
}

void DotLexer::skip_blanks() {
  for (int c = text_.peek();; c = text_.peek()) {
    if (c == '\n') at_line_start_ = true;
    if (is_blank(c)) {
      text_.take();
    } else if (c == '#' && at_line_start_) {
      skip_line();
    } else if (c == '/') {
      skip_comment();
    } else {
      return;
    }
  }
}

void DotLexer::skip_line() {
  while (text_.peek() != '\n' && text_.peek() != TextInput::kEnd) text_.take();
}

void DotLexer::skip_comment() {
  text_.take();
  if (text_.peek() == '/') return skip_line();
  if (text_.peek() != '*') text_.fail("'/' begins no comment");
  text_.take();
  const std::int64_t begin = text_.line();
  for (bool star = false;;) {
    const int c = text_.take();
    if (c == TextInput::kEnd)
      throw FileError(text_.name(), begin, "the comment does not end");
    if (star && c == '/') return;
    star = c == '*';
  }
}

DotToken DotLexer::word() {
  DotToken token;
  while (is_name_start(text_.peek()) || is_digit(text_.peek()))
    token.text.push_back(static_cast<char>(text_.take()));
  token.line = text_.line();
  token.kind = keyword_or_id(token.text);
  return token;
}

// After its first character: a digit, a point or a minus.
DotToken DotLexer::number(DotToken token) {
  token.kind = Kind::kId;
  bool point = token.text == ".";
  for (int c = text_.peek(); is_digit(c) || (c == '.' && !point); c = text_.peek()) {
    point = point || c == '.';
    token.text.push_back(static_cast<char>(text_.take()));
  }
  if (std::ranges::none_of(token.text, is_digit))
    text_.fail(fmt::format("{} is not a number", excerpt(token.text)));
  if (is_name_start(text_.peek()))
    text_.fail(
        fmt::format("number {} runs into a letter; names and numbers such as "
                    "\"1e6\" need quotes",
                    excerpt(token.text)));
  return token;
}

DotToken DotLexer::dash() {
  text_.take();
  DotToken token{.kind = Kind::kUndirected, .text = "-", .line = text_.line()};
  const int c = text_.peek();
  if (c != '>' && c != '-') return number(std::move(token));
  text_.take();
  token.text.push_back(static_cast<char>(c));
  if (c == '>') token.kind = Kind::kArrow;
  return token;
}

DotToken DotLexer::quoted_string() {
  DotToken token{.kind = Kind::kId, .text = {}, .line = 0};
  quoted_part(token);
  for (skip_blanks(); text_.peek() == '+'; skip_blanks()) {
    text_.take();
    skip_blanks();
    if (text_.peek() != '"') text_.fail("'+' is not followed by a quoted string");
    at_line_start_ = false;
    quoted_part(token);
  }
  return token;
}

void DotLexer::quoted_part(DotToken& token) {
  text_.take();  // the quote
  const std::int64_t begin = text_.line();
  if (token.line == 0) token.line = begin;
  for (int c = text_.take(); c != '"'; c = text_.take()) {
    if (c == TextInput::kEnd)
      throw FileError(text_.name(), begin, "the string does not end");
    if (c == '\\' && text_.peek() == '"') {
      c = text_.take();
    } else if (c == '\\' && text_.peek() == '\n') {
      text_.take();
      continue;
    } else if (c == '\\' && text_.peek() == '\\') {
      token.text.push_back(static_cast<char>(text_.take()));
    }
    token.text.push_back(static_cast<char>(c));
  }
}

DotToken DotLexer::html_string() {
  text_.take();
  DotToken token{.kind = Kind::kId, .text = {}, .line = text_.line()};
  for (std::int64_t open = 1; open > 0;) {
    const int c = text_.take();
    if (c == TextInput::kEnd)
      throw FileError(text_.name(), token.line, "the HTML string does not end");
    if (c == '<') ++open;
    if (c == '>') --open;
    if (open > 0) token.text.push_back(static_cast<char>(c));
  }
  return token;
}

}  // namespace espalier
