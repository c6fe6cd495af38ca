#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <istream>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/io/tree_io.h"
#include "espalier/model/error.h"
#include "espalier/model/work_sum.h"

namespace espalier {
namespace {

constexpr std::int64_t kLeastExecution = std::numeric_limits<std::int64_t>::min() / 2;

constexpr std::size_t kLongestTreeLine = 64 * 1024;
constexpr std::size_t kTreeBlock = 1024 * 1024;

// Lines of a stream, read in blocks; a view is good until the next call.
class LineReader {
 public:
  LineReader(std::istream& in, const std::string& name)
      : in_(in), name_(name), buffer_(kTreeBlock + kLongestTreeLine) {}

  [[nodiscard]] std::int64_t line() const { return line_; }

  std::optional<std::string_view> next() {
    if (++line_ == 1) skip_byte_order_mark();
    const char* end = find_end();
    if (end == nullptr && !at_end_) {
      fill();
      end = find_end();
    }
    const std::size_t stop =
        end == nullptr ? size_ : static_cast<std::size_t>(end - buffer_.data());
    if (stop - first_ > kLongestTreeLine) {
      throw FileError(name_, line_,
                      fmt::format("the line is longer than {} bytes", kLongestTreeLine));
    }
    if (end == nullptr && first_ == size_) return std::nullopt;
    const std::string_view text(buffer_.data() + first_, stop - first_);
    first_ = end == nullptr ? size_ : stop + 1;
    return text;
  }

 private:
  const char* find_end() const {
    if (first_ == size_) return nullptr;
    return static_cast<const char*>(
        std::memchr(buffer_.data() + first_, '\n', size_ - first_));
  }

  void skip_byte_order_mark() {
    fill();
    if (std::string_view(buffer_.data(), size_).starts_with(kByteOrderMark))
      first_ = kByteOrderMark.size();
  }

  // Moves the unfinished line to the front and reads on.
  void fill() {
    const std::size_t kept = std::min(size_ - first_, buffer_.size() - kTreeBlock);
    std::memmove(buffer_.data(), buffer_.data() + first_, kept);
    in_.read(buffer_.data() + kept, static_cast<std::streamsize>(kTreeBlock));
    if (in_.bad()) throw FileError(name_, 0, "cannot be read");
    at_end_ = !in_;
    first_ = 0;
    size_ = kept + static_cast<std::size_t>(in_.gcount());
  }

  std::istream& in_;
  const std::string& name_;
  std::vector<char> buffer_;
  std::size_t first_ = 0, size_ = 0;  // what is not yet handed out
  bool at_end_ = false;
  std::int64_t line_ = 0;
};

constexpr std::array<const char*, 6> kFieldNames = {
    "id", "parent", "output size", "execution size", "work", "retained size"};

// The fields of one line as numbers, or a FileError that names the line.
class LineParser {
 public:
  LineParser(const std::string& name, std::int64_t line, std::string_view text)
      : name_(name), line_(line) {
    text = text.substr(0, text.find('#'));
    constexpr std::string_view kBlanks = " \t\r\v\f";
    std::size_t first = text.find_first_not_of(kBlanks);
    while (first != std::string_view::npos) {
      const std::size_t last = std::min(text.find_first_of(kBlanks, first), text.size());
      if (count_ == fields_.size()) fail("more than 6 fields");
      fields_[count_++] = text.substr(first, last - first);
      first = text.find_first_not_of(kBlanks, last);
    }
    if (count_ != 0 && count_ < 5)
      fail(fmt::format("{} fields, expected 5 or 6", count_));
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] std::int64_t integer(std::size_t field, std::int64_t least) const {
    const auto value = number<std::int64_t>(field, "an integer");
    if (value < least) refuse(field, least < 0 ? "is below -1" : "is negative");
    return value;
  }

  [[nodiscard]] double real(std::size_t field) const {
    const auto value = number<double>(field, "a number");
    if (!std::isfinite(value)) refuse(field, "is not a finite number");
    if (value < 0) refuse(field, "is negative");
    return value;
  }

  [[noreturn]] void fail(const std::string& message) const {
    throw FileError(name_, line_, message);
  }

 private:
  template <class Number>
  [[nodiscard]] Number number(std::size_t field, const char* kind) const {
    const std::string_view text = fields_[field];
    Number value{};
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) refuse(field, "is out of range");
    if (error != std::errc() || end != text.data() + text.size()) {
      refuse(field, fmt::format("is not {}", kind));
    }
    return value;
  }

  [[noreturn]] void refuse(std::size_t field, const std::string& what) const {
    fail(fmt::format("{} '{}' {}", kFieldNames[field], fields_[field], what));
  }

