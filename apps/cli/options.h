#pragma once

// Options that several subcommands share. A value that cannot be read is a
// CLI::ValidationError whose message names the option and the value.

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/cli_types.h"
#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "espalier/parallel/make_plan.h"

namespace espalier::cli {

/// What --memory asks for.
struct MemoryRequest {
  enum class Kind {
    kUnbounded,  ///< "none"
    kLeast,      ///< "min": the least that suffices
    kSize,       ///< "8GiB", or "auto": memory_room() when it was read
    kFactor      ///< "x1.5": that many times the least
  };
  Kind kind = Kind::kLeast;
  Bytes size = 0;           ///< of kSize
  double factor = 0;        ///< of kFactor: finite and positive
  std::string source = {};  ///< of "auto": whose rest it is, of all that is here

  /// What is the same at every process of a job that was started with one command.
  [[nodiscard]] Bytes common_size() const { return source.empty() ? size : 0; }

  /// The bound in bytes, given the least that suffices and what no run can exceed.
  /// A fraction of a byte is rounded up.
  /// @param option  whose value this is
  /// @throws Refused beyond 2^63 - 1
  [[nodiscard]] Bytes resolve(Bytes least, Bytes unbounded,
                              const std::string& option = "--memory") const;
};

/// @throws InvalidInput for anything but a size, "min", "auto", "none" or "x" and a
///         number
[[nodiscard]] MemoryRequest parse_memory(std::string_view text);

void add_memory(CLI::App& app, MemoryRequest& memory, const std::string& default_text);
void add_order_kind(CLI::App& app, OrderKind& order);
void add_mapping(CLI::App& app, MappingKind& mapping);
/// A count of at least 1; `workers` holds the default.
void add_workers(CLI::App& app, std::int32_t& workers);
/// A whole number of 64 bits, 0 or more; `seed` holds the default.
void add_seed(CLI::App& app, std::uint64_t& seed, const std::string& help);
void add_json(CLI::App& app, bool& json);

/// Whether this is no process of a job, or the first of one: it writes results, and says
/// what is wrong with all of them before they know each other.
[[nodiscard]] bool is_first_process();
/// Processes of the job that this one belongs to; 0: nobody started one.
[[nodiscard]] int launched_processes();

/// The name of a file to be written: what cannot be written is known before the work
/// begins. Of several processes the first one looks, since it writes.
CLI::Option* add_output(CLI::App& app, const std::string& option, std::string& path,
                        const std::string& help);
/// Whether add_output() made it.
[[nodiscard]] bool is_output(CLI::Option& option);

[[nodiscard]] std::string_view name(OrderKind order);
[[nodiscard]] std::string_view name(MappingKind mapping);

/// Options that would do nothing are not taken.
/// @param before  stands in front of the names
/// @throws Refused naming them, and `why` behind them, unless there are none
void refuse_options(std::span<const std::string> names, std::string_view why,
                    std::string_view before = {});
/// The same of those of `options` that were given.
void refuse_given(const CLI::App& app, std::span<const std::string_view> options,
                  std::string_view why);

/// An option whose text `read` understands; what it throws as espalier::Error names the
/// option.
CLI::Option* add_read(CLI::App& app, const std::string& option,
                      std::function<void(const std::string&)> read,
                      const std::string& help);

/// --timeout: seconds of a search, "20" or "20s"; `timeout` holds the default.
void add_timeout(CLI::App& app, Seconds& timeout, const std::string& help);

/// An option that takes one of `names` ("a|b|c"), by default `chosen`.
CLI::Option* add_named(CLI::App& app, const std::string& option,
                       std::function<void(const std::string&)> read,
                       const std::string& names, const std::string& chosen,
                       const std::string& help);

/// An option whose values have names. `value` holds the default, and every value that it
/// can have is in `choices`, so that help and errors list exactly what is accepted.
template <class T>
CLI::Option* add_choice(CLI::App& app, const std::string& option, T& value,
                        std::vector<std::pair<std::string, T>> choices,
                        const std::string& help) {
  std::string names, chosen;
  for (const auto& [text, choice] : choices) {
    names += (names.empty() ? "" : "|") + text;
    if (choice == value) chosen = text;
  }
  auto read = [&value, choices = std::move(choices), names](const std::string& text) {
    for (const auto& [known, choice] : choices) {
      if (known == text) {
        value = choice;
        return;
      }
    }
    throw InvalidInput("'" + text + "' is none of " + names);
  };
  return add_named(app, option, std::move(read), names, chosen, help);
}

}  // namespace espalier::cli
