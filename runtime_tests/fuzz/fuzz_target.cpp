#include "fuzz/fuzz_target.h"

#include <sys/mman.h>
#include <unistd.h>

#include <stdexcept>

namespace espalier::fuzz {

std::vector<Target (*)()> all_targets() {
  return {
      tree_target,          graph_json_target,        graph_dot_target,
#ifdef ESPALIER_WITH_ONNX
      graph_onnx_target,
#endif
      matrix_market_target, rutherford_boeing_target, vectors_target,   layout_csv_target,
      chain_target,         step_times_target,        iopddl_target,    pipeline_target,
      run_record_target};
}

void require(bool holds, const char* law) {
  if (!holds) throw std::logic_error(law);
}

MemoryFile::MemoryFile(std::string_view bytes) : file_(memfd_create("fuzz", 0)) {
  if (file_ < 0) throw std::runtime_error("memfd_create failed");
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0) throw std::runtime_error("a file in memory cannot be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  path_ = "/proc/self/fd/" + std::to_string(file_);
}

MemoryFile::~MemoryFile() { close(file_); }

}  // namespace espalier::fuzz
