// The readers of what is planned besides graphs and trees: buffers, chains, sharding
// problems, stages of a pipeline, recorded runs.

#include <algorithm>
#include <numeric>
#include <sstream>

#include "espalier/io/checkpoint_io.h"
#include "espalier/io/iopddl_json.h"
#include "espalier/io/layout_csv.h"
#include "espalier/io/pipeline_file.h"
#include "espalier/io/run_record_io.h"
#include "fuzz/fuzz_target.h"

namespace espalier::fuzz {
namespace {

std::istringstream stream(std::string_view bytes) {
  return std::istringstream{std::string(bytes)};
}

void run_layout_csv(std::string_view bytes) {
  std::istringstream in = stream(bytes);
  const LayoutFile file = read_layout_csv(in, "b");
  // Offsets one after the other are a layout of all that can be read.
  std::vector<Bytes> offsets;
  Bytes end = 0;
  for (const Buffer& each : file.buffers.buffers()) {
    offsets.push_back(end);
    end += each.size;
  }
  std::stringstream text;
  write_layout_csv(text, file, offsets);
  const LayoutFile again = read_layout_csv(text, "b");
  require(std::ranges::equal(again.buffers.buffers(), file.buffers.buffers()),
          "buffers that are written are read");
}

void run_chain(std::string_view bytes) {
  std::istringstream in = stream(bytes);
  const Chain chain = read_chain(in, "c");
  for (std::int64_t i = 0; i < chain.size(); ++i)
    require(chain.stage(i).saved >= chain.state(i + 1), "a stage saves its output");
}

void run_step_times(std::string_view bytes) {
  std::istringstream in = stream(bytes);
  const std::vector<Nanoseconds> times = read_step_times(in, "t");
  require(!times.empty() && std::ranges::min(times) >= 0, "steps take time");
}

void run_iopddl(std::string_view bytes) {
  std::istringstream in = stream(bytes);
  const ShardingProblem problem = read_iopddl(in, "p");
  for (const ShardingNode& node : problem.nodes())
    require(!node.costs.empty() && node.costs.size() == node.usages.size() &&
                node.from <= node.to,
            "a node has strategies and a life");
  for (const ShardingEdge& edge : problem.edges())
    require(edge.costs.size() ==
                problem.nodes()[static_cast<std::size_t>(edge.first)].costs.size() *
                    problem.nodes()[static_cast<std::size_t>(edge.second)].costs.size(),
            "an edge has a cost for each pair");
}

// What is read and written is read as the same.
void require_same_again(std::string_view bytes, const auto& read, const auto& write,
                        const char* words) {
  const auto written = [&](std::string_view text) {
    std::istringstream in = stream(text);
    std::ostringstream out;
    write(out, read(in));
    return out.str();
  };
  const std::string text = written(bytes);
  require(written(text) == text, words);
}

void run_pipeline(std::string_view bytes) {
  require_same_again(
      bytes, [](std::istream& in) { return read_pipeline_file(in, "s"); },
      [](std::ostream& out, const PipelineFile& file) { write_pipeline_file(out, file); },
      "stages written are read");
}

void run_run_record(std::string_view bytes) {
  require_same_again(
      bytes, [](std::istream& in) { return read_run_record(in, "r"); },
      [](std::ostream& out, const RunRecord& run) { write_run_record(out, run); },
      "a run that is written is read");
}

std::vector<std::string> layout_csv_seeds() {
  return {"id,lower,upper,size\na,0,2,4096\nb,1,5,1024\nc,4,9,77\n",
          "\xEF\xBB\xBFstart,end,size,buffer,x\r\n0,3,5,a,q\r\n2,2,7,b,r\r\n"};
}

std::vector<std::string> chain_seeds() {
  return {"# x xbar f b\n4MiB 9MiB 2ms 5ms 64KiB 64KiB\n2MiB 3MiB 1us 1us\noutput 8\n",
          "10 20 1 2\n12 22 1s 2ns 3 4\n"};
}

std::vector<std::string> step_times_seeds() {
  return {"# t\n3us\n1ms\n2\n0.5s\n7ns\n", "1\n2\n"};
}

std::vector<std::string> iopddl_seeds() {
  return {R"({"problem": {"name": "two", "nodes": {"intervals": [[0, 2], [1, 3]],
 "costs": [[0, 3], [1, 1]], "usages": [[4, 2], [4, 3]]},
 "edges": {"nodes": [[0, 1]], "costs": [[0, 5, 7, 1]]}, "usage_limit": 7}})",
          R"({"x": {}, "problem": {"nodes": {"costs": [[1e18, 3], [7]]}}})"};
}

std::vector<std::string> pipeline_seeds() {
  return {
      "forward,backward,weight,until_backward,until_weight,persistent\n"
      "2ms,2ms,1.5ms,0,256MiB,3GiB\n3ms,3ms,2ms,0,200MiB,2GiB\n",
      R"({"stages": [{"forward": "2ms", "backward": 1, "weight": "1.5ms"},
 {"forward": 1, "backward": "2", "until_backward": "1KiB"}], "transfer": "1us"})"};
}

std::vector<std::string> run_record_seeds() {
  return {R"({"format": "espalier run", "version": 1, "input": "A.mtx",
 "operation": "spd", "order": "liu", "mapping": "memory-aware", "workers": 1,
 "seconds": 1.5, "overhead_seconds": 4e-6, "bound_bytes": null,
 "nodes": [{"parent": 1, "output_bytes": 4096, "execution_bytes": 0,
 "retained_bytes": 8192, "work_flops": 1e6, "max_workers": 1},
 {"parent": null, "output_bytes": 0, "execution_bytes": 5, "retained_bytes": 0,
 "work_flops": 2, "max_workers": 1}],
 "tasks": [{"node": 0, "kind": "update", "front": 7, "column": 3, "row": 4,
 "source": 1, "worker": 0, "priority": 9, "start": 0.25, "seconds": 1e-3,
 "processor_seconds": 1e-3, "taken_bytes": 0, "kept_bytes": 0, "after": []},
 {"node": 1, "kind": "update", "worker": 0, "priority": 9, "start": 0.5,
 "seconds": 1e-3, "processor_seconds": 1e-3, "taken_bytes": 0, "kept_bytes": 0,
 "after": [0]}]})"};
}

std::vector<std::string_view> plan_words() {
  return {"-1",   "0",    "1",    "nan",        "1e308", "9223372036854775807",
          "1e18", "null", "true", "[",          "]",     "{",
          "}",    "\"",   ":",    ",",          "\n",    "\r\n",
          "size", "ms",   "KiB",  "output 8\n", "#",     " ",
          ".5",   "EiB",  "id",   "\xFF",       "end",   "[[0, 1]]"};
}

}  // namespace

Target layout_csv_target() {
  return {"layout_csv", layout_csv_seeds, plan_words, run_layout_csv};
}
Target chain_target() { return {"chain", chain_seeds, plan_words, run_chain}; }
Target step_times_target() {
  return {"step_times", step_times_seeds, plan_words, run_step_times};
}
Target iopddl_target() { return {"iopddl", iopddl_seeds, plan_words, run_iopddl}; }
Target pipeline_target() {
  return {"pipeline", pipeline_seeds, plan_words, run_pipeline};
}
Target run_record_target() {
  return {"run_record", run_record_seeds, plan_words, run_run_record};
}

}  // namespace espalier::fuzz
