#include "cli/gzip_text.h"

#include <zlib.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

// zlib writes the path in front of what it says.
std::string reason(const std::string& path, std::string message) {
  if (message.starts_with(path + ": ")) message.erase(0, path.size() + 2);
  return message;
}

}  // namespace

void GzipText::Blocks::Close::operator()(gzFile_s* file) const noexcept { gzclose(file); }

GzipText::Blocks::Blocks(const std::string& path) : path_(path) {
  std::error_code none;
  if (std::filesystem::is_directory(path, none))
    throw FileError(path, 0, "is a directory");
  errno = 0;
  file_.reset(gzopen(path.c_str(), "rb"));
  if (!file_) throw FileError(path, 0, std::strerror(errno == 0 ? ENOMEM : errno));
}

GzipText::Blocks::int_type GzipText::Blocks::underflow() {
  const int got =
      gzread(file_.get(), block_.data(), static_cast<unsigned>(block_.size()));
  int error = Z_OK;
  const char* const message = gzerror(file_.get(), &error);
  if (error == Z_ERRNO) throw FileError(path_, 0, std::strerror(errno));
  if (got < 0 || (error != Z_OK && error != Z_STREAM_END))
    throw FileError(path_, 0, reason(path_, message));
  if (got == 0) return traits_type::eof();
  setg(block_.data(), block_.data(), block_.data() + got);
  return traits_type::to_int_type(block_.front());
}

GzipText::GzipText(const std::string& path) : std::istream(nullptr), blocks_(path) {
  rdbuf(&blocks_);
  exceptions(std::ios::badbit);  // who reads gets what the blocks throw
}

}  // namespace espalier::cli
