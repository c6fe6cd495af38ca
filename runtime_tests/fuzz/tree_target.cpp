#include <sstream>

#include "espalier/io/tree_io.h"
#include "fuzz/fuzz_target.h"

namespace espalier::fuzz {
namespace {

std::string written(const TreeFile& file) {
  std::ostringstream out;
  write_tree(out, file.tree, file.ids);
  return out.str();
}

void run(std::string_view bytes) {
  std::istringstream in{std::string(bytes)};
  const TreeFile file = read_tree(in, "t");
  const std::string text = written(file);
  std::istringstream again(text);
  require(written(read_tree(again, "t")) == text, "a tree that is written is read");
}

}  // namespace

Target tree_target() {
  return {"tree",
          [] {
            return std::vector<std::string>{
                "# a tree\n\n7 900 4096 0 1.5e6   # a leaf\n900 -1 128 64 2e6 512\n",
                "0 1 1 1 1\n1 2 5 -1 1\n2 -1 3 0 0\n3 2 2 4 0.5\n4 -1 0 0 0\n"};
          },
          [] {
            return std::vector<std::string_view>{"-1",
                                                 "0",
                                                 "\n",
                                                 "#",
                                                 " ",
                                                 "1e308",
                                                 "nan",
                                                 "9223372036854775807",
                                                 "-4611686018427387904",
                                                 "\r\n"};
          },
          run};
}

}  // namespace espalier::fuzz
