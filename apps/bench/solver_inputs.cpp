#include "solver_inputs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "solver/io/rutherford_boeing.h"
#include "solver_runs.h"

namespace espalier::bench {

using nlohmann::json;

std::vector<std::string> expand_folders(const std::vector<std::string>& inputs) {
  std::vector<std::string> out;
  for (const std::string& input : inputs) {
    if (!std::filesystem::is_directory(input)) {
      out.push_back(input);
      continue;
    }
    const auto before = static_cast<std::ptrdiff_t>(out.size());
    for (const auto& entry : std::filesystem::recursive_directory_iterator(input)) {
      const std::string path = entry.path().string();
      if (path.ends_with(".mtx") || path.ends_with(".mtx.gz") ||
          solver::is_rutherford_boeing(path))
        out.push_back(path);
    }
    std::sort(out.begin() + before, out.end());
  }
  return out;
}

json facts_of(const std::string& input, int timeout_seconds) {
  const Outcome outcome = run_command(
      quoted(program_folder()) + "/matrix_facts " + quoted(input), timeout_seconds);
  if (outcome.json) return *outcome.json;
  throw std::runtime_error("cannot read " + input);
}

std::vector<std::string> kinds_of(const json& facts,
                                  const std::vector<std::string>& asked) {
  std::vector<std::string> possible;
  if (facts.at("may_be_definite")) possible.push_back("spd");
  if (facts.at("symmetric")) possible.push_back("symmetric");
  possible.push_back("general");
  if (asked.front() == "auto") return {possible.front()};
  std::erase_if(possible, [&](const std::string& kind) {
    return std::find(asked.begin(), asked.end(), kind) == asked.end();
  });
  return possible;
}

std::string short_name(const std::string& input) {
  if (input.starts_with("grid:")) return "grid " + input.substr(5);
  std::string file = std::filesystem::path(input).filename().string();
  if (file.ends_with(".gz")) file.resize(file.size() - 3);
  return std::filesystem::path(file).stem().string();
}

void write_file(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  std::ofstream out(file);
  out << text << '\n';
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace espalier::bench
