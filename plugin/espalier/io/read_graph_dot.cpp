#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/io/dot_lexer.h"
#include "espalier/io/graph_draft.h"
#include "espalier/io/graph_io.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

using Kind = DotToken::Kind;

// What attributes say of a node; what they do not say is left alone.
struct NodeAttributes {
  std::optional<Bytes> size, workspace;
  std::optional<Flops> work;
  std::optional<bool> keep;
};

// Nodes that were named one after the other in the file: a place in a list of names.
struct NodeRange {
  std::size_t first = 0, last = 0;
};

// One pair of braces: what holds inside, and how far the statement has come in which it
// stands.
struct Scope {
  NodeAttributes defaults;
  std::size_t first_named = 0;         // in named_
  std::optional<NodeRange> edge_from;  // left of "->", when that was the last token
};

class DotParser {
 public:
  explicit DotParser(TextInput& text) : text_(text), lexer_(text) { advance(); }

  GraphDraft parse() {
    parse_header();
    open_scope();
    while (!scopes_.empty()) parse_step();
    if (token_.kind != Kind::kEnd) refuse("the end of the file");
    return std::move(draft_);
  }

 private:
  void advance() { token_ = lexer_.next(); }

  [[noreturn]] void refuse(std::string_view expected) const {
    throw FileError(text_.name(), token_.line,
                    fmt::format("{} where {} was expected", describe(token_), expected));
  }

  bool accept(Kind kind) {
    if (token_.kind != kind) return false;
    advance();
    return true;
  }

  void parse_header() {
    accept(Kind::kStrict);
    if (token_.kind == Kind::kGraph)
      throw FileError(text_.name(), token_.line,
                      "is an undirected graph; a digraph is needed");
    if (!accept(Kind::kDigraph)) refuse("'digraph'");
    accept(Kind::kId);
    if (token_.kind != Kind::kOpenBrace) refuse("'{'");
  }

  void open_scope() {
    constexpr std::size_t kMostScopes = 10'000;
    if (scopes_.size() > kMostScopes)
      text_.fail(fmt::format("more than {} subgraphs inside one another", kMostScopes));
    advance();  // the brace
    Scope scope;
    if (!scopes_.empty()) scope.defaults = scopes_.back().defaults;
    scope.first_named = named_.size();
    scopes_.push_back(std::move(scope));
  }

  // A statement or a part of one: a nested subgraph is a step of its own.
  void parse_step() {
    switch (token_.kind) {
      case Kind::kCloseBrace:
        close_scope();
        break;
      case Kind::kSubgraph:
        advance();
        accept(Kind::kId);
        if (token_.kind != Kind::kOpenBrace) refuse("'{'");
        open_scope();
        break;
      case Kind::kOpenBrace:
        open_scope();
        break;
      case Kind::kId:
        parse_node_or_assignment();
        break;
      default:
        if (scopes_.back().edge_from) refuse("a node or a subgraph");
        parse_default_attributes();
        break;
    }
  }

  void parse_default_attributes() {
    const Kind kind = token_.kind;
    if (accept(Kind::kSemicolon)) return;
    if (kind != Kind::kGraph && kind != Kind::kNode && kind != Kind::kEdge)
      refuse("a statement or '}'");
    advance();
    if (token_.kind != Kind::kOpenBracket) refuse("'['");
    NodeAttributes ignored;
    parse_attributes(kind == Kind::kNode ? scopes_.back().defaults : ignored,
                     kind == Kind::kNode);
  }

  void parse_node_or_assignment() {
    const DotToken name = token_;
    advance();
    if (token_.kind == Kind::kEquals && !scopes_.back().edge_from) {  // of the graph
      advance();
      if (!accept(Kind::kId)) refuse("a value");
      return;
    }
    if (accept(Kind::kColon)) {  // a port, perhaps with a point of the compass
      if (!accept(Kind::kId)) refuse("a port");
      if (accept(Kind::kColon) && !accept(Kind::kId)) refuse("a point of the compass");
    }
    const std::size_t first = named_.size();
    named_.push_back(find_or_add(name));
    end_of_operand({first, named_.size()}, true);
  }

  // The end of a subgraph: of its braces, and of an operand of the statement around it.
  void close_scope() {
    if (scopes_.back().edge_from) refuse("a node or a subgraph");
    const NodeRange inside{scopes_.back().first_named, named_.size()};
    scopes_.pop_back();
    advance();
    if (!scopes_.empty()) end_of_operand(inside, false);
  }

  // After a node or a subgraph: edges from what was left of it, then what comes next.
  void end_of_operand(NodeRange operand, bool node) {
    Scope& scope = scopes_.back();
    const bool edge = scope.edge_from.has_value();
    if (edge) add_edges(*scope.edge_from, operand);
    scope.edge_from.reset();
    if (token_.kind == Kind::kUndirected)
      throw FileError(text_.name(), token_.line, "'--' is an edge without a direction");
    if (accept(Kind::kArrow)) {
      scope.edge_from = operand;
      return;
    }
    if (token_.kind == Kind::kOpenBracket) {
      if (!node && !edge) refuse("a statement or '}'");
      NodeAttributes attributes;
      parse_attributes(attributes, !edge);
      if (!edge) apply(attributes, named_[operand.first]);
    }
    forget_names();
  }

