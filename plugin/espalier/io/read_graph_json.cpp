// One parser, whose places are one table: over 300 lines.

#include <fmt/format.h>

#include <array>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "espalier/io/graph_draft.h"
#include "espalier/io/graph_io.h"
#include "espalier/io/json_error.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_iterator.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

// Where in the file the parser is.
enum class Place {
  kOutside,
  kGraph,
  kTensors,
  kTensor,
  kOperators,
  kOperator,
  kInputs,
  kOutputs,
  kKeep
};

constexpr std::array<std::string_view, 3> kGraphMembers = {"tensors", "ops", "keep"};
constexpr std::array<std::string_view, 1> kTensorMembers = {"size"};
constexpr std::array<std::string_view, 5> kOperatorMembers = {"name", "inputs", "outputs",
                                                              "workspace", "work"};

// Takes the parser's events and makes a draft of them.
class GraphEvents {
 public:
  using Json = nlohmann::json;

  explicit GraphEvents(TextInput& text) : text_(text) {}

  [[nodiscard]] GraphDraft draft() && { return std::move(draft_); }

  bool null() { refuse("null"); }
  bool boolean(bool value) { refuse(value ? "true" : "false"); }
  bool binary(const Json::binary_t&) { refuse("binary data"); }

  bool number_integer(std::int64_t value) {
    if (place_ == Place::kOperator && member_ == "work") return work(double(value));
    // The parser takes what is not negative as unsigned.
    refuse_value(fmt::format("{}", value), "is negative");
  }

  bool number_unsigned(std::uint64_t value) {
    if (place_ == Place::kOperator && member_ == "work") return work(double(value));
    if (value > std::uint64_t{std::numeric_limits<Bytes>::max()})
      refuse_value(fmt::format("{}", value), "is out of range");
    size(static_cast<Bytes>(value));
    return true;
  }

  bool number_float(double value, const std::string& text) {
    if (place_ == Place::kOperator && member_ == "work") return work(value);
    const bool integer = text.find_first_of(".eE") == std::string::npos;
    refuse_value(text, integer ? "is out of range" : "is not an integer");
  }

  bool string(const std::string& value) {
    switch (place_) {
      case Place::kInputs:
        inputs_.push_back(mention(value));
        return true;
      case Place::kOutputs:
        outputs_.emplace_back(mention(value), text_.line());
        return true;
      case Place::kKeep:
        draft_.data[index(mention(value))].kept = true;
        return true;
      case Place::kOperator:
        if (member_ != "name") break;
        name_ = value;
        return true;
      default:
        break;
    }
    refuse(excerpt(value));
  }

  bool start_object(std::size_t) {
    switch (place_) {
      case Place::kOutside:
        place_ = Place::kGraph;
        return true;
      case Place::kGraph:
        if (member_ != "tensors") break;
        place_ = Place::kTensors;
        return true;
      case Place::kTensors:
        place_ = Place::kTensor;
        return true;
      case Place::kOperators:
        place_ = Place::kOperator;
        start_operator();
        return true;
      default:
        break;
    }
    refuse("an object");
  }

  bool end_object() {
    switch (place_) {
      case Place::kTensor:
        end_tensor();
        place_ = Place::kTensors;
        break;
      case Place::kOperator:
        end_operator();
        place_ = Place::kOperators;
        break;
      case Place::kTensors:
        place_ = Place::kGraph;
        break;
      default:
        place_ = Place::kOutside;
        break;
    }
    return true;
  }

  bool start_array(std::size_t) {
    if (place_ == Place::kGraph && member_ == "ops") return enter(Place::kOperators);
    if (place_ == Place::kGraph && member_ == "keep") return enter(Place::kKeep);
    if (place_ == Place::kOperator && member_ == "inputs") return enter(Place::kInputs);
    if (place_ == Place::kOperator && member_ == "outputs") return enter(Place::kOutputs);
    refuse("an array");
  }

  bool end_array() {
    const bool of_operator = place_ == Place::kInputs || place_ == Place::kOutputs;
    return enter(of_operator ? Place::kOperator : Place::kGraph);
  }

