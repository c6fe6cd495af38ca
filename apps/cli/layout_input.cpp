#include "cli/layout_input.h"

#include <istream>
#include <streambuf>

#include "solver/io/text_reader.h"

namespace espalier::cli {
namespace {

// The blocks of a reader as a stream.
class Blocks : public std::streambuf {
 public:
  explicit Blocks(solver::TextReader& reader) : reader_(reader) {}

 protected:
  int_type underflow() override {
    const std::string_view block = reader_.next_block();
    if (block.empty()) return traits_type::eof();
    char* const first = const_cast<char*>(block.data());  // a get area is not written to
    setg(first, first, first + block.size());
    return traits_type::to_int_type(*first);
  }

 private:
  solver::TextReader& reader_;
};

}  // namespace

LayoutFile read_layout_input(const std::string& path) {
  solver::TextReader reader(path);
  Blocks blocks(reader);
  std::istream in(&blocks);
  in.exceptions(std::ios::badbit);  // what the reader throws goes on to the caller
  return read_layout_csv(in, path);
}

}  // namespace espalier::cli