  const std::string& name_;
  std::int64_t line_;
  std::array<std::string_view, 6> fields_;
  std::size_t count_ = 0;
};

// What the lines say, by task.
struct Lines {
  std::vector<Task> tasks;
  std::vector<std::int64_t> ids, parents, numbers;  // numbers: of the line
};

Lines read_lines(std::istream& in, const std::string& name) {
  Lines lines;
  LineReader reader(in, name);
  Bytes total = 0;
  Flops work = 0;
  while (const std::optional<std::string_view> text = reader.next()) {
    const LineParser parser(name, reader.line(), *text);
    if (parser.count() == 0) continue;
    lines.ids.push_back(parser.integer(0, 0));
    lines.parents.push_back(parser.integer(1, -1));
    lines.numbers.push_back(reader.line());
    Task task;
    task.output_size = parser.integer(2, 0);
    task.execution_size = parser.integer(3, kLeastExecution);
    task.work = parser.real(4);
    task.retained_size = parser.count() == 6 ? parser.integer(5, 0) : 0;
    for (const Bytes size : {task.output_size, std::max<Bytes>(task.execution_size, 0),
                             task.retained_size}) {
      if (__builtin_add_overflow(total, size, &total)) {
        parser.fail("the sum of all sizes leaves the 64-bit range");
      }
    }
    try {
      work = add_work(work, task.work);
    } catch (const OverflowError& error) {
      parser.fail(error.what());
    }
    lines.tasks.push_back(task);
  }
  if (lines.tasks.empty()) throw FileError(name, 0, "holds no task");
  return lines;
}

// From ids to tasks: a table when ids are dense, else a sorted list.
class IdIndex {
 public:
  IdIndex(const std::string& name, const Lines& lines) {
    const std::vector<std::int64_t>& ids = lines.ids;
    const std::int64_t largest = *std::max_element(ids.begin(), ids.end());
    if (static_cast<std::size_t>(largest) / 4 <= ids.size()) {
      fill_table(name, lines, static_cast<std::size_t>(largest) + 1);
    } else {
      fill_list(name, lines);
    }
  }

  [[nodiscard]] std::optional<TaskId> find(std::int64_t id) const {
    if (!table_.empty()) {
      if (static_cast<std::size_t>(id) >= table_.size()) return std::nullopt;
      return table_[static_cast<std::size_t>(id)];
    }
    const auto found = std::lower_bound(list_.begin(), list_.end(), Entry{id, TaskId{0}});
    if (found == list_.end() || found->first != id) return std::nullopt;
    return found->second;
  }

 private:
  using Entry = std::pair<std::int64_t, TaskId>;

  void fill_table(const std::string& name, const Lines& lines, std::size_t size) {
    table_.resize(size);
    for (std::size_t i = 0; i < lines.ids.size(); ++i) {
      std::optional<TaskId>& entry = table_[static_cast<std::size_t>(lines.ids[i])];
      if (entry) refuse(name, lines, i, index(*entry));
      entry = task_id(i);
    }
  }

  void fill_list(const std::string& name, const Lines& lines) {
    list_.reserve(lines.ids.size());
    for (std::size_t i = 0; i < lines.ids.size(); ++i) {
      list_.emplace_back(lines.ids[i], task_id(i));
    }
    std::sort(list_.begin(), list_.end());
    const auto twin = std::adjacent_find(
        list_.begin(), list_.end(),
        [](const Entry& a, const Entry& b) { return a.first == b.first; });
    if (twin != list_.end()) {
      refuse(name, lines, index((twin + 1)->second), index(twin->second));
    }
  }

  [[noreturn]] static void refuse(const std::string& name, const Lines& lines,
                                  std::size_t second, std::size_t first) {
    throw FileError(name, lines.numbers[second],
                    fmt::format("id {} is that of line {} already", lines.ids[second],
                                lines.numbers[first]));
  }

  std::vector<std::optional<TaskId>> table_;
  std::vector<Entry> list_;
};

void link_parents(const std::string& name, Lines& lines) {
  const IdIndex tasks_by_id(name, lines);
  for (std::size_t i = 0; i < lines.tasks.size(); ++i) {
    if (lines.parents[i] < 0) continue;
    lines.tasks[i].parent = tasks_by_id.find(lines.parents[i]);
    if (!lines.tasks[i].parent) {
      throw FileError(name, lines.numbers[i],
                      fmt::format("parent {} of task {} is not in the file",
                                  lines.parents[i], lines.ids[i]));
    }
  }
  if (const std::optional<TaskId> task = task_on_cycle(lines.tasks)) {
    throw FileError(name, lines.numbers[index(*task)],
                    fmt::format("task {} is its own ancestor", lines.ids[index(*task)]));
  }
}

// A negative execution size: what shares memory is there.
void check_reuse(const std::string& name, const Lines& lines) {
  std::vector<Bytes> input(lines.tasks.size(), 0);  // sums were checked
  for (const Task& task : lines.tasks)
    if (task.parent) input[index(*task.parent)] += task.output_size;
  for (std::size_t i = 0; i < lines.tasks.size(); ++i) {
    const Task& task = lines.tasks[i];
    const Bytes most = std::min(input[i], task.output_size + task.retained_size);
    if (task.execution_size < -most)
      throw FileError(name, lines.numbers[i],
                      fmt::format("execution size {} of task {} is below {}: no more "
                                  "than its inputs or than what it leaves can share "
                                  "memory",
                                  task.execution_size, lines.ids[i], -most));
  }
}

}  // namespace

TreeFile read_tree(std::istream& in, const std::string& name) {
  Lines lines = read_lines(in, name);
  link_parents(name, lines);
  check_reuse(name, lines);
  return {TaskTree(lines.tasks), std::move(lines.ids)};
}

TreeFile read_tree(const std::string& path) {
  TreeFile file;
  read_file(path, [&](std::istream& in) { file = read_tree(in, path); });
  return file;
}

}  // namespace espalier
