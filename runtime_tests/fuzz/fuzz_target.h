#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace espalier::fuzz {

/// A reader of files that is given files of any content.
///
/// run() may end in espalier::Error and in nothing else. What was read has to obey laws
/// that hold for all input, such as that writing and reading it again changes nothing; a
/// law that is broken is a std::logic_error.
struct Target {
  const char* name;
  std::vector<std::string> (*seeds)();       ///< good files and nearly good ones
  std::vector<std::string_view> (*words)();  ///< what such files are made of
  void (*run)(std::string_view bytes);
  int mutations = 4000;  ///< in a bounded run
};

[[nodiscard]] Target tree_target();
[[nodiscard]] Target graph_json_target();
[[nodiscard]] Target graph_dot_target();
[[nodiscard]] Target graph_onnx_target();  ///< where the reader is built
[[nodiscard]] Target matrix_market_target();
[[nodiscard]] Target rutherford_boeing_target();
[[nodiscard]] Target vectors_target();
[[nodiscard]] Target layout_csv_target();
[[nodiscard]] Target chain_target();
[[nodiscard]] Target step_times_target();
[[nodiscard]] Target iopddl_target();
[[nodiscard]] Target pipeline_target();
[[nodiscard]] Target run_record_target();

/// All that are built.
[[nodiscard]] std::vector<Target (*)()> all_targets();

/// A law of a target. @throws std::logic_error unless it holds
void require(bool holds, const char* law);

/// A file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  int file_ = -1;
  std::string path_;
};

}  // namespace espalier::fuzz