  // The names of the outermost braces are those of no subgraph.
  void forget_names() {
    if (scopes_.size() == 1) named_.clear();
  }

  std::int32_t find_or_add(const DotToken& name) {
    if (name.text.empty()) throw FileError(text_.name(), name.line, "a node has no name");
    const DatumId datum = draft_.datum(name.text, name.line);
    if (index(datum) == draft_.operators.size()) {
      (void)draft_.add_operator(name.text, {.line = name.line});
      draft_.writes.push_back({task_id(index(datum)), datum, name.line});
      draft_.data[index(datum)].size = 0;
      apply(scopes_.back().defaults, static_cast<std::int32_t>(datum));
    }
    return static_cast<std::int32_t>(datum);
  }

  void apply(const NodeAttributes& attributes, std::int32_t node) {
    GraphDraft::Datum& datum = draft_.data[static_cast<std::size_t>(node)];
    GraphDraft::Operator& task = draft_.operators[static_cast<std::size_t>(node)];
    datum.size = attributes.size.value_or(datum.size);
    datum.kept = attributes.keep.value_or(datum.kept);
    task.workspace = attributes.workspace.value_or(task.workspace);
    task.work = attributes.work.value_or(task.work);
  }

  void add_edges(NodeRange from, NodeRange to) {
    constexpr std::size_t kMostPairs = std::size_t{1} << 24;
    const std::size_t sources = from.last - from.first, targets = to.last - to.first;
    if (sources > 1 && targets > 1 && sources > kMostPairs / targets)
      throw FileError(text_.name(), token_.line,
                      fmt::format("an edge between subgraphs of {} and {} nodes stands "
                                  "for more than {} edges",
                                  sources, targets, kMostPairs));
    for (std::size_t i = from.first; i < from.last; ++i) {
      for (std::size_t k = to.first; k < to.last; ++k)
        draft_.reads.push_back(
            {static_cast<TaskId>(named_[k]), static_cast<DatumId>(named_[i])});
    }
  }

  void parse_attributes(NodeAttributes& attributes, bool of_node) {
    while (accept(Kind::kOpenBracket)) {
      while (!accept(Kind::kCloseBracket)) {
        if (token_.kind != Kind::kId) refuse("an attribute or ']'");
        const std::string key = std::move(token_.text);
        advance();
        if (!accept(Kind::kEquals)) refuse("'='");
        if (token_.kind != Kind::kId) refuse("a value");
        if (of_node) set(attributes, key);
        advance();
        if (!accept(Kind::kComma)) accept(Kind::kSemicolon);
      }
    }
  }

  // From the value that is the current token.
  void set(NodeAttributes& attributes, std::string_view key) const {
    if (key == "size") attributes.size = number<Bytes>(key, "an integer");
    if (key == "workspace") attributes.workspace = number<Bytes>(key, "an integer");
    if (key == "work") attributes.work = number<Flops>(key, "a number");
    if (key != "keep") return;
    if (token_.text != "true" && token_.text != "false")
      refuse_value(key, "is neither true nor false");
    attributes.keep = token_.text == "true";
  }

  template <class Number>
  [[nodiscard]] Number number(std::string_view key, const char* what) const {
    Number value{};
    const char* end = token_.text.data() + token_.text.size();
    const auto [stop, error] = std::from_chars(token_.text.data(), end, value);
    if (error == std::errc::result_out_of_range) refuse_value(key, "is out of range");
    if (error != std::errc() || stop != end || !std::isfinite(double(value)))
      refuse_value(key, fmt::format("is not {}", what));
    if (value < 0) refuse_value(key, "is negative");
    return value;
  }

  [[noreturn]] void refuse_value(std::string_view key, const std::string& why) const {
    throw FileError(text_.name(), token_.line,
                    fmt::format("{} {} {}", key, excerpt(token_.text), why));
  }

  TextInput& text_;
  DotLexer lexer_;
  DotToken token_;
  GraphDraft draft_;                 // node i: operator i and datum i
  std::vector<Scope> scopes_;        // the innermost last
  std::vector<std::int32_t> named_;  // nodes as they were named in the scopes
};

}  // namespace

TaskGraph read_graph_dot(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  if (text.peek() == TextInput::kEnd) throw FileError(name, 0, "is empty");
  return build_graph(DotParser(text).parse(), name);
}

TaskGraph read_graph_dot(const std::string& path) {
  TaskGraph graph;
  read_file(path, [&](std::istream& in) { graph = read_graph_dot(in, path); });
  return graph;
}

}  // namespace espalier
