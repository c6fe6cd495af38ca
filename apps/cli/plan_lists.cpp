#include "cli/plan_lists.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <limits>

#include "cli/number_option.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

// "a,b" is "a" and "b", ",a" is "" and "a".
std::vector<std::string> items(const std::string& list) {
  std::vector<std::string> result(1);
  for (const char c : list) {
    if (c == ',') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

std::int32_t parse_workers(const std::string& text) {
  try {
    return static_cast<std::int32_t>(
        parse_whole(text, 1, std::numeric_limits<std::int32_t>::max()));
  } catch (const Error& error) {
    throw CLI::ValidationError("--workers", error.what());
  }
}

MemoryItem parse_item(const std::string& text) {
  try {
    return {text, parse_memory(text)};
  } catch (const Error& error) {
    throw CLI::ValidationError("--memory", error.what());
  }
}

}  // namespace

void add_worker_list(CLI::App& app, std::vector<std::int32_t>& workers) {
  const auto read = [&workers](const std::string& text) {
    workers.clear();
    for (const std::string& item : items(text)) workers.push_back(parse_workers(item));
  };
  app.add_option_function<std::string>("--workers", read,
                                       "Workers, one core each; to compare, a list: 4,16")
      ->type_name("N[,N…]")
      ->default_str(std::to_string(workers.front()));
}

void add_memory_list(CLI::App& app, std::vector<MemoryItem>& memory) {
  const auto read = [&memory](const std::string& text) {
    memory.clear();
    for (const std::string& item : items(text)) memory.push_back(parse_item(item));
  };
  app.add_option_function<std::string>(
         "--memory", read,
         "Memory bound: a size (512MiB, 2GB), min for the least that\n"
         "suffices, xFACTOR for that many times the least, auto for what\n"
         "is left on this machine, or none; to compare, a list: x1,x1.5,8GiB")
      ->type_name("SIZE|min|xFACTOR|auto|none")
      ->default_str("min");
}

}  // namespace espalier::cli
