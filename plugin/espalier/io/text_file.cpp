#include "espalier/io/text_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <streambuf>
#include <string_view>

#include "espalier/io/output_file.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

// What a stream writes, on its way to a file. Its errors are exceptions: see
// write_file().
class FileBuffer : public std::streambuf {
 public:
  explicit FileBuffer(OutputFile& file) : file_(file) {
    setp(block_.data(), block_.data() + block_.size());
  }

 protected:
  int overflow(int next) override {
    flush();
    if (next != traits_type::eof()) sputc(static_cast<char>(next));
    return traits_type::not_eof(next);
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (count < epptr() - pptr()) return std::streambuf::xsputn(text, count);
    flush();
    file_.write(std::string_view(text, static_cast<std::size_t>(count)));
    return count;
  }
  int sync() override {
    flush();
    return 0;
  }

 private:
  void flush() {
    file_.write(std::string_view(pbase(), static_cast<std::size_t>(pptr() - pbase())));
    setp(block_.data(), block_.data() + block_.size());
  }

  OutputFile& file_;
  std::array<char, 64 * 1024> block_;
};

}  // namespace

void write_file(const std::string& path,
                const std::function<void(std::ostream&)>& write) {
  OutputFile file(path);
  FileBuffer buffer(file);
  std::ostream out(&buffer);
  out.exceptions(std::ios::badbit);  // rethrows what the buffer throws
  write(out);
  out.flush();
  file.commit();
}

void read_file(const std::string& path, const std::function<void(std::istream&)>& read) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in)
    throw FileError(path, 0, fmt::format("cannot be read: {}", std::strerror(errno)));
  in.exceptions(std::ios::badbit);  // with the system's reason
  try {
    read(in);
  } catch (const std::ios::failure& error) {
    throw FileError(path, 0, fmt::format("cannot be read: {}", error.code().message()));
  }
}

}  // namespace espalier
