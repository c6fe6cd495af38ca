#include "espalier/io/run_record_io.h"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "espalier/model/error.h"

namespace espalier {
namespace TEST_SOURCE {

const char* const kRun = R"({"format": "espalier run", "version": 1, "later": [1],
 "input": "a \"b\".mtx", "operation": "spd", "order": "liu", "mapping": "memory-aware",
 "workers": 2, "seconds": 1.5, "overhead_seconds": 4e-6, "bound_bytes": 4096,
 "nodes": [
  {"parent": 1, "output_bytes": 8, "execution_bytes": -3, "retained_bytes": 16,
   "work_flops": 1e6, "max_workers": 1},
  {"parent": null, "output_bytes": 0, "execution_bytes": 5, "retained_bytes": 0,
   "work_flops": 0, "max_workers": 2.5}],
 "tasks": [
  {"node": 0, "kind": "front", "front": 3, "worker": 0, "priority": -1, "start": 0,
   "seconds": 0.5, "processor_seconds": 0.25, "taken_bytes": 24, "kept_bytes": 20,
   "after": []},
  {"node": 1, "kind": "update", "front": 4, "column": 2, "row": 1, "source": 0,
   "worker": 1, "priority": 7, "start": 0.5, "seconds": 1, "processor_seconds": 1,
   "taken_bytes": 0, "kept_bytes": -8, "after": [0]}]})";

RunRecord read(const std::string& text) {
  std::istringstream in(text);
  return read_run_record(in, "run.json");
}

std::string written(const RunRecord& run) {
  std::ostringstream out;
  write_run_record(out, run);
  return out.str();
}

std::string with(const std::string& from, const std::string& to) {
  std::string text = kRun;
  const auto found = text.find(from);
  EXPECT_NE(found, std::string::npos) << from;
  return text.replace(found, from.size(), to);
}

void expect_refused(const std::string& text, const std::string& message) {
  try {
    (void)read(text);
    ADD_FAILURE() << "not refused: " << message;
  } catch (const FileError& error) {
    EXPECT_EQ(error.what(), "run.json: " + message);
  }
}

TEST(RunRecordIo, ReadsWhatTheFormatSays) {
  const RunRecord run = read(kRun);
  EXPECT_EQ(run.input, "a \"b\".mtx");
  EXPECT_EQ(run.workers, 2);
  EXPECT_EQ(run.overhead, 4e-6);
  EXPECT_EQ(run.bound, 4096);
  ASSERT_EQ(run.nodes.size(), 2u);
  EXPECT_EQ(run.nodes[0].parent, TaskId{1});
  EXPECT_EQ(run.nodes[0].execution_size, -3);
  EXPECT_FALSE(run.nodes[1].parent.has_value());
  EXPECT_EQ(run.max_workers[1], 2.5);
  ASSERT_EQ(run.tasks.size(), 2u);
  EXPECT_EQ(run.kinds[run.tasks[1].kind], "update");
  EXPECT_EQ(run.tasks[0].column, -1);
  EXPECT_EQ(run.tasks[1].row, 1);
  EXPECT_EQ(run.tasks[0].processor, 0.25);
  EXPECT_EQ(run.tasks[1].kept, -8);
  EXPECT_TRUE(run.waits_for(0).empty());
  ASSERT_EQ(run.waits_for(1).size(), 1u);
  EXPECT_EQ(run.waits_for(1)[0], 0);
}

TEST(RunRecordIo, WritesWhatItReads) {
  const std::string once = written(read(kRun));
  EXPECT_EQ(written(read(once)), once);
  EXPECT_NE(once.find("\"bound_bytes\": 4096"), std::string::npos);
  EXPECT_NE(written(read(with("4096", "null"))).find("\"bound_bytes\": null"),
            std::string::npos);
  // Without nodes and tasks.
  RunRecord none;
  none.after_start = {0};
  EXPECT_TRUE(read(written(none)).tasks.empty());
}

