#include "espalier/io/json_text.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "espalier/io/json_error.h"
#include "espalier/io/text_input.h"
#include "espalier/io/text_iterator.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

using Json = nlohmann::json;

/// The members of the objects and the places in the arrays around what is read.
class OpenValues {
 public:
  explicit OpenValues(const TextInput& text) : text_(text) {}

  void take(Json::parse_event_t event, const Json& parsed) {
    using enum Json::parse_event_t;
    switch (event) {
      case object_start:
      case array_start:
        begin_value();
        open_.emplace_back(event == array_start);
        break;
      case object_end:
      case array_end:
        open_.pop_back();
        break;
      case key:
        member(parsed.get_ref<const std::string&>());
        break;
      case value:
        begin_value();
        break;
    }
  }

 private:
  struct Value {
    explicit Value(bool array) : is_array(array) {}
    bool is_array;
    std::size_t items = 0;  // that began
    std::string member;     // whose value is read
    std::set<std::string> members = {};
  };

  void begin_value() {
    if (!open_.empty()) ++open_.back().items;
  }

  void member(const std::string& name) {
    open_.back().member = name;
    if (!open_.back().members.insert(name).second)
      text_.fail(fmt::format("{} is given twice", place()));
  }

  // As "tasks[3].seconds".
  [[nodiscard]] std::string place() const {
    std::string place;
    for (const Value& value : open_) {
      if (value.is_array) {
        place += fmt::format("[{}]", value.items - 1);
      } else {
        place += (place.empty() ? "" : ".") + value.member;
      }
    }
    return place;
  }

  const TextInput& text_;
  std::vector<Value> open_;
};

}  // namespace

Json read_json_text(TextInput& text) {
  OpenValues open(text);
  const TextIterator first(text), last;
  try {
    return Json::parse(first, last,
                       [&](int, Json::parse_event_t event, const Json& parsed) {
                         open.take(event, parsed);
                         return true;
                       });
  } catch (const Json::exception& error) {  // numbers beyond all numbers, too
    text.fail(what_is_wrong(error));
  }
}

}  // namespace espalier
