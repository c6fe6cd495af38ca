#include "cli/remedies.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/program.h"
#ifdef ESPALIER
#include "cli/cluster_processes.h"
#endif

namespace espalier::cli_test {
namespace {

struct ShellOutcome {
  int status;
  std::string text;  // both streams
};

ShellOutcome run_in_shell(const std::string& command) {
  ShellOutcome outcome{-1, ""};
  // The refused command was called "espalier", and so is the one that works.
  std::string places = std::filesystem::path(ESPALIER_PROGRAM).parent_path();
#ifdef ESPALIER
  places += ":" + std::filesystem::path(ESPALIER).parent_path().string();
#endif
  const std::string line = "PATH='" + places + "':$PATH; ( " + command + " ) 2>&1";
  FILE* const pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    outcome.text.append(buffer, n);
  const int ended = pclose(pipe);
  outcome.status = WIFEXITED(ended) ? WEXITSTATUS(ended) : -1;
  return outcome;
}

// A node, and a root that waits for it.
constexpr const char* kRecord = R"({"format": "espalier run", "version": 1,
  "input": "two", "operation": "spd", "order": "liu", "mapping": "memory-aware",
  "workers": 1, "seconds": 0.5, "overhead_seconds": 0.001, "bound_bytes": null,
  "nodes": [
    {"parent": 1, "output_bytes": 4096, "execution_bytes": 4096, "retained_bytes": 4096,
     "work_flops": 10, "max_workers": 1},
    {"parent": null, "output_bytes": 0, "execution_bytes": 4096, "retained_bytes": 4096,
     "work_flops": 20, "max_workers": 1}],
  "tasks": [
    {"node": 0, "kind": "front", "front": 0, "worker": 0, "priority": 0, "start": 0,
     "seconds": 0.2, "processor_seconds": 0.2, "taken_bytes": 12288, "kept_bytes": 8192,
     "after": []},
    {"node": 1, "kind": "front", "front": 1, "worker": 0, "priority": 0, "start": 0.2,
     "seconds": 0.2, "processor_seconds": 0.2, "taken_bytes": 8192, "kept_bytes": 0,
     "after": [0]}]})";

// The last line, which stands indented below what is wrong.
std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', end);
  const std::string line =
      begin == std::string::npos ? "" : text.substr(begin + 1, end - begin);
  return line.starts_with("  ") ? line.substr(2) : "";
}

// The last one that is a command of ours.
[[maybe_unused]] std::string last_command(const std::string& text) {
  std::istringstream lines(text);
  std::string command;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("  ") && line.find("espalier ") != std::string::npos)
      command = line.substr(2);
  return command;
}

// The files that commands name, in a directory whose name has to be quoted.
class Files {
 public:
  Files() {
    const std::string& base = directory_.path();
    add("tree", base + "/a tree.txt", "0 -1 1 1 1\n1 0 2 0 5\n2 0 3 4 6\n");
    add("graph", base + "/g.json",
        R"({"tensors": {"x": {"size": 5}, "y": {"size": 2}, "z": {"size": 1}},
            "ops": [{"name": "a", "inputs": ["x"], "outputs": ["y"], "workspace": 1},
                    {"name": "b", "inputs": ["y"], "outputs": ["z"], "workspace": 0}]})");
    add("buffers", base + "/b.csv", "id,lower,upper,size\na,0,3,4\nb,1,5,4\nc,4,7,8\n");
    add("chain", base + "/c.txt", "4 9 2 5\n4 9 2 5\n4 9 2 5\n0 0 1 1\n");
    add("times", base + "/t.txt", "1\n2\n3\n");
    add("spd", base + "/spd.mtx", matrix("symmetric", "1 1 4\n2 1 1\n2 2 4\n"));
    add("indefinite", base + "/i.mtx", matrix("symmetric", "1 1 1\n2 1 3\n2 2 1\n"));
    add("unsymmetric", base + "/u.mtx", matrix("general", "1 1 4\n2 1 1\n2 2 4\n"));
    add("stages", base + "/stages.csv",
        "forward,backward,weight,until_weight\n2ms,2ms,1ms,4\n3ms,3ms,1ms,2\n");
    add("three", base + "/three.mtx",
        "%%MatrixMarket matrix array real general\n3 1\n1\n1\n1\n");
    add("seven", base + "/seven.txt", "7\n");
    add("record", base + "/record.json", kRecord);
    add("sharding", base + "/sharding.json",
        R"({"problem": {"name": "two", "usage_limit": 7, "nodes":
            {"intervals": [[0, 2], [1, 3]], "costs": [[0, 3], [1, 1]],
             "usages": [[4, 2], [4, 3]]},
            "edges": {"nodes": [[0, 1]], "costs": [[0, 5, 7, 1]]}}})");
    place_["new"] = base + "/not 'yet' there";
    place_["directory"] = base;
  }

  [[nodiscard]] std::string named(const std::string& word) const {
    if (!word.starts_with('{')) return word;
    return place_.at(word.substr(1, word.size() - 2));
  }

 private:
  static std::string matrix(const std::string& symmetry, const std::string& entries) {
    return "%%MatrixMarket matrix coordinate real " + symmetry + "\n2 2 3\n" + entries;
  }
  void add(const std::string& name, const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
    place_[name] = path;
  }

  TemporaryDirectory directory_;
  std::map<std::string, std::string> place_;
};

std::vector<std::string> words_of(const Refusal& refusal, const Files& files) {
  std::vector<std::string> words;
  for (const std::string& word : refusal.command) words.push_back(files.named(word));
  return words;
}

}  // namespace

#ifdef ESPALIER
void expect_remedy_of_job(const Refusal& refusal) {
  const Files files;
  const Outcome refused = run(on(refusal.processes, words_of(refusal, files)));
  EXPECT_EQ(refused.status, refusal.status) << refused.err;
  std::string command = last_command(refused.err);
  ASSERT_FALSE(command.empty()) << refused.err;
  EXPECT_NE(command.find("mpirun -n "), std::string::npos) << command;
  const ShellOutcome outcome = run_in_shell(command);
  EXPECT_EQ(outcome.status, 0) << refused.err << outcome.text;
}
#endif

void expect_remedy(const Refusal& refusal) {
  const Files files;
  const std::vector<std::string> words = words_of(refusal, files);
  const Outcome refused = run(words);
  EXPECT_EQ(refused.status, refusal.status) << refused.err;
  const std::string command = last_line(refused.err);
  ASSERT_FALSE(command.empty()) << refused.err;
  const ShellOutcome outcome = run_in_shell(command);
  EXPECT_EQ(outcome.status, 0) << refused.err << outcome.text;
}

}  // namespace espalier::cli_test