  bool key(const std::string& value) {
    member_ = value;
    switch (place_) {
      case Place::kTensors:
        start_tensor();
        break;
      case Place::kGraph:
        note_member(kGraphMembers, seen_in_graph_);
        break;
      case Place::kTensor:
        note_member(kTensorMembers, seen_in_item_);
        break;
      default:
        note_member(kOperatorMembers, seen_in_item_);
        break;
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    text_.fail(what_is_wrong(error));
  }

 private:
  bool enter(Place place) {
    place_ = place;
    return true;
  }

  // "tensor 'x'", "operator 'conv'", for messages about what is inside.
  [[nodiscard]] std::string inside() const {
    switch (place_) {
      case Place::kTensor:
        return fmt::format("tensor {}: {}", excerpt(draft_.name(tensor_)), member_);
      case Place::kTensors:
        return fmt::format("tensor {}", excerpt(member_));
      case Place::kOperator:
      case Place::kInputs:
      case Place::kOutputs:
        return name_.empty() ? fmt::format("an operator's {}", member_)
                             : fmt::format("operator {}: {}", excerpt(name_), member_);
      case Place::kOperators:
        return "ops";
      default:
        return member_.empty() ? "the graph" : excerpt(member_);
    }
  }

  [[noreturn]] void refuse(const std::string& value) const {
    refuse_value(value, "is not what belongs here");
  }
  [[noreturn]] void refuse_value(const std::string& value, const char* why) const {
    text_.fail(fmt::format("{}: {} {}", inside(), value, why));
  }

  template <std::size_t n>
  void note_member(const std::array<std::string_view, n>& members, unsigned& seen) {
    for (std::size_t i = 0; i < n; ++i) {
      if (members[i] != member_) continue;
      if ((seen >> i & 1) != 0) text_.fail(fmt::format("{} is given twice", inside()));
      seen |= 1U << i;
      return;
    }
    text_.fail(fmt::format("member {} is not one of {}", excerpt(member_),
                           fmt::join(members, ", ")));
  }

  DatumId mention(const std::string& tensor) {
    if (tensor.empty()) text_.fail(fmt::format("{}: a tensor has no name", inside()));
    return draft_.datum(tensor, text_.line());
  }

  void start_tensor() {
    tensor_ = mention(member_);
    seen_in_item_ = 0;
    GraphDraft::Datum& datum = draft_.data[index(tensor_)];
    if (datum.size != GraphDraft::kUnknown)
      text_.fail(fmt::format("tensor {} is that of line {} already", excerpt(member_),
                             datum.line));
    datum.line = text_.line();
  }

  void end_tensor() const {
    if (draft_.data[index(tensor_)].size == GraphDraft::kUnknown)
      text_.fail(fmt::format("tensor {} has no size", excerpt(draft_.name(tensor_))));
  }

  void start_operator() {
    operator_ = {};
    operator_.line = text_.line();
    name_.clear();
    inputs_.clear();
    outputs_.clear();
    member_ = "members";
    seen_in_item_ = 0;
  }

  void end_operator() {
    const TaskId task = task_id(draft_.operators.size());
    if (!draft_.add_operator(name_, operator_))
      throw FileError(text_.name(), operator_.line,
                      fmt::format("operator {} is that of line {} already",
                                  excerpt(name_), draft_.line_of_operator(name_)));
    for (const DatumId datum : inputs_) draft_.reads.push_back({task, datum});
    for (const auto& [datum, line] : outputs_)
      draft_.writes.push_back({task, datum, line});
  }

  void size(Bytes value) {
    if (place_ == Place::kTensor) {
      draft_.data[index(tensor_)].size = value;
    } else if (place_ == Place::kOperator && member_ == "workspace") {
      operator_.workspace = value;
    } else {
      refuse(fmt::format("{}", value));
    }
  }

  bool work(double value) {
    if (value < 0) refuse_value(fmt::format("{}", value), "is negative");
    operator_.work = value;
    return true;
  }

  TextInput& text_;
  GraphDraft draft_;
  Place place_ = Place::kOutside;
  std::string member_;  // whose value comes next
  unsigned seen_in_graph_ = 0, seen_in_item_ = 0;
  DatumId tensor_{};
  GraphDraft::Operator operator_;  // of the operator that is being read, as below
  std::string name_;
  std::vector<DatumId> inputs_;
  std::vector<std::pair<DatumId, std::int64_t>> outputs_;
};

}  // namespace

TaskGraph read_graph_json(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  if (text.peek() == TextInput::kEnd) throw FileError(name, 0, "is empty");
  GraphEvents events(text);
  const TextIterator first(text), last;
  (void)nlohmann::json::sax_parse(first, last, &events);
  return build_graph(std::move(events).draft(), name);
}

TaskGraph read_graph_json(const std::string& path) {
  TaskGraph graph;
  read_file(path, [&](std::istream& in) { graph = read_graph_json(in, path); });
  return graph;
}

}  // namespace espalier