TEST(RunRecordIo, NamesTheMemberAndItsValue) {
  expect_refused(with("espalier run", "x"), "format: \"x\" is not \"espalier run\"");
  expect_refused(with("\"version\": 1", "\"version\": 2"),
                 "version: 2 is not 1, the version that is known");
  expect_refused(with("\"workers\": 2,", ""), "workers is missing");
  expect_refused(with("\"workers\": 2", "\"workers\": 0"), "workers: 0 is below 1");
  expect_refused(with("\"seconds\": 1.5", "\"seconds\": \"1.5\""),
                 "seconds: \"1.5\" is not a number");
  expect_refused(with("4096", "4096.5"), "bound_bytes: 4096.5 is not an integer");
  expect_refused(with("4096", "18446744073709551615"),
                 "bound_bytes: 18446744073709551615 is out of range");
  expect_refused(with("\"parent\": 1", "\"parent\": 0"),
                 "nodes[0].parent: 0 is not a later node");
  expect_refused(with("\"parent\": 1", "\"parent\": 2"), "nodes[0].parent: 2 is above 1");
  expect_refused(with("\"output_bytes\": 8", "\"output_bytes\": -8"),
                 "nodes[0].output_bytes: -8 is below 0");
  expect_refused(with("\"node\": 1", "\"node\": 2"), "tasks[1].node: 2 is above 1");
  expect_refused(with("\"kind\": \"front\"", "\"kind\": 3"),
                 "tasks[0].kind: 3 is not a string");
  expect_refused(with("\"seconds\": 0.5", "\"seconds\": -0.5"),
                 "tasks[0].seconds: -0.5 is below 0");
  expect_refused(with("\"kept_bytes\": 20", "\"kept_bytes\": 25"),
                 "tasks[0].kept_bytes: 25 is above 24");
  expect_refused(with("\"after\": [0]", "\"after\": [1]"),
                 "tasks[1].after[0]: 1 is not an earlier task");
  expect_refused(with("\"after\": [0]", "\"after\": 0"),
                 "tasks[1].after: 0 is not an array");
  expect_refused(with("\"worker\": 1", "\"worker\": 2"), "tasks[1].worker: 2 is above 1");
  expect_refused("[]", "[] is not an object");
}

std::string refusal_of(const std::string& text) {
  try {
    (void)read(text);
  } catch (const FileError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(RunRecordIo, SaysWhereTextIsNoJson) {
  EXPECT_TRUE(refusal_of("").starts_with("run.json:1: syntax error"));
  EXPECT_TRUE(refusal_of("{").starts_with("run.json:1: syntax error"));
  EXPECT_TRUE(refusal_of("{\"format\": \"espalier run\",\n,}")
                  .starts_with("run.json:2: syntax error"));
  EXPECT_TRUE(
      refusal_of(with("1.5", "1e999")).starts_with("run.json:3: number overflow"));
  EXPECT_THROW((void)read_run_record("no such file.json"), FileError);
}

TEST(RunRecordIo, RefusesMembersThatAreGivenTwice) {
  EXPECT_TRUE(refusal_of(with("\"workers\": 2", "\"workers\": 2, \"workers\": 3"))
                  .ends_with(": workers is given twice"));
  EXPECT_TRUE(refusal_of(with("\"node\": 1", "\"node\": 1, \"node\": 0"))
                  .ends_with(": tasks[1].node is given twice"));
}

// Half of a file, or one with a byte changed, is refused or read, and nothing else.
TEST(RunRecordIo, SurvivesAnyText) {
  std::mt19937 random(7);
  const std::string whole = kRun;
  for (int instance = 0; instance < 3000; ++instance) {
    std::string text = whole;
    for (int changes = 0; changes < 1 + instance % 3; ++changes)
      text[random() % text.size()] = static_cast<char>(random() % 256);
    if (instance % 4 == 0) text.resize(random() % text.size());
    try {
      const RunRecord run = read(text);
      ASSERT_EQ(run.after_start.size(), run.tasks.size() + 1);
    } catch (const FileError&) {
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier
