// How close the strategies come to what no schedule can beat, over generated assembly
// trees: geometric means of makespan / lower bound by workers and memory.
//
//   gate_study [--quick] [--workers 16,32,64] [--markdown FILE] [--json FILE] [MATRIX…]
//
// Three tables: fronts that one worker runs each, fronts with little parallelism inside
// (8 tiles across the largest), and synthetic trees. MATRIX files are one more set of
// trees, with fronts as in the second table. The lower bound is the largest of work,
// critical path and, with one worker a task, memory area. Everything is simulated: the
// same command prints the same figures on every machine.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench_program.h"
#include "espalier/parallel/bounds.h"
#include "espalier/parallel/compare_strategies.h"
#include "tree_generators.h"

namespace {

using namespace espalier;
using namespace espalier::bench;

constexpr double kLittle = 8;  // tiles across the largest front

struct Options {
  std::vector<std::int32_t> workers{4, 16, 32, 64};
  std::vector<double> factors{1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0};
  std::vector<std::string> matrices;
  std::string markdown, json;
  bool quick = false;
};

struct Study {
  std::string title;
  std::vector<GeneratedTree> trees;
  bool moldable = false;
};

// Ratios of one strategy: [workers][factor], 0 where it ran no tree.
struct Row {
  std::string name;
  std::vector<std::vector<double>> mean;
  std::vector<std::vector<int>> trees;  // that it could run
};

Bytes times(Bytes least, double factor) {
  return static_cast<Bytes>(std::ceil(factor * static_cast<double>(least)));
}

class Means {
 public:
  explicit Means(const Options& options) : options_(options) {
    for (const Strategy strategy : kStrategies) {
      rows_.push_back({std::string(name(strategy)), grid<double>(), grid<int>()});
    }
  }

  void add(const GeneratedTree& instance, bool moldable) {
    const TaskTree& tree = *instance.tree;
    const SequentialOrders orders = sequential_orders(tree);
    std::vector<double> useful;
    if (moldable) useful = useful_workers(instance, kLittle);
    for (std::size_t w = 0; w < options_.workers.size(); ++w) {
      for (std::size_t f = 0; f < options_.factors.size(); ++f) {
        const Bytes bound = times(orders.liu.peak, options_.factors[f]);
        const StrategyOptions how{options_.workers[w], bound, useful};
        const Flops lower =
            lower_bounds(tree, how.workers,
                         moldable ? std::nullopt : std::optional<Bytes>(bound), useful)
                .best();
        for (std::size_t s = 0; s < kStrategies.size(); ++s) {
          const auto run = run_strategy(tree, orders, kStrategies[s], how);
          if (!run) continue;
          rows_[s].mean[w][f] += std::log(run->makespan / lower);
          rows_[s].trees[w][f] += 1;
        }
      }
    }
  }

  [[nodiscard]] std::vector<Row> rows() const {
    std::vector<Row> result = rows_;
    for (Row& row : result) {
      for (std::size_t w = 0; w < row.mean.size(); ++w) {
        for (std::size_t f = 0; f < row.mean[w].size(); ++f) {
          const int trees = row.trees[w][f];
          row.mean[w][f] = trees > 0 ? std::exp(row.mean[w][f] / trees) : 0;
        }
      }
    }
    return result;
  }

 private:
  template <class T>
  [[nodiscard]] std::vector<std::vector<T>> grid() const {
    return std::vector(options_.workers.size(), std::vector<T>(options_.factors.size()));
  }

  const Options& options_;
  std::vector<Row> rows_;
};

// A star marks means over fewer trees than the study has: the bound was too small there.
std::string markdown(const Study& study, const Options& options,
                     const std::vector<Row>& rows) {
  std::string text = fmt::format("### {}, {} trees\n", study.title, study.trees.size());
  for (std::size_t w = 0; w < options.workers.size(); ++w) {
    text += fmt::format("\n| P = {}, M / least |", options.workers[w]);
    for (const double factor : options.factors) text += fmt::format(" {} |", factor);
    text += "\n|---|";
    for (std::size_t f = 0; f < options.factors.size(); ++f) text += "---:|";
    for (const Row& row : rows) {
      text += fmt::format("\n| {} |", row.name);
      for (std::size_t f = 0; f < options.factors.size(); ++f) {
        const bool all = row.trees[w][f] == static_cast<int>(study.trees.size());
        text += fmt::format(" {:.3f}{} |", row.mean[w][f], all ? "" : "*");
      }
    }
    text += '\n';
  }
  return text + '\n';
}

nlohmann::ordered_json json_of(const Study& study, const Options& options,
                               const std::vector<Row>& rows) {
  nlohmann::ordered_json result{
      {"study", study.title}, {"workers", options.workers}, {"factors", options.factors}};
  for (const GeneratedTree& tree : study.trees) {
    result["trees"].push_back({{"name", tree.name}, {"tasks", tree.tree->size()}});
  }
  for (const Row& row : rows) {
    result["ratios"].push_back(
        {{"strategy", row.name}, {"mean", row.mean}, {"trees", row.trees}});
  }
  return result;
}

std::vector<GeneratedTree> few_assembly_trees() {
  return {assembly_tree("60x60", Elimination::kDissection, 4),
          assembly_tree("12x12x12", Elimination::kDissection, 4)};
}

std::vector<Study> studies(const Options& options) {
  const std::vector<GeneratedTree> assembly =
      options.quick ? few_assembly_trees() : assembly_trees();
  std::vector<GeneratedTree> synthetic;
  for (std::uint32_t seed = 1; seed <= (options.quick ? 2 : 10); ++seed) {
    synthetic.push_back(synthetic_tree(seed % 2 == 0 ? 1000 : 10'000, seed));
  }
  std::vector<Study> all{{"Sequential fronts", assembly, false},
                         {"Moldable fronts, little parallelism", assembly, true},
                         {"Synthetic trees, sequential tasks", synthetic, false}};
  if (options.matrices.empty()) return all;
  std::vector<GeneratedTree> matrices;
  for (const std::string& file : options.matrices) matrices.push_back(matrix_tree(file));
  all.push_back({"Matrices, moldable fronts, little parallelism", matrices, true});
  return all;
}

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file.flush()) throw FileError(path, 0, "cannot be written");
}

void run(const Options& options) {
  std::string text;
  auto figures = nlohmann::ordered_json::array();
  for (const Study& study : studies(options)) {
    Means means(options);
    for (const GeneratedTree& tree : study.trees) means.add(tree, study.moldable);
    const std::vector<Row> rows = means.rows();
    fmt::print("{}", markdown(study, options, rows));
    std::fflush(stdout);
    text += markdown(study, options, rows);
    figures.push_back(json_of(study, options, rows));
  }
  if (!options.markdown.empty()) write(options.markdown, text);
  if (!options.json.empty()) write(options.json, figures.dump(1) + '\n');
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("Strategies beside what no schedule can beat, on generated trees");
  app.add_option("MATRIX", options.matrices, "Matrix files, one more set of trees")
      ->check(CLI::ExistingFile);
  app.add_flag("--quick", options.quick, "A few small trees");
  app.add_option("--workers", options.workers, "Numbers of workers")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--factors", options.factors, "Bounds, in least bounds")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1.0, 1e6));
  app.add_option("--markdown", options.markdown, "Also write the tables here");
  app.add_option("--json", options.json, "Also write all figures here");
  return parse_and_run(app, argc, argv, [&] {
    run(options);
    return 0;
  });
}
