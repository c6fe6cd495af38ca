#include "policy/core/settings.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "espalier/io/output_file.h"
#include "espalier/model/error.h"

namespace espalier::policy {
namespace {

std::string_view text_of(const Environment& get, const char* variable) {
  const char* value = get(variable);
  return value == nullptr ? std::string_view() : value;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

[[noreturn]] void refuse(const char* variable, std::string_view value, const char* why) {
  throw InvalidInput(fmt::format("{}='{}' {}", variable, value, why));
}

struct MpiProcess {
  int rank = 0;
  std::optional<int> size;
};

// By the innermost launcher: mpirun may itself have been started by Slurm.
std::optional<MpiProcess> mpi_process(const Environment& get) {
  struct Launcher {
    const char *rank, *size;
  };
  constexpr std::array kLaunchers = {
      Launcher{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
      Launcher{"PMIX_RANK", nullptr}, Launcher{"PMI_RANK", "PMI_SIZE"},
      // SLURM_NTASKS is also set where a batch script runs one process without srun.
      Launcher{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const Launcher& launcher : kLaunchers) {
    const auto rank = parse_number<int>(text_of(get, launcher.rank));
    if (!rank || *rank < 0) continue;
    MpiProcess process{*rank, std::nullopt};
    if (launcher.size != nullptr) {
      process.size = parse_number<int>(text_of(get, launcher.size));
    }
    return process;
  }
  return std::nullopt;
}

struct Expanded {
  std::string name;
  bool names_process = false;
};

Expanded expand(const char* variable, std::string_view pattern, int rank) {
  Expanded result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      result.name += pattern[i];
      continue;
    }
    ++i;
    switch (i < pattern.size() ? pattern[i] : '\0') {
      case '%':
        result.name += '%';
        break;
      case 'p':
        result.name += std::to_string(getpid());
        result.names_process = true;
        break;
      case 'r':
        result.name += std::to_string(rank);
        result.names_process = true;
        break;
      default:
        refuse(variable, pattern,
               "is not a file name: after % may come p (process id), r (MPI rank) or %");
    }
  }
  return result;
}

std::string file_name(const Environment& get, const char* variable) {
  const std::string_view pattern = text_of(get, variable);
  if (pattern.empty() || pattern == "-") return std::string(pattern);
  const std::optional<MpiProcess> process = mpi_process(get);
  const int rank = process ? process->rank : 0;
  Expanded result = expand(variable, pattern, rank);
  const bool several = process && process->size.value_or(rank + 1) > 1;
  if (!several || result.names_process) return result.name;
  const std::filesystem::path path(result.name);
  const std::string numbered =
      fmt::format("{}.{}{}", path.stem().string(), rank, path.extension().string());
  return (path.parent_path() / numbered).string();
}

// Devices and pipes are written to one after the other.
bool replaces(const std::string& path, const std::string& other) {
  std::error_code ignored;
  const auto resolved = [&ignored](const std::string& name) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(name), ignored);
  };
  const bool plain = !std::filesystem::exists(path, ignored) ||
                     std::filesystem::is_regular_file(path, ignored);
  return plain && !other.empty() && other != "-" && resolved(path) == resolved(other);
}

std::optional<Bytes> memory(const Environment& get) {
  constexpr const char* kVariable = "ESPALIER_MEMORY";
  const std::string_view text = text_of(get, kVariable);
  if (text.empty()) return std::nullopt;
  Bytes bytes = 0;
  try {
    bytes = parse_size(text);
  } catch (const Error& error) {
    throw InvalidInput(fmt::format("{}='{}': {}", kVariable, text, error.what()));
  }
  if (bytes == 0) refuse(kVariable, text, "leaves no memory; unset it for no bound");
  return bytes;
}

Overflow on_overflow(const Environment& get) {
  constexpr const char* kVariable = "ESPALIER_ON_OVERFLOW";
  const std::string_view text = text_of(get, kVariable);
  if (text.empty()) return Settings().on_overflow;
  if (text == "abort") return Overflow::kAbort;
  if (text == "warn") return Overflow::kWarn;
  if (text == "disk") return Overflow::kDisk;
  refuse(kVariable, text, "is not abort, warn or disk");
}

std::optional<std::size_t> window(const Environment& get) {
  constexpr const char* kVariable = "ESPALIER_WINDOW";
  const std::string_view text = text_of(get, kVariable);
  if (text.empty()) return std::nullopt;
  const auto tasks = parse_number<std::size_t>(text);
  if (!tasks) refuse(kVariable, text, "is not a number of tasks, nor 0 for any number");
  return *tasks;
}

std::optional<std::chrono::microseconds> chosen_idle_sleep(const Environment& get) {
  constexpr const char* kVariable = "ESPALIER_IDLE_SLEEP";
  constexpr int kMost = 1'000'000;
  const std::string_view text = text_of(get, kVariable);
  if (text.empty()) return std::nullopt;
  const auto time = parse_number<int>(text);
  if (!time || *time < 0 || *time > kMost)
    refuse(kVariable, text, "is not a number of microseconds up to a second");
  return std::chrono::microseconds(*time);
}

std::int32_t processes_on_host(const Environment& get) {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const auto count = parse_number<std::int32_t>(text_of(get, variable)))
      return *count;
  // "4(x2),3": of the first hosts; the others have as many or one less.
  if (!mpi_process(get)) return 1;
  const std::string_view slurm = text_of(get, "SLURM_STEP_TASKS_PER_NODE");
  return parse_number<std::int32_t>(slurm.substr(0, slurm.find_first_of("(,")))
      .value_or(1);
}

}  // namespace

const char* process_environment(const char* name) { return std::getenv(name); }

std::optional<int> mpi_rank(const Environment& get) {
  const std::optional<MpiProcess> process = mpi_process(get);
  return process ? std::optional(process->rank) : std::nullopt;
}

Settings read_settings(const Environment& get) {
  Settings settings;
  settings.memory = memory(get);
  settings.on_overflow = on_overflow(get);
  for (const char* variable : {"TMPDIR", "ESPALIER_SPILL_DIR"}) {
    const std::string_view directory = text_of(get, variable);
    if (!directory.empty()) settings.spill_directory = directory;
  }
  settings.window = window(get);
  settings.idle_sleep = chosen_idle_sleep(get);
  settings.report = file_name(get, "ESPALIER_REPORT");
  settings.trace = file_name(get, "ESPALIER_TRACE");
  if (settings.trace == "-") refuse("ESPALIER_TRACE", "-", "is not the name of a file");
  if (!settings.trace.empty() && replaces(settings.trace, settings.report))
    refuse("ESPALIER_TRACE", settings.trace, "is the file of ESPALIER_REPORT, too");
  return settings;
}

std::chrono::microseconds idle_sleep(const Environment& get, std::size_t workers,
                                     CoreShare cores) {
  if (const auto chosen = chosen_idle_sleep(get)) return *chosen;
  const std::int32_t processes = processes_on_host(get);
  // Beside the workers there is StarPU-MPI's thread.
  const bool crowded =
      processes > 1 &&
      is_crowded(cores, processes, static_cast<std::int32_t>(workers) + 1);
  return std::chrono::microseconds(crowded ? 50 : 0);
}

void check_writable(const std::string& path) { check_output(path); }

}  // namespace espalier::policy
