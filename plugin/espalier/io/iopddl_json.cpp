// One parser of one format: over 300 lines.

#include "espalier/io/iopddl_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/io/json_error.h"
#include "espalier/io/text_input.h"
#include "espalier/io/text_iterator.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();

// A list of lists of integers, one after the other.
struct Rows {
  std::string_view path;
  std::vector<std::int64_t> values = {};
  std::vector<std::size_t> ends = {};  // of the inner lists, in `values`
  bool given = false;

  [[nodiscard]] std::span<const std::int64_t> row(std::size_t i) const {
    const std::size_t first = i == 0 ? 0 : ends[i - 1];
    return std::span(values).subspan(first, ends[i] - first);
  }
};

enum List : std::size_t { kIntervals, kCosts, kUsages, kEnds, kEdgeCosts, kLists };

struct Draft {
  std::array<Rows, kLists> rows = {
      Rows{.path = "problem.nodes.intervals"}, Rows{.path = "problem.nodes.costs"},
      Rows{.path = "problem.nodes.usages"}, Rows{.path = "problem.edges.nodes"},
      Rows{.path = "problem.edges.costs"}};
  std::optional<Bytes> limit;
};

// Takes the parser's events and makes a draft of them. Objects nest three deep; what is
// outside of `problem` is skipped.
class Events {
 public:
  using Json = nlohmann::json;

  explicit Events(const TextInput& text) : text_(text) {}

  [[nodiscard]] Draft draft() && { return std::move(draft_); }

  bool null() { return path_ == "problem.usage_limit" || scalar("null"); }
  bool boolean(bool value) { return scalar(value ? "true" : "false"); }
  bool binary(const Json::binary_t&) { return scalar("binary data"); }
  bool string(const std::string& value) {
    return path_ == "problem.name" || scalar(excerpt(value));
  }
  bool number_integer(std::int64_t value) { return integer(value); }
  bool number_unsigned(std::uint64_t value) {
    if (value <= std::uint64_t{kLargest})
      return integer(static_cast<std::int64_t>(value));
    return scalar(fmt::format("{}", value), "is out of range");
  }
  // "1e18" is an integer too.
  bool number_float(double value, const std::string& text) {
    if (std::abs(value) >= 0x1p63) return scalar(text, "is out of range");
    if (value != std::floor(value)) return scalar(text, "is not an integer");
    return integer(static_cast<std::int64_t>(value));
  }

  bool start_object(std::size_t) {
    if (skipped_ > 0) return ++skipped_ > 0;
    if (list_ || objects_ == 3) refuse("an object");
    if (objects_ == 1 && path_ != "problem") return ++skipped_ > 0;
    if (objects_ == 2 && path_ != "problem.nodes" && path_ != "problem.edges")
      refuse("an object");
    ++objects_;
    return true;
  }
  bool end_object() {
    if (skipped_ > 0) return --skipped_ >= 0;
    --objects_;
    cut_path(objects_);
    return true;
  }

  bool key(const std::string& value) {
    if (skipped_ > 0) return true;
    cut_path(objects_ - 1);
    path_ += (path_.empty() ? "" : ".") + (value.size() < 80 ? value : excerpt(value));
    if (std::ranges::find(seen_, path_) != seen_.end())
      fail(fmt::format("{} is given twice", path_));
    if (objects_ > 1 || path_ == "problem") {
      check_known();
      seen_.push_back(path_);
    }
    return true;
  }

  bool start_array(std::size_t) {
    if (skipped_ > 0) return ++skipped_ > 0;
    if (objects_ == 1 && path_ != "problem") return ++skipped_ > 0;
    if (list_) {
      if (in_row_) refuse("a list");
      in_row_ = true;
      return true;
    }
    for (std::size_t list = 0; list < kLists; ++list) {
      if (objects_ != 3 || draft_.rows[list].path != path_) continue;
      list_ = list;
      draft_.rows[list].given = true;
      return true;
    }
    refuse("a list");
  }
  bool end_array() {
    if (skipped_ > 0) return --skipped_ >= 0;
    if (in_row_) {
      Rows& rows = draft_.rows[*list_];
      rows.ends.push_back(rows.values.size());
      in_row_ = false;
    } else {
      list_.reset();
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const Json::exception& error) {
    text_.fail(what_is_wrong(error));
  }

 private:
  void cut_path(int members) {
    std::size_t end = 0;
    for (int i = 0; i < members; ++i)
      end = std::min(path_.find('.', end == 0 ? 0 : end + 1), path_.size());
    path_.resize(end);
  }

  void check_known() const {
    static constexpr std::array<std::string_view, 5> kOthers = {
        "problem", "problem.name", "problem.nodes", "problem.edges",
        "problem.usage_limit"};
    if (std::ranges::find(kOthers, path_) != kOthers.end()) return;
    if (std::ranges::find(draft_.rows, path_, &Rows::path) != draft_.rows.end()) return;
    fail(fmt::format("{} is no member of the format", path_));
  }

  bool integer(std::int64_t value) {
    if (skipped_ > 0) return true;
    if (list_ && in_row_) {
      draft_.rows[*list_].values.push_back(value);
      return true;
    }
    if (!list_ && objects_ == 2 && path_ == "problem.usage_limit") {
      draft_.limit = value;
      return true;
    }
    return scalar(fmt::format("{}", value));
  }

  // A value that is skipped, or is refused.
  bool scalar(const std::string& value, const char* why = "is not what belongs here") {
    if (skipped_ > 0 || (objects_ == 1 && path_ != "problem")) return true;
    refuse(value, why);
  }

  [[noreturn]] void refuse(const std::string& value,
                           const char* why = "is not what belongs here") const {
    std::string where = path_.empty() ? "the file" : path_;
    if (list_) {
      const Rows& rows = draft_.rows[*list_];
      where += fmt::format("[{}]", rows.ends.size());
      const std::size_t first = rows.ends.empty() ? 0 : rows.ends.back();
      if (in_row_) where += fmt::format("[{}]", rows.values.size() - first);
    }
    fail(fmt::format("{}: {} {}", where, value, why));
  }
  [[noreturn]] void fail(const std::string& message) const {
    throw FileError(text_.name(), 0, message);
  }

  const TextInput& text_;
  Draft draft_;
  int objects_ = 0;  // that are open and not skipped
  int skipped_ = 0;  // objects and lists that are open inside what is skipped
  std::string path_;
  std::vector<std::string> seen_;
  std::optional<std::size_t> list_;
  bool in_row_ = false;
};

// Turns the lists into a problem; what is wrong is named by its member.
class Assembly {
 public:
  Assembly(const Draft& draft, const std::string& name) : draft_(draft), name_(name) {}

