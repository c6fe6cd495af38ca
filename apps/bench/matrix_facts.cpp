// What the table says of a matrix before any solver has seen it: its order, its entries,
// whether it is symmetric and may be positive definite. matrix_facts INPUT prints JSON.

#include <fmt/format.h>

#include "peer_matrix.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: matrix_facts MATRIX|grid:NXxNYxNZ\n");
    return 2;
  }
  try {
    using namespace espalier::bench;
    const PeerMatrix matrix = read_input(argv[1]);
    fmt::print(
        "{{\"size\": {}, \"entries\": {}, \"symmetric\": {}, \"may_be_definite\": {}}}\n",
        matrix.size, matrix.row.size(), matrix.symmetric, may_be_definite(matrix));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "matrix_facts: {}\n", error.what());
    return 2;
  }
}
