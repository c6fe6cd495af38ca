#pragma once

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace espalier::solver {

/// A file of this test program that lives as long as the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& suffix = "")
      : path_(testing::TempDir() + "espalier_" + std::to_string(getpid()) + "_" +
              std::to_string(next_++) + suffix) {}
  TemporaryFile(std::string_view bytes, const std::string& suffix)
      : TemporaryFile(suffix) {
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { std::filesystem::remove(path_); }

  [[nodiscard]] const std::string& path() const { return path_; }

  [[nodiscard]] std::string bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void compress(std::string_view text) const {
    gzFile file = gzopen(path_.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
  }

 private:
  std::string path_;
  static inline int next_ = 0;
};

}  // namespace espalier::solver
