#pragma once

#include <cstdlib>

namespace espalier::solver {

/// While one exists hwloc finds processors and memory alone, unless the user has said
/// what it is to find: to read what stands on each bus takes longer than all the rest of
/// a start of StarPU, and no worker is on a device.
class WithoutDevices {
 public:
  WithoutDevices() : is_ours_(std::getenv(kName) == nullptr) {
    if (is_ours_) setenv(kName, "-pci,-linuxio", 1);
  }
  WithoutDevices(const WithoutDevices&) = delete;
  WithoutDevices& operator=(const WithoutDevices&) = delete;
  ~WithoutDevices() {
    if (is_ours_) unsetenv(kName);
  }

 private:
  static constexpr const char* kName = "HWLOC_COMPONENTS";
  bool is_ours_;
};

}  // namespace espalier::solver
