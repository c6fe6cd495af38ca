#include "policy/core/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>
#include <ostream>
#include <utility>

#include "espalier/io/text_file.h"
#include "espalier/model/error.h"

namespace espalier::policy {
namespace {

constexpr Bytes kNotMeasured = -1;

// Exact in a double and when printed: the fraction has 20 binary digits.
double mebibytes(Bytes bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); }

// Task names come from C programs in any encoding; JSON is UTF-8.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false,
                                   nlohmann::json::error_handler_t::replace);
}

}  // namespace

// Events go to the stream as they are met: a document in memory would be many times the
// recorded data.
struct Trace::Writer {
  using Nanoseconds = std::int64_t;

  std::ostream& out;
  int process;
  Seconds origin;
  bool first = true;
  fmt::memory_buffer text = fmt::memory_buffer();  // on its way to `out`

  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
    if (text.size() >= 64 * 1024) flush();
  }
  void flush() {
    out.write(text.data(), static_cast<std::streamsize>(text.size()));
    text.clear();
  }
  // One event without its closing brace: the rest of it is put next.
  void begin(char phase, std::string_view name) {
    put("{}\n{{\"ph\":\"{}\",\"pid\":{},\"name\":{}", first ? "" : ",", phase, process,
        name);
    first = false;
  }
  void put_time(const char* key, Nanoseconds time) {
    put(",\"{}\":{}.{:03}", key, time / 1000, time % 1000);
  }
  [[nodiscard]] Nanoseconds since_origin(Seconds time) const {
    return std::max<Nanoseconds>(std::llround((time - origin) * 1e9), 0);
  }

  void process_name(int number);
  void row(std::size_t worker, const Row& row);
  void memory(const Events<Sample>& samples);
  void bound(Bytes bound, Seconds last);
  void held(const Events<HeldSample>& samples);
  template <class Event>
  void left_out(const Events<Event>& events, const char* what);
};

template <class Event>
void Trace::Events<Event>::add(const Event& event, Seconds start, Seconds end,
                               std::size_t limit) noexcept {
  if (dropped == 0 && kept.size() < limit) {
    try {
      kept.push_back(event);
      first = std::min(first, start);
      last = std::max(last, end);
      return;
    } catch (const std::bad_alloc&) {  // counted below
    }
  }
  ++dropped;
  dropped_from = std::min(dropped_from, start);
}

std::uint32_t Trace::Row::intern(std::string_view text) {
  text = text.substr(0, kMaxNameLength);
  if (const auto known = name_index.find(text); known != name_index.end()) {
    return known->second;
  }
  if (names.size() == kMaxNames) return kMaxNames - 1;
  names.emplace_back(names.size() == kMaxNames - 1 ? "(other names)" : text);
  const auto index = static_cast<std::uint32_t>(names.size() - 1);
  name_index.emplace(names.back(), index);
  return index;
}

Trace::Trace(std::size_t workers, std::size_t max_events)
    : max_events_(max_events), rows_(workers) {}

void Trace::name_worker(std::size_t worker, std::string name) {
  ESPALIER_ASSERT(worker < rows_.size(), "no such worker");
  const std::scoped_lock lock(rows_[worker].mutex);
  rows_[worker].name = std::move(name);
}

void Trace::task(std::size_t worker, const char* name, Seconds start, Seconds end,
                 Seconds held) noexcept {
  ESPALIER_ASSERT(worker < rows_.size(), "no such worker");
  Row& row = rows_[worker];
  const std::scoped_lock lock(row.mutex);
  std::size_t room = max_events_;
  std::uint32_t index = 0;
  if (row.tasks.dropped == 0 && row.tasks.kept.size() < room) {
    try {
      index = row.intern(name == nullptr ? "(no name)" : name);
    } catch (const std::bad_alloc&) {
      room = 0;
    }
  }
  row.tasks.add({start, end, index, static_cast<float>(held)}, start, end, room);
}

void Trace::memory(Seconds time, Bytes booked, std::optional<Bytes> allocated) noexcept {
  const Sample sample{time, booked, allocated.value_or(kNotMeasured)};
  const std::scoped_lock lock(mutex_);
  if (!memory_.kept.empty() && memory_.kept.back().booked == sample.booked &&
      memory_.kept.back().allocated == sample.allocated) {
    return;
  }
  memory_.add(sample, time, time, max_events_);
}

void Trace::held(Seconds time, std::int64_t tasks) noexcept {
  const std::scoped_lock lock(mutex_);
  if (!held_.kept.empty() && held_.kept.back().tasks == tasks) return;
  held_.add({time, tasks}, time, time, max_events_);
}

std::int64_t Trace::dropped() const {
  std::int64_t sum = 0;
  for (const Row& row : rows_) {
    const std::scoped_lock lock(row.mutex);
    sum += row.tasks.dropped;
  }
  const std::scoped_lock lock(mutex_);
  return sum + memory_.dropped + held_.dropped;
}

