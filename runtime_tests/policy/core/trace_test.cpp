#include "policy/core/trace.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "espalier/model/error.h"

namespace espalier::policy {
namespace TEST_SOURCE {

using nlohmann::json;

constexpr Bytes kMiB = 1024 * 1024;

std::string path() {
  return testing::TempDir() + "/trace_" + std::to_string(getpid()) + ".json";
}

json written(const Trace& trace, std::optional<Bytes> bound = {}, int process = 0) {
  trace.write(path(), bound, process);
  std::ifstream file(path());
  json document = json::parse(file);
  std::filesystem::remove(path());
  return document;
}

json events(const json& document, const char* phase) {
  json found = json::array();
  for (const json& event : document["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

TEST(Trace, IsATaskARowACounter) {
  Trace trace(2);
  trace.name_worker(1, "CPU 1");
  trace.memory(100.0, 3 * kMiB / 2, 1);
  trace.task(1, "potrf", 100.000001, 100.0000035, 0.25);
  trace.held(100.000002, 7);
  trace.memory(100.000003, 0, std::nullopt);
  EXPECT_EQ(written(trace, 4 * kMiB, 2), json::parse(R"json({
    "displayTimeUnit": "ms",
    "traceEvents": [
      {"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "StarPU process 2"}},
      {"ph": "M", "pid": 3, "name": "process_sort_index", "args": {"sort_index": 2}},
      {"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "worker 0"}},
      {"ph": "M", "pid": 3, "tid": 1, "name": "thread_sort_index",
       "args": {"sort_index": 0}},
      {"ph": "M", "pid": 3, "tid": 2, "name": "thread_name", "args": {"name": "CPU 1"}},
      {"ph": "M", "pid": 3, "tid": 2, "name": "thread_sort_index",
       "args": {"sort_index": 1}},
      {"ph": "X", "pid": 3, "tid": 2, "name": "potrf", "cat": "task", "ts": 1.0,
       "dur": 2.5, "args": {"held_us": 250000.0}},
      {"ph": "C", "pid": 3, "name": "memory", "ts": 0.0,
       "args": {"booked (MiB)": 1.5, "allocated (MiB)": 9.5367431640625e-07}},
      {"ph": "C", "pid": 3, "name": "memory", "ts": 3.0, "args": {"booked (MiB)": 0}},
      {"ph": "C", "pid": 3, "name": "tasks", "ts": 2.0, "args": {"held at the gate": 7}},
      {"ph": "C", "pid": 3, "name": "memory", "ts": 0.0, "args": {"bound (MiB)": 4}},
      {"ph": "C", "pid": 3, "name": "memory", "ts": 3.5, "args": {"bound (MiB)": 4}}],
    "otherData": {"dropped_events": 0, "first_event_seconds": 100.0,
                  "bound_bytes": 4194304}})json"));
}

TEST(Trace, OfNothingIsStillATrace) {
  const json document = written(Trace(0), kMiB);
  EXPECT_EQ(events(document, "X").size(), 0U);
  EXPECT_EQ(events(document, "C").size(), 2U) << "the bound";
  EXPECT_EQ(events(written(Trace(3)), "C").size(), 0U);
}

TEST(Trace, KeepsNamesThatOutliveTheirTasksWhateverTheyHold) {
  Trace trace(1);
  std::string name = "a\"b\\c\n\x01\xff{}";
  trace.task(0, name.c_str(), 0, 1);
  name = "b";
  trace.task(0, name.c_str(), 1, 2);
  trace.task(0, nullptr, 2, 3);
  trace.task(0, std::string(1000, 'x').c_str(), 3, 4);
  trace.name_worker(0, "\"w\"");
  const json document = written(trace);
  const json tasks = events(document, "X");
  EXPECT_EQ(tasks[0]["name"], "a\"b\\c\n\x01\xEF\xBF\xBD{}");
  EXPECT_EQ(tasks[1]["name"], "b");
  EXPECT_EQ(tasks[2]["name"], "(no name)");
  EXPECT_EQ(tasks[3]["name"], std::string(Trace::kMaxNameLength, 'x'));
  EXPECT_EQ(document["traceEvents"][2]["args"]["name"], "\"w\"");
}

TEST(Trace, BoundsTheNamesThatItKeeps) {
  Trace trace(1);
  const std::size_t count = Trace::kMaxNames + 10;
  for (std::size_t i = 0; i < count; ++i) {
    trace.task(0, std::to_string(i).c_str(), static_cast<double>(i),
               static_cast<double>(i));
  }
  trace.task(0, "5", 1e6, 1e6);
  const json tasks = events(written(trace), "X");
  ASSERT_EQ(tasks.size(), count + 1);
  EXPECT_EQ(tasks[Trace::kMaxNames - 2]["name"], std::to_string(Trace::kMaxNames - 2));
  EXPECT_EQ(tasks[Trace::kMaxNames - 1]["name"], "(other names)");
  EXPECT_EQ(tasks[count - 1]["name"], "(other names)");
  EXPECT_EQ(tasks[count]["name"], "5") << "known before";
}

TEST(Trace, CountsWhatItHasNoRoomFor) {
  Trace trace(2, 3);
  for (int i = 0; i < 5; ++i) {
    trace.task(1, "t", i, i + 1);
    trace.memory(i, i, i);
    trace.held(i, i);
  }
  trace.held(5, 5);
  trace.task(0, "t", 0, 1);
  EXPECT_EQ(trace.dropped(), 2 + 2 + 3);
  const json document = written(trace);
  EXPECT_EQ(document["otherData"]["dropped_events"], 7);
  EXPECT_EQ(events(document, "X").size(), 4U);
  EXPECT_EQ(events(document, "C").size(), 6U);
  const json notes = events(document, "i");
  ASSERT_EQ(notes.size(), 3U);
  EXPECT_EQ(notes[0]["name"], "no room for 2 more tasks");
  EXPECT_EQ(notes[0]["tid"], 2);
  EXPECT_EQ(notes[0]["s"], "t");
  EXPECT_DOUBLE_EQ(notes[0]["ts"], 3e6 + 0.001) << "a nanosecond after the last task";
  EXPECT_EQ(notes[1]["name"], "no room for 2 more changes of the memory");
  EXPECT_DOUBLE_EQ(notes[1]["ts"], 3e6);
  EXPECT_EQ(notes[2]["name"], "no room for 3 more changes of the number of held tasks");
}

TEST(Trace, RecordsACounterOnlyWhenItChanges) {
  Trace trace(1);
  for (int i = 0; i < 10; ++i) {
    trace.memory(i, i / 5, 1);
    trace.held(i, 4);
  }
  trace.memory(10, 1, std::nullopt);
  EXPECT_EQ(events(written(trace), "C").size(), 3U + 1U);
}

// What a viewer that cuts times to nanoseconds makes of them.
std::int64_t nanoseconds(const json& microseconds) {
  return static_cast<std::int64_t>(microseconds.get<double>() * 1000.0);
}

TEST(Trace, NeverShowsTwoTasksOfAWorkerAtOnce) {
  std::mt19937_64 random(20241);
  std::uniform_real_distribution<double> step(0.0, 3e-6);
  Trace trace(2);
  Seconds touching = 1e5, piped = 1e5;
  for (int i = 0; i < 20'000; ++i) {
    const Seconds end = touching + step(random);
    trace.task(0, "touches", touching, end);
    touching = end;
    piped += step(random);  // a pipeline: starts before the one in front has ended
    trace.task(1, "overlaps", piped - 5e-6, piped);
  }
  std::map<int, std::int64_t> free;
  std::map<int, std::size_t> count;
  for (const json& task : events(written(trace), "X")) {
    const int row = task["tid"];
    const std::int64_t start = nanoseconds(task["ts"]), length = nanoseconds(task["dur"]);
    ASSERT_GE(length, 0);
    ASSERT_GE(start, free[row]) << task;
    free[row] = start + length;
    ++count[row];
  }
  EXPECT_EQ(count[1], 20'000U);
  EXPECT_EQ(count[2], 20'000U);
  EXPECT_NEAR(static_cast<double>(free[1]), std::round((touching - 1e5 + 5e-6) * 1e9),
              3e4)
      << "the gaps do not add up";
}

TEST(Trace, CanBeWrittenWhileWorkersRecord) {
  constexpr std::size_t kWorkers = 3, kTasks = 20'000;
  Trace trace(kWorkers);
  std::vector<std::jthread> workers;
  for (std::size_t w = 0; w < kWorkers; ++w) {
    workers.emplace_back([&trace, w] {
      for (std::size_t i = 0; i < kTasks; ++i) {
        const auto time = static_cast<double>(i);
        trace.task(w, i % 2 == 0 ? "even" : "odd", time, time + 0.5);
        trace.memory(time, static_cast<Bytes>(i), static_cast<Bytes>(w));
      }
    });
  }
  EXPECT_LE(events(written(trace), "X").size(), kWorkers * kTasks);
  for (std::jthread& worker : workers) worker.join();
  EXPECT_EQ(events(written(trace), "X").size(), kWorkers * kTasks);
  EXPECT_EQ(trace.dropped(), 0);
}

TEST(Trace, SaysWhichFileCannotBeWritten) {
  const auto message = [](const std::string& file) -> std::string {
    try {
      Trace(1).write(file, {}, 0);
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message("/nonexistent/t.json"),
            "/nonexistent/t.json: cannot be written: No such file or directory");
  EXPECT_EQ(message("/dev/full"),
            "/dev/full: cannot be written: No space left on device");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
