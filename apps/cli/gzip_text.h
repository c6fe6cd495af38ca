#pragma once

#include <array>
#include <istream>
#include <memory>
#include <streambuf>
#include <string>

struct gzFile_s;

namespace espalier::cli {

/// The text of a file, plain or gzip (told apart by its first bytes), whose lines may be
/// of any length.
class GzipText : public std::istream {
 public:
  /// @throws FileError when the file cannot be opened; reading throws it when the file
  ///         cannot be read, or gzip data are damaged or cut off
  explicit GzipText(const std::string& path);

 private:
  class Blocks : public std::streambuf {
   public:
    explicit Blocks(const std::string& path);

   protected:
    int_type underflow() override;

   private:
    struct Close {
      void operator()(gzFile_s* file) const noexcept;
    };
    std::string path_;
    std::unique_ptr<gzFile_s, Close> file_;
    std::array<char, 64 * 1024> block_{};
  };

  Blocks blocks_;
};

}  // namespace espalier::cli
