#include "solver_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace espalier::bench {
namespace {

// The names of ways in the order of their first case.
std::vector<std::string> labels(const std::vector<Case>& cases) {
  std::vector<std::string> all;
  for (const Case& c : cases)
    for (const Series& s : c.series)
      if (std::find(all.begin(), all.end(), s.way.label) == all.end())
        all.push_back(s.way.label);
  return all;
}

// A block for the cases and one for each way, two empty lines between blocks.
void write_data(const std::vector<Case>& cases, std::ostream& out) {
  out << "# place  matrix, kind\n";
  for (std::size_t i = 0; i < cases.size(); ++i)
    out << fmt::format("{} \"{}, {}\"\n", i, cases[i].name, cases[i].kind);
  for (const std::string& label : labels(cases)) {
    out << fmt::format("\n\n\"{}\" \"time\" \"memory\"\n", label);
    for (std::size_t i = 0; i < cases.size(); ++i)
      for (const Series& s : cases[i].series) {
        const auto seconds = cases[i].best_peer_seconds();
        const auto bytes = cases[i].best_peer_bytes();
        if (s.way.label == label && s.solved() && seconds && bytes)
          out << fmt::format("{} {:.4f} {:.4f}\n", i,
                             s.median("factor_seconds") / *seconds,
                             s.peak_bytes() / *bytes);
      }
  }
}

}  // namespace

void run_gnuplot(const std::string& script, const std::vector<std::string>& arguments) {
  std::string command = fmt::format(
      "gnuplot -c {}", quoted(fmt::format("{}/{}", ESPALIER_BENCH_SCRIPTS, script)));
  for (const std::string& argument : arguments)
    command += fmt::format(" {}", quoted(argument));
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("no picture (Debian: gnuplot-nox): " + command);
}

void draw(const std::vector<Case>& cases, const std::string& file) {
  const std::string data = file + ".dat";
  {
    std::ofstream out(data);
    write_data(cases, out);
    if (!out.flush()) throw std::runtime_error("cannot write " + data);
  }
  run_gnuplot("solver_bench.gp", {data, file, std::to_string(labels(cases).size()),
                                  std::to_string(cases.size())});
}

}  // namespace espalier::bench
