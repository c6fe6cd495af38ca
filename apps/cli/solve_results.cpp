#include "cli/solve_results.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <string>
#include <string_view>

#include "cli/output.h"
#include "cli/paths.h"
#include "cli/remedy.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"
#include "solver/io/vector_io.h"

namespace espalier::cli {
namespace {

std::int32_t variable(const TextInput& text, std::string_view word, std::int32_t order) {
  std::int32_t number = 0;
  const auto [end, error] =
      std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 1 ||
      number > order)
    text.fail(fmt::format("{} is not a variable, from 1 to {}", excerpt(word), order));
  return number - 1;
}

}  // namespace

void add_results(CLI::App& app, SolveOptions& options) {
  app.add_flag("--determinant", options.determinant,
               "Tell the determinant: sign and logarithm");
  app.add_option("--null-space", options.null_space,
                 "Write an orthonormal basis of the null space that the\n"
                 "factorisation finds to this file; of none, no file")
      ->type_name("FILE");
  app.add_option("--schur", options.schur,
                 "Numbers of variables, from 1: they are not eliminated, and\n"
                 "the dense Schur complement on them is written to --out;\n"
                 "nothing is solved")
      ->type_name("FILE");
}

void check_results(const SolveOptions& options) {
  if (!options.null_space.empty()) check_result("--null-space", options.null_space);
  if (options.schur.empty()) return;
  if (options.out.empty())
    throw Refused(fmt::format("--schur {}: --out says where the Schur complement goes",
                              options.schur),
                  drop_option("--schur"));
  if (!options.rhs.empty())
    throw Refused(fmt::format("--rhs {}: with --schur nothing is solved", options.rhs),
                  drop_option("--rhs"));
  if (!options.save.empty())
    throw Refused(
        fmt::format("--save {}: with --schur there is no whole factor", options.save),
        drop_option("--save"));
}

namespace {

std::vector<std::int32_t> read_variables(const std::string& path, std::int32_t order) {
  std::vector<std::int32_t> variables;
  std::vector<bool> named(static_cast<std::size_t>(order), false);
  read_file(path, [&](std::istream& in) {
    TextInput text(in, path);
    std::string line;
    while (text.take_line(line)) {
      if (line.starts_with('%')) continue;
      std::string_view rest = line;
      constexpr std::string_view kBetween = " \t\r,";
      for (;;) {
        const auto begin = rest.find_first_not_of(kBetween);
        if (begin == std::string_view::npos) break;
        rest.remove_prefix(begin);
        const std::string_view word = rest.substr(0, rest.find_first_of(kBetween));
        const std::int32_t each = variable(text, word, order);
        if (named[each]) text.fail(fmt::format("'{}' is there twice", word));
        named[each] = true;
        variables.push_back(each);
        rest.remove_prefix(word.size());
      }
    }
  });
  if (variables.empty()) throw FileError(path, 0, "names no variables");
  return variables;
}

}  // namespace

std::vector<std::int32_t> kept_variables(const SolveOptions& options,
                                         std::int32_t order) {
  return refusing(drop_option("--schur"),
                  [&] { return read_variables(options.schur, order); });
}

void write_null_space(const SolveOptions& options, std::int64_t dimension,
                      const std::function<void()>& write) {
  if (options.null_space.empty()) return;
  const auto say_nothing_is_written = [&options](const char* why) {
    note(fmt::format("{}: --null-space {}: nothing is written: {}", options.input_name(),
                     options.null_space, why));
  };
  if (dimension == 0)
    return say_nothing_is_written("the factorisation found no null vectors");
  try {
    write();
  } catch (const InvalidInput&) {  // of the file, too
    throw;
  } catch (const Error& error) {
    say_nothing_is_written(error.what());
  }
}

void give_results(const SolveOptions& options, solver::Solver& solver, SolveRun& run) {
  if (options.determinant) run.determinant = solver.determinant();
  const solver::Symbolic& symbolic = solver.analysis().symbolic;
  write_null_space(options, solver.null_space(), [&] {
    const auto of_it = solver.of_transposed() ? solver::Operation::kTransposed
                                              : solver::Operation::kPlain;
    solver::write_vectors(options.null_space, solver.null_space_basis(of_it),
                          symbolic.size);
  });
  if (options.schur.empty()) return;
  run.right_hand_sides = 0;
  run.solution.doubts.singular = solver.singular();
  if (solver.singular()) return;
  const std::int64_t kept = symbolic.kept();
  std::vector<double> block(static_cast<std::size_t>(kept * kept));
  solver.schur(block);
  solver::write_vectors(options.out, block, kept);
}

}  // namespace espalier::cli
