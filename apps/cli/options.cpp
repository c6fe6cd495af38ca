#include "cli/options.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <limits>
#include <vector>

#include "cli/number_option.h"
#include "cli/remedy.h"
#include "espalier/io/output_file.h"
#include "espalier/machine/memory_limits.h"
#include "espalier/model/error.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/launch.h"
#endif

namespace espalier::cli {
namespace {

double parse_factor(std::string_view text) {
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, factor);
  if (error != std::errc() || stop != end || !std::isfinite(factor) || factor <= 0) {
    throw InvalidInput(fmt::format("'x{}' is not x and a positive number", text));
  }
  return factor;
}

}  // namespace

Bytes MemoryRequest::resolve(Bytes least, Bytes unbounded,
                             const std::string& option) const {
  switch (kind) {
    case Kind::kUnbounded:
      return unbounded;
    case Kind::kLeast:
      return least;
    case Kind::kSize:
      return size;
    case Kind::kFactor:
      break;
  }
  if (factor == 1) return least;
  const long double bytes = std::ceil(static_cast<long double>(factor) * least);
  if (bytes >= 0x1p63L) {
    throw Refused(fmt::format("{} x{}: {} times {} B leaves 64 bits", option, factor,
                              factor, least),
                  set_option(option, "min"));
  }
  return static_cast<Bytes>(bytes);
}

MemoryRequest parse_memory(std::string_view text) {
  using Kind = MemoryRequest::Kind;
  if (text == "min") return {.kind = Kind::kLeast};
  if (text == "none") return {.kind = Kind::kUnbounded};
  if (text == "auto") {
    MemoryRoom room = memory_room();
    return {.kind = Kind::kSize, .size = room.bytes, .source = std::move(room.source)};
  }
  if (text.starts_with('x')) {
    return {.kind = Kind::kFactor, .factor = parse_factor(text.substr(1))};
  }
  return {.kind = Kind::kSize, .size = parse_size(text)};
}

void refuse_options(std::span<const std::string> names, std::string_view why,
                    std::string_view before) {
  if (names.empty()) return;
  Remedy remedy;
  for (const std::string& name : names) remedy.edits.push_back({Edit::Kind::kDrop, name});
  throw Refused(fmt::format("{}{}: {}", before, fmt::join(names, ", "), why), remedy);
}

void refuse_given(const CLI::App& app, std::span<const std::string_view> options,
                  std::string_view why) {
  std::vector<std::string> given;
  for (const std::string_view option : options)
    if (app.count(std::string(option)) > 0) given.emplace_back(option);
  refuse_options(given, why);
}

CLI::Option* add_read(CLI::App& app, const std::string& option,
                      std::function<void(const std::string&)> read,
                      const std::string& help) {
  return app.add_option_function<std::string>(
      option,
      [option, read = std::move(read)](const std::string& text) {
        try {
          read(text);
        } catch (const Error& error) {
          throw CLI::ValidationError(option, error.what());
        }
      },
      help);
}

CLI::Option* add_named(CLI::App& app, const std::string& option,
                       std::function<void(const std::string&)> read,
                       const std::string& names, const std::string& chosen,
                       const std::string& help) {
  return add_read(app, option, std::move(read), help)
      ->type_name(names)
      ->default_str(chosen);
}

void add_memory(CLI::App& app, MemoryRequest& memory, const std::string& default_text) {
  memory = parse_memory(default_text);
  const auto read = [&memory](const std::string& text) { memory = parse_memory(text); };
  add_read(app, "--memory", read,
           "Memory bound: a size (512MiB, 2GB), min for the least that\n"
           "suffices, xFACTOR for that many times the least, auto for what\n"
           "control groups, ulimit, Slurm and free memory leave, or none")
      ->type_name("SIZE|min|xFACTOR|auto|none")
      ->default_str(default_text);
}

void add_timeout(CLI::App& app, Seconds& timeout, const std::string& help) {
  app.add_option_function<std::string>(
         "--timeout",
         [&timeout](std::string text) {
           if (text.ends_with('s')) text.pop_back();
           double seconds = 0;
           if (!CLI::detail::lexical_cast(text, seconds) || !(seconds >= 0) ||
               !std::isfinite(seconds))
             throw CLI::ValidationError("--timeout",
                                        "'" + text + "' is not a number of seconds");
           timeout = seconds;
         },
         help)
      ->type_name("SECONDS")
      ->default_str(fmt::format("{}", timeout));
}

void add_order_kind(CLI::App& app, OrderKind& order) {
  std::vector<std::pair<std::string, OrderKind>> choices;
  std::string help = "Order in which memory is granted";
  for (const TreeOrder& each : tree_orders()) {
    choices.emplace_back(each.name, each.kind);
    help += fmt::format("\n{}: {}", each.name, each.help);
  }
  add_choice(app, "--order", order, std::move(choices), help);
}

void add_mapping(CLI::App& app, MappingKind& mapping) {
  std::vector<std::pair<std::string, MappingKind>> choices;
  for (const MappingChoice& each : mapping_kinds())
    choices.emplace_back(each.name, each.kind);
  add_choice(app, "--mapping", mapping, std::move(choices),
             "Which workers a task prefers");
}

void add_workers(CLI::App& app, std::int32_t& workers) {
  whole(app.add_option("--workers", workers, "Workers, one core each")->type_name("N"), 1,
        std::numeric_limits<std::int32_t>::max())
      ->capture_default_str();
}

void add_seed(CLI::App& app, std::uint64_t& seed, const std::string& help) {
  add_read(
      app, "--seed", [&seed](const std::string& text) { seed = parse_seed(text); }, help)
      ->type_name("N")
      ->default_str(std::to_string(seed));
}

void add_json(CLI::App& app, bool& json) {
  app.add_flag("--json", json, "One JSON object on standard output, nothing else");
}

bool is_first_process() {
#ifdef ESPALIER_WITH_MPI
  return launch().rank == 0;
#else
  return true;
#endif
}

int launched_processes() {
#ifdef ESPALIER_WITH_MPI
  return launch().processes;
#else
  return 0;
#endif
}

constexpr const char* kResult = "result";

CLI::Option* add_output(CLI::App& app, const std::string& option, std::string& path,
                        const std::string& help) {
  const auto check = [](const std::string& text) -> std::string {
    if (!is_first_process()) return {};
    try {
      check_output(text);
    } catch (const FileError& error) {
      return error.what();
    }
    return {};
  };
  return app.add_option(option, path, help)
      ->check(CLI::Validator(check, "", kResult))
      ->type_name("FILE");
}

bool is_output(CLI::Option& option) {
  try {
    return option.get_validator(kResult) != nullptr;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

std::string_view name(OrderKind order) {
  const TreeOrder* const known = find_order(order);
  return known == nullptr ? "?" : known->name;
}
std::string_view name(MappingKind mapping) {
  const MappingChoice* const known = find_mapping(mapping);
  return known == nullptr ? "?" : known->name;
}

}  // namespace espalier::cli
