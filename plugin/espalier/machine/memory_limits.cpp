#include "espalier/machine/memory_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string_view>

#include "espalier/machine/mapped_limits.h"
#include "espalier/machine/process_memory.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

constexpr Bytes kUnlimited = std::numeric_limits<Bytes>::max();

// The number that a file of one number holds; none if it says "max" or is not there.
std::optional<Bytes> number_in(const fs::path& path) {
  std::ifstream in(path);
  Bytes value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

// The number behind a name, one of each on a line.
std::optional<Bytes> field_in(const fs::path& path, std::string_view name) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string key;
    Bytes value = 0;
    if (words >> key && key == name && words >> value) return value;
  }
  return std::nullopt;
}

MemoryLeft left_of(Bytes limit, Bytes used, const std::string& name) {
  return {limit, std::max<Bytes>(0, limit - used),
          fmt::format("{} ({})", name, format_size(limit))};
}

// What differs between the versions of control groups. Above `throttled` a group of
// version 2 is not killed but put to sleep until the system has taken pages back.
struct GroupFiles {
  const char *top, *limit, *throttled, *used, *droppable;
};
constexpr GroupFiles kVersion2{"sys/fs/cgroup", "memory.max", "memory.high",
                               "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"sys/fs/cgroup/memory", "memory.limit_in_bytes", nullptr,
                               "memory.usage_in_bytes", "total_inactive_file"};

void add_groups(const fs::path& root, const GroupFiles& files, fs::path group,
                std::vector<MemoryLeft>& found) {
  for (bool more = true; more; group = group.parent_path()) {
    more = !group.empty();
    const fs::path folder = root / files.top / group;
    for (const char* file : {files.limit, files.throttled}) {
      if (file == nullptr) continue;
      const auto size = number_in(folder / file);
      // Version 1 says "none" by a number that is nearly the largest there is.
      if (!size || *size > kUnlimited / 2) continue;
      const Bytes used = number_in(folder / files.used).value_or(0);
      const Bytes droppable =
          field_in(folder / "memory.stat", files.droppable).value_or(0);
      found.push_back(left_of(
          *size, std::max<Bytes>(0, used - droppable),
          fmt::format("{} of the control group /{}", file, group.generic_string())));
    }
  }
}

void add_mapped_limits(const LimitSources& sources, std::vector<MemoryLeft>& found) {
  for (const MappedLimit& each : mapped_limits()) {
    const Bytes used =
        field_in(sources.root / "proc/self/status", fmt::format("{}:", each.field))
            .value_or(0);
    found.push_back(left_of(each.limit, checked_mul(used, 1024), each.name));
  }
}

// A variable that is a number, and may go on after it where `more` begins what follows:
// SLURM_STEP_TASKS_PER_NODE is "2(x3),1". Nothing for anything else.
std::optional<Bytes> number_of(const LimitSources& sources, const char* name,
                               std::string_view more = {}) {
  const char* const text = sources.variable ? sources.variable(name) : std::getenv(name);
  if (text == nullptr) return std::nullopt;
  const std::string_view given = text;
  Bytes value = 0;
  const char* const end = given.data() + given.size();
  const auto read = std::from_chars(given.data(), end, value);
  if (read.ec != std::errc() || value <= 0) return std::nullopt;
  if (read.ptr != end && more.find(*read.ptr) == more.npos) return std::nullopt;
  return value;
}

// What Slurm gives to a job on this node, in MiB; this process has its share.
void add_slurm(const LimitSources& sources, Bytes resident,
               std::vector<MemoryLeft>& found) {
  const char* name = "SLURM_MEM_PER_NODE";
  std::optional<Bytes> mebibytes = number_of(sources, name);
  if (!mebibytes) {
    name = "SLURM_MEM_PER_CPU";
    mebibytes = number_of(sources, name);
    if (mebibytes)
      mebibytes =
          checked_mul(*mebibytes, number_of(sources, "SLURM_CPUS_ON_NODE").value_or(1));
  }
  if (!mebibytes) return;
  const Bytes tasks = number_of(sources, "SLURM_STEP_TASKS_PER_NODE", "(,").value_or(1);
  found.push_back(
      left_of(checked_mul(*mebibytes, Bytes{1} << 20) / tasks, resident, name));
}

Bytes resident_of(const LimitSources& sources) {
  std::ifstream in(sources.root / "proc/self/status");
  std::stringstream text;
  text << in.rdbuf();
  return parse_process_memory(text.str()).vm_rss.value_or(0);
}

}  // namespace

std::vector<MemoryLeft> control_group_memory(const LimitSources& sources) {
  std::vector<MemoryLeft> found;
  std::ifstream in(sources.root / "proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t controllers = line.find(':');
    const std::size_t path = line.find(':', controllers + 1);
    if (controllers == std::string::npos || path == std::string::npos) continue;
    const std::string names = line.substr(controllers + 1, path - controllers - 1);
    if (!names.empty() && names.find("memory") == std::string::npos) continue;
    add_groups(sources.root, names.empty() ? kVersion2 : kVersion1,
               fs::path(line.substr(path + 1)).relative_path(), found);
  }
  return found;
}

std::vector<MemoryLeft> memory_left(const LimitSources& sources) {
  std::vector<MemoryLeft> found = control_group_memory(sources);
  if (sources.resource_limits) add_mapped_limits(sources, found);
  add_slurm(sources, resident_of(sources), found);
  if (const auto kibibytes = field_in(sources.root / "proc/meminfo", "MemAvailable:")) {
    const Bytes free = checked_mul(*kibibytes, 1024);
    found.push_back(left_of(free, 0, "MemAvailable of the machine"));
  }
  return found;
}

MemoryRoom memory_room(const LimitSources& sources) {
  const std::vector<MemoryLeft> all = memory_left(sources);
  const auto least = std::ranges::min_element(all, {}, &MemoryLeft::left);
  if (least == all.end()) return {kUnlimited, "nothing"};
  return {checked_add(resident_of(sources), least->left), least->source};
}

}  // namespace espalier
