#include "espalier/model/validate_graph_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "espalier/model/violations.h"

namespace espalier {
namespace {

// The order of what happens at one time.
enum class Phase : std::uint8_t { kEnd, kInstant, kStart };

struct Event {
  Seconds time;
  Phase phase;
  std::size_t rank;  // in the sequence
  TaskId task;
};

// Where an operator starts and ends among all starts and ends.
struct Moments {
  std::vector<std::size_t> start, end;  // by operator
  std::size_t count = 0;
};

bool check_times(const TaskGraph& graph, const Schedule& schedule,
                 Violations& violations) {
  if (schedule.start.size() != graph.size() || schedule.end.size() != graph.size()) {
    complain(violations,
             fmt::format("{} starts and {} ends for {} operators", schedule.start.size(),
                         schedule.end.size(), graph.size()));
    return false;
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Seconds start = schedule.start[i], end = schedule.end[i];
    if (std::isfinite(start) && std::isfinite(end) && start <= end) continue;
    complain(violations,
             fmt::format("{} runs from {} to {}", label(graph, task_id(i)), start, end));
  }
  return violations.empty();
}

// The rank of each operator in the sequence.
std::vector<std::size_t> ranks(const TaskGraph& graph, const Schedule& schedule,
                               Violations& violations) {
  std::vector<std::size_t> rank(graph.size(), graph.size());
  for (std::size_t k = 0; k < schedule.sequence.size(); ++k) {
    const std::size_t i = index(schedule.sequence[k]);
    if (i >= graph.size() || rank[i] != graph.size()) {
      complain(violations, fmt::format("operator {} stands twice in the sequence, or is "
                                       "none of the {}",
                                       i, graph.size()));
    } else {
      rank[i] = k;
    }
  }
  for (std::size_t i = 0; i < graph.size(); ++i) {
    if (schedule.sequence.empty()) {
      rank[i] = i;
    } else if (rank[i] == graph.size()) {
      complain(violations,
               fmt::format("{} is missing from the sequence", label(graph, task_id(i))));
    }
  }
  return rank;
}

Moments moments(const TaskGraph& graph, const Schedule& schedule,
                std::span<const std::size_t> rank) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const Seconds start = schedule.start[i], end = schedule.end[i];
    const bool instant = start == end;
    events.push_back(
        {start, instant ? Phase::kInstant : Phase::kStart, rank[i], task_id(i)});
    if (!instant) events.push_back({end, Phase::kEnd, rank[i], task_id(i)});
  }
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return std::tie(a.time, a.phase, a.rank) < std::tie(b.time, b.phase, b.rank);
  });
  Moments result{std::vector<std::size_t>(graph.size()),
                 std::vector<std::size_t>(graph.size())};
  for (const Event& event : events) {
    if (event.phase != Phase::kEnd) result.start[index(event.task)] = result.count++;
    if (event.phase != Phase::kStart) result.end[index(event.task)] = result.count++;
  }
  return result;
}

void check_precedence(const TaskGraph& graph, const Moments& when,
                      Violations& violations) {
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const auto producer = graph.producer(datum_id(d));
    if (!producer) continue;
    for (const TaskId reader : graph.consumers(datum_id(d))) {
      if (when.start[index(reader)] > when.end[index(*producer)]) continue;
      complain(violations,
               fmt::format("{} starts before {} has written {}", label(graph, reader),
                           label(graph, *producer), label(graph, datum_id(d))));
    }
  }
}

void check_workers(const TaskGraph& graph, const Schedule& schedule, const Moments& when,
                   Violations& violations) {
  std::vector<std::int32_t> change(when.count + 1, 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    ++change[when.start[i]];
    --change[when.end[i]];
  }
  std::int32_t running = 0, most = 0;
  for (const std::int32_t step : change) most = std::max(most, running += step);
  if (most <= schedule.workers) return;
  complain(violations,
           fmt::format("{} operators run at once on {} workers", most, schedule.workers));
}

// From moment to moment; data that stay have no end.
Bytes most_alive(const TaskGraph& graph, const Moments& when) {
  std::vector<Bytes> change(when.count + 2, 0);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    change[when.start[i]] += graph.workspace(task_id(i));
    change[when.end[i]] -= graph.workspace(task_id(i));
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    const auto producer = graph.producer(datum);
    std::size_t from = producer ? when.start[index(*producer)] : 0;
    std::size_t to = producer ? when.end[index(*producer)] : 0;
    for (const TaskId reader : graph.consumers(datum)) {
      to = std::max(to, when.end[index(reader)]);
    }
    const bool unused = !producer && graph.consumers(datum).empty();
    if (graph.kept(datum) || unused) to = when.count + 1;
    change[from] += graph.size(datum);
    change[to] -= graph.size(datum);
  }
  Bytes alive = 0, most = 0;
  for (const Bytes step : change) most = std::max(most, alive += step);
  return most;
}

}  // namespace

Violations validate(const TaskGraph& graph, const Schedule& schedule,
                    std::optional<Bytes> memory_bound) {
  Violations violations;
  if (!check_times(graph, schedule, violations)) return violations;
  const std::vector<std::size_t> rank = ranks(graph, schedule, violations);
  if (!violations.empty()) return violations;
  const Moments when = moments(graph, schedule, rank);
  check_precedence(graph, when, violations);
  check_workers(graph, schedule, when, violations);
  const Bytes most = most_alive(graph, when);
  if (memory_bound && most > *memory_bound) {
    complain(violations, fmt::format("{} bytes are in memory at once, the bound is {}",
                                     most, *memory_bound));
  }
  return violations;
}

}  // namespace espalier