  [[nodiscard]] ShardingProblem problem() const {
    const bool memory = draft_.limit.has_value();
    require(kCosts);
    const Rows& usages = draft_.rows[kUsages];
    if (memory || usages.given) {
      require(kIntervals);
      require(kUsages);
    }
    same_count(kIntervals, kCosts);
    same_count(kUsages, kCosts);
    if (draft_.rows[kEnds].given || draft_.rows[kEdgeCosts].given) {
      require(kEnds);
      require(kEdgeCosts);
      same_count(kEdgeCosts, kEnds);
    }
    try {
      return {nodes(), edges(), draft_.limit.value_or(kLargest)};
    } catch (const FileError&) {
      throw;
    } catch (const Error& error) {
      throw FileError(name_, 0, error.what());
    }
  }

 private:
  void require(List list) const {
    if (!draft_.rows[list].given)
      throw FileError(name_, 0, fmt::format("{} is missing", draft_.rows[list].path));
  }

  void same_count(List list, List other) const {
    const Rows& rows = draft_.rows[list];
    const std::size_t count = draft_.rows[other].ends.size();
    if (rows.given && rows.ends.size() != count)
      throw FileError(name_, 0,
                      fmt::format("{} has {} entries, {} has {}", rows.path,
                                  rows.ends.size(), draft_.rows[other].path, count));
  }

  [[nodiscard]] std::span<const std::int64_t> pair(List list, std::size_t i) const {
    const std::span<const std::int64_t> row = draft_.rows[list].row(i);
    if (row.size() != 2)
      throw FileError(name_, 0,
                      fmt::format("{}[{}] has {} entries instead of two",
                                  draft_.rows[list].path, i, row.size()));
    return row;
  }

  [[nodiscard]] std::vector<ShardingNode> nodes() const {
    std::vector<ShardingNode> nodes(draft_.rows[kCosts].ends.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const std::span<const std::int64_t> costs = draft_.rows[kCosts].row(i);
      nodes[i].costs.assign(costs.begin(), costs.end());
      nodes[i].usages.resize(costs.size());
      if (!draft_.rows[kUsages].given) continue;
      const std::span<const std::int64_t> live = pair(kIntervals, i);
      if (live[0] > live[1])
        throw FileError(name_, 0,
                        fmt::format("{}[{}]: {} comes after {}",
                                    draft_.rows[kIntervals].path, i, live[0], live[1]));
      nodes[i].from = live[0];
      nodes[i].to = live[1];
      const std::span<const std::int64_t> usages = draft_.rows[kUsages].row(i);
      nodes[i].usages.assign(usages.begin(), usages.end());
    }
    return nodes;
  }

  [[nodiscard]] std::vector<ShardingEdge> edges() const {
    std::vector<ShardingEdge> edges(draft_.rows[kEnds].ends.size());
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const std::span<const std::int64_t> ends = pair(kEnds, e);
      for (const std::int64_t end : ends) {
        if (end < 0 || end >= std::ssize(draft_.rows[kCosts].ends))
          throw FileError(
              name_, 0,
              fmt::format("{}[{}]: there is no node {} among {}", draft_.rows[kEnds].path,
                          e, end, draft_.rows[kCosts].ends.size()));
      }
      const std::span<const std::int64_t> costs = draft_.rows[kEdgeCosts].row(e);
      edges[e] = {static_cast<std::int32_t>(ends[0]),
                  static_cast<std::int32_t>(ends[1]),
                  {costs.begin(), costs.end()}};
    }
    return edges;
  }

  const Draft& draft_;
  const std::string& name_;
};

}  // namespace

ShardingProblem read_iopddl(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  if (text.peek() == TextInput::kEnd) throw FileError(name, 0, "is empty");
  Events events(text);
  const TextIterator first(text), last;
  (void)nlohmann::json::sax_parse(first, last, &events);
  const Draft draft = std::move(events).draft();
  return Assembly(draft, name).problem();
}

}  // namespace espalier
