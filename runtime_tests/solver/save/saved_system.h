#pragma once

// Systems that are factored by one thread, saved, and loaded again: without the runtime.

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstring>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "solver/runtime/factorise.h"
#include "solver/save/save_factor.h"
#include "solver/save/save_system.h"
#include "solver/support/systems.h"
#include "solver/support/temporary_file.h"
#include "support/file_size_limit.h"

namespace espalier::solver {

using support::FileSizeLimit;

/// As a new file: file systems may wait for the disk when an old one is overwritten.
inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::filesystem::remove(path);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Values in [-1, 1], most diagonal entries zero where the kind can do with that.
inline SquareMatrix random_of_kind(std::mt19937& random, std::int32_t n, FactorKind kind,
                                   Shape shape) {
  SquareMatrix a{random_values(random, random_pattern(random, shape, n), n), {}};
  if (kind == FactorKind::kCholesky) return a;
  std::uniform_real_distribution<> value(-1, 1);
  for (std::int32_t j = 0; j < n; ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k) {
      const bool diagonal = a.lower.row[k] == j;
      a.lower.value[k] = diagonal && draw(random, 0, 3) > 0 ? 0 : value(random);
      if (kind == FactorKind::kLu)
        a.upper.push_back(diagonal ? a.lower.value[k] : value(random));
    }
  return a;
}

inline SquareMatrix random_of_kind(std::mt19937& random, std::int32_t n,
                                   FactorKind kind) {
  const auto shape = static_cast<Shape>(draw(random, 0, kShapes - 1));
  return random_of_kind(random, n, kind, shape);
}

template <class T>
struct FactoredSystem {
  FactoredSystem(std::mt19937& random, std::int32_t n, FactorKind kind) {
    analysis = analyse(random_of_kind(random, n, kind), random_analysis(random));
    facts.kind = kind;
    facts.precision = sizeof(T) == 4 ? Precision::kSingle : Precision::kDouble;
    facts.workers = draw(random, 1, 4);
    prepared.kind = kind;
    prepared.structural_rank = prepared.pattern_rank = n;
    tree = build_assembly_tree(
        analysis.symbolic,
        {.kind = kind, .entry_bytes = sizeof(T), .workers = facts.workers});
    std::vector<TaskId> order;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) order.push_back(task_id(i));
    auto run = factorise_sequentially<T>({analysis.symbolic,
                                          analysis.permuted,
                                          tree,
                                          {.zero = 1e-30, .perturbation = 1e-6}},
                                         order, report);
    if (run) factor = std::move(*run);
  }
  void save(const std::string& path) const {
    SectionWriter file(path);
    save_system(facts, prepared, analysis, tree, file);
    save_factor<T>({analysis.symbolic, tree, factor}, file);
    file.commit();
  }

  SystemFacts facts;
  PreparedMatrix prepared;
  Analysis analysis;
  AssemblyTree tree;
  FactorReport report;
  Factor<T> factor;
};

template <class T>
struct LoadedFactor {
  explicit LoadedFactor(const std::string& path) : LoadedFactor(SectionReader(path)) {}
  explicit LoadedFactor(SectionReader&& file)
      : system(load_system(file)),
        tree(build_assembly_tree(system.analysis.symbolic,
                                 {.kind = system.facts.kind,
                                  .entry_bytes = sizeof(T),
                                  .workers = system.facts.workers})) {
    if (tree.block_width != system.block_width) file.fail("has other widths");
    factor = load_factor<T>(system.analysis.symbolic, tree, file);
    file.finish();
  }

  SavedSystem system;
  AssemblyTree tree;
  Factor<T> factor;
};

/// A^-1 or A^-T times 1, 2, 3 ...
template <class T>
std::vector<T> solution(const Symbolic& symbolic, const AssemblyTree& tree,
                        const Factor<T>& factor, bool transposed) {
  std::vector<T> b(static_cast<std::size_t>(symbolic.size)), x(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<T>(i + 1);
  solve_sequentially<T>({symbolic, tree, factor}, transposed,
                        {b.data(), symbolic.size, 1}, {x.data(), symbolic.size, 1});
  return x;
}

/// Gives the header and every section that can still be found the checksums that their
/// bytes have.
inline void repair_checksums(std::string& bytes) {
  const auto crc_of = [&](std::size_t at, std::size_t count, std::uint32_t before = 0) {
    return static_cast<std::uint32_t>(
        crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data() + at), count));
  };
  const auto put = [&](std::size_t at, std::uint32_t crc) {
    std::memcpy(bytes.data() + at, &crc, sizeof crc);
  };
  using Head = SectionFormat::Head;
  std::uint32_t before = 0;  // CRC of the head before
  put(offsetof(SectionFormat::Header, crc),
      crc_of(0, offsetof(SectionFormat::Header, crc)));
  for (std::size_t at = sizeof(SectionFormat::Header);
       at + sizeof(Head) <= bytes.size();) {
    Head head;
    std::memcpy(&head, bytes.data() + at, sizeof head);
    const std::size_t begin = at + sizeof head;
    const bool inside =
        head.entry_bytes > 0 && head.entries <= (bytes.size() - begin) / head.entry_bytes;
    const std::size_t count = inside ? head.entries * head.entry_bytes : 0;
    put(at + offsetof(Head, entries_crc), crc_of(begin, count));
    before = crc_of(at, offsetof(Head, crc), before);
    put(at + offsetof(Head, crc), before);
    if (!inside) return;
    at = begin + count;
  }
}

}  // namespace espalier::solver