void Trace::Writer::process_name(int number) {
  begin('M', "\"process_name\"");
  put(",\"args\":{{\"name\":\"StarPU process {}\"}}}}", number);
  begin('M', "\"process_sort_index\"");
  put(",\"args\":{{\"sort_index\":{}}}}}", number);
}

void Trace::Writer::row(std::size_t worker, const Row& row) {
  // Thread 0 means idle to Perfetto.
  const std::size_t thread = worker + 1;
  begin('M', "\"thread_name\"");
  put(",\"tid\":{},\"args\":{{\"name\":{}}}}}", thread,
      quoted(row.name.empty() ? fmt::format("worker {}", worker) : row.name));
  begin('M', "\"thread_sort_index\"");
  put(",\"tid\":{},\"args\":{{\"sort_index\":{}}}}}", thread, worker);

  std::vector<std::string> names;
  names.reserve(row.names.size());
  for (const std::string& name : row.names) names.push_back(quoted(name));

  // Older Perfetto cuts times to whole nanoseconds after a rounding error: slices that
  // touch would overlap, so there is a nanosecond between them.
  Nanoseconds free = 0;
  for (const TaskEvent& task : row.tasks.kept) {
    const Nanoseconds start = std::max(since_origin(task.start), free);
    const Nanoseconds end = std::max(since_origin(task.end), start);
    free = end + 1;
    begin('X', names[task.name]);
    put(",\"cat\":\"task\",\"tid\":{}", thread);
    put_time("ts", start);
    put_time("dur", end - start);
    if (task.held > 0) put(",\"args\":{{\"held_us\":{:.3f}}}", 1e6 * task.held);
    put("}}");
  }
  if (row.tasks.dropped == 0) return;
  begin('i', fmt::format("\"no room for {} more tasks\"", row.tasks.dropped));
  put(",\"s\":\"t\",\"tid\":{}", thread);
  put_time("ts", std::max(since_origin(row.tasks.dropped_from), free));
  put("}}");
}

void Trace::Writer::memory(const Events<Sample>& samples) {
  for (const Sample& sample : samples.kept) {
    begin('C', "\"memory\"");
    put_time("ts", since_origin(sample.time));
    put(",\"args\":{{\"booked (MiB)\":{}", mebibytes(sample.booked));
    if (sample.allocated != kNotMeasured) {
      put(",\"allocated (MiB)\":{}", mebibytes(sample.allocated));
    }
    put("}}}}");
  }
  left_out(samples, "changes of the memory");
}

// A line from the first to the last moment.
void Trace::Writer::bound(Bytes bound, Seconds last) {
  for (const Seconds time : {origin, last}) {
    begin('C', "\"memory\"");
    put_time("ts", since_origin(time));
    put(",\"args\":{{\"bound (MiB)\":{}}}}}", mebibytes(bound));
  }
}

void Trace::Writer::held(const Events<HeldSample>& samples) {
  for (const HeldSample& sample : samples.kept) {
    begin('C', "\"tasks\"");
    put_time("ts", since_origin(sample.time));
    put(",\"args\":{{\"held at the gate\":{}}}}}", sample.tasks);
  }
  left_out(samples, "changes of the number of held tasks");
}

template <class Event>
void Trace::Writer::left_out(const Events<Event>& events, const char* what) {
  if (events.dropped == 0) return;
  begin('i', fmt::format("\"no room for {} more {}\"", events.dropped, what));
  put(",\"s\":\"p\",\"tid\":{}", process);
  put_time("ts", since_origin(events.dropped_from));
  put("}}");
}

void Trace::write(const std::string& path, std::optional<Bytes> bound,
                  int process) const {
  write_file(path, [&](std::ostream& out) { write(out, bound, process); });
}

void Trace::write(std::ostream& out, std::optional<Bytes> bound, int process) const {
  Seconds first = kNever, last = -kNever;
  const auto extend = [&](const auto& events) {
    first = std::min(first, events.first);
    last = std::max(last, events.last);
  };
  for (const Row& row : rows_) {
    const std::scoped_lock lock(row.mutex);
    extend(row.tasks);
  }
  {
    const std::scoped_lock lock(mutex_);
    extend(memory_);
    extend(held_);
  }
  if (first > last) first = last = 0;  // nothing was recorded

  Writer writer{out, process + 1, first};
  writer.put("{{\"displayTimeUnit\":\"ms\",\"traceEvents\":[");
  writer.process_name(process);
  for (std::size_t worker = 0; worker < rows_.size(); ++worker) {
    const std::scoped_lock lock(rows_[worker].mutex);
    writer.row(worker, rows_[worker]);
  }
  {
    const std::scoped_lock lock(mutex_);
    writer.memory(memory_);
    writer.held(held_);
  }
  if (bound) writer.bound(*bound, last);
  writer.put("\n],\"otherData\":{{\"dropped_events\":{},\"first_event_seconds\":{}",
             dropped(), first);
  if (bound) writer.put(",\"bound_bytes\":{}", *bound);
  writer.put("}}}}\n");
  writer.flush();
}

}  // namespace espalier::policy
