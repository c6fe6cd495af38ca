#include "cli/gzip_text.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>

#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

// zlib writes the path in front of what it says.
std::string reason(const std::string& path, std::string message) {
  if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
  return message;
}

}  // namespace

std::string read_gzip_text(const std::string& path) {
  if (std::filesystem::is_directory(path)) throw FileError(path, 0, "is a directory");
  errno = 0;
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"),
                                                        gzclose);
  if (!file) throw FileError(path, 0, std::strerror(errno == 0 ? ENOMEM : errno));
  constexpr std::size_t kBlock = 1024 * 1024;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kBlock);
    const int got = gzread(file.get(), text.data() + before, unsigned{kBlock});
    int error = Z_OK;
    const char* const message = gzerror(file.get(), &error);
    if (error == Z_ERRNO) throw FileError(path, 0, std::strerror(errno));
    if (got < 0 || (error != Z_OK && error != Z_STREAM_END))
      throw FileError(path, 0, reason(path, message));
    text.resize(before + static_cast<std::size_t>(got));
    if (got == 0) return text;
  }
}

}  // namespace espalier::cli
