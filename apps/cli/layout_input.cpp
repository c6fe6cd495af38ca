#include "cli/layout_input.h"

#include "cli/text_stream.h"
#include "solver/io/text_reader.h"

namespace espalier::cli {

LayoutFile read_layout_input(const std::string& path, Bytes alignment) {
  solver::TextReader reader(path);
  TextStream in(reader);
  return read_layout_csv(in, path, alignment);
}

}  // namespace espalier::cli
