#include "espalier/model/text_file.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "espalier/model/error.h"

namespace espalier {
namespace {

[[noreturn]] void fail(const std::string& path, const char* what) {
  throw FileError(path, 0, fmt::format("cannot be {}: {}", what, std::strerror(errno)));
}

}  // namespace

void write_file(const std::string& path,
                const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream out(path, std::ios::binary);
  if (!out) fail(path, "written");
  write(out);
  out.close();
  if (!out) fail(path, "written");
}

void read_file(const std::string& path, const std::function<void(std::istream&)>& read) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) fail(path, "read");
  read(in);
}

}  // namespace espalier
