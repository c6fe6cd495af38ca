#include "solver/distributed/distribute.h"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/distributed_systems.h"
#include "solver/distributed/thread_communicators.h"

namespace espalier::solver {
namespace TEST_SOURCE {

//   columns    0 1 2 | 3 4 5 | 6 7
//   nodes      local | local | shared by 0 and 1: blocks of one column
TEST(ColumnRanges, OfTwoSubtreesUnderASharedFront) {
  Symbolic symbolic;
  symbolic.size = 8;
  symbolic.first_column = {0, 3, 6, 8};
  symbolic.row_start = {0, 1, 3, 3};
  symbolic.rows = {6, 6, 7};
  symbolic.parent = {2, 2, -1};
  AssemblyTree tree;
  tree.nodes.resize(3);
  for (std::int32_t i = 0; i < 3; ++i) {
    tree.nodes[i].first_front = tree.nodes[i].last_front = i;
  }
  tree.block_width = {1, 1, 1};
  FrontDistribution distribution{2, {{0, 1}, {1, 1}, {0, 2}}, {{}, {}, {1, 0}}};
  const auto ranges = column_ranges(symbolic, tree, distribution);
  EXPECT_EQ(ranges, (std::vector<ColumnRange>{{0, 3, 0}, {3, 7, 1}, {7, 8, 0}}));
  const std::vector<std::int32_t> owners{0, 0, 0, 1, 1, 1, 1, 0};
  for (std::int32_t j = 0; j < 8; ++j) EXPECT_EQ(owner_of_column(ranges, j), owners[j]);
  distribution.owner[2] = {1};
  EXPECT_THROW((void)column_ranges(symbolic, tree, distribution), Error);
  distribution.owner[2] = {1, 2};
  EXPECT_THROW((void)column_ranges(symbolic, tree, distribution), Error);
}

struct Drawn {
  explicit Drawn(std::mt19937& random, std::int32_t n)
      : analysis(analyse(random_square(random, n), random_analysis(random))),
        options(random_assembly(random)) {
    options.block_width = draw(random, 1, 9);
    tree = build_assembly_tree(analysis.symbolic, options);
    std::vector<bool> single;
    for (const AssemblyTree::Node& node : tree.nodes)
      single.push_back(node.first_front == node.last_front);
    distribution =
        random_distribution(random, analysis.symbolic, tree, draw(random, 1, 5),
                            static_cast<Sharing>(draw(random, 0, 2)), single);
  }
  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  FrontDistribution distribution;
};

// Entries (row, column, value, opposite value) of some columns.
using Entries = std::vector<std::tuple<std::int32_t, std::int32_t, Complex, Complex>>;
void append_entries(const SquareMatrix& a, std::int32_t begin, std::int32_t end,
                    Entries& entries) {
  for (std::int32_t j = begin; j < end; ++j)
    for (auto k = a.lower.column_start[j]; k < a.lower.column_start[j + 1]; ++k)
      entries.emplace_back(a.lower.row[k], j,
                           a.complex ? a.entry<Complex>(k) : a.entry<double>(k),
                           a.complex ? a.opposite<Complex>(k) : a.opposite<double>(k));
}

TEST(DistributeColumns, LeavesEveryColumnAtItsOwnerOnly) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 100; ++instance) {
    const std::int32_t n = draw(random, 0, 60);
    Drawn drawn(random, n);
    if (instance % 2 == 1)
      drawn.analysis.permuted =
          with_imaginary(random, drawn.analysis.permuted, instance % 4 == 1);
    const auto ranges =
        column_ranges(drawn.analysis.symbolic, drawn.tree, drawn.distribution);
    SCOPED_TRACE(describe(drawn.distribution));
    std::vector<SquareMatrix> parts(drawn.distribution.processes);
    for (SquareMatrix& part : parts) part.complex = drawn.analysis.permuted.complex;
    parts[0] = drawn.analysis.permuted;
    run_threads(drawn.distribution.processes, [&](Communicator& communicator) {
      distribute_columns(communicator, ranges, parts[communicator.rank()]);
    });
    std::size_t total = 0;
    for (std::int32_t p = 0; p < drawn.distribution.processes; ++p) {
      const SquareMatrix& part = parts[p];
      ASSERT_EQ(part.size(), n);
      ASSERT_EQ(part.lower.column_start.size(), static_cast<std::size_t>(n) + 1);
      Entries own, all, expected;
      for (const ColumnRange& range : ranges) {
        if (range.owner != p) continue;
        append_entries(part, range.begin, range.end, own);
        append_entries(drawn.analysis.permuted, range.begin, range.end, expected);
      }
      append_entries(part, 0, n, all);
      ASSERT_EQ(own, expected);
      ASSERT_EQ(all, own);
      ASSERT_EQ(part.lower.row.size(), own.size());
      ASSERT_EQ(part.lower.value.size(), own.size());
      ASSERT_EQ(part.lower.row.capacity(), own.size());
      total += own.size();
    }
    ASSERT_EQ(total, drawn.analysis.permuted.lower.row.size());
  }
}

TEST(Broadcast, GivesEveryProcessTheStructure) {
  std::mt19937 random(6);
  for (int instance = 0; instance < 50; ++instance) {
    const Drawn drawn(random, draw(random, 0, 60));
    const Symbolic& expected = drawn.analysis.symbolic;
    std::vector<Symbolic> copies(4);
    copies[0] = expected;
    run_threads(4, [&](Communicator& communicator) {
      broadcast(communicator, copies[communicator.rank()]);
    });
    for (const Symbolic& copy : copies) {
      ASSERT_EQ(copy.size, expected.size);
      ASSERT_EQ(copy.permutation, expected.permutation);
      ASSERT_EQ(copy.first_column, expected.first_column);
      ASSERT_EQ(copy.row_start, expected.row_start);
      ASSERT_EQ(copy.rows, expected.rows);
      ASSERT_EQ(copy.parent, expected.parent);
      ASSERT_EQ(copy.factor_entries, expected.factor_entries);
      ASSERT_EQ(copy.factor_flops, expected.factor_flops);
    }
  }
}

// Communicator that change a byte of what they pass on.
class Damaging final : public Communicator {
 public:
  explicit Damaging(Communicator& communicator) : communicator_(communicator) {}
  [[nodiscard]] std::int32_t rank() const override { return communicator_.rank(); }
  [[nodiscard]] std::int32_t size() const override { return communicator_.size(); }
  void broadcast(std::span<std::byte> bytes, std::int32_t root) override {
    communicator_.broadcast(bytes, root);
    if (rank() != root && bytes.size() > 64) bytes[40] ^= std::byte{1};
  }
  void barrier() override { communicator_.barrier(); }
  std::vector<std::int64_t> gather_all(std::int64_t value) override {
    return communicator_.gather_all(value);
  }
  std::vector<double> gather_all(double value) override {
    return communicator_.gather_all(value);
  }
  std::unique_ptr<Channel> open_channel(std::function<void()> failed) override {
    return communicator_.open_channel(std::move(failed));
  }
  [[noreturn]] void fail(int /*status*/, std::string_view message) override {
    throw std::runtime_error(std::string(message));
  }
  using Communicator::sum;
  void sum(std::span<double> values) override { communicator_.sum(values); }
  void send(std::span<const std::byte> bytes, std::int32_t to,
            std::int32_t tag) override {
    communicator_.send(bytes, to, tag);
  }
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override {
    communicator_.receive(bytes, from, tag);
  }

 private:
  Communicator& communicator_;
};

TEST(Broadcast, NoticesADamagedStructure) {
  std::mt19937 random(7);
  const Drawn drawn(random, 60);
  EXPECT_THROW(run_threads(2,
                           [&](Communicator& communicator) {
                             Damaging damaging(communicator);
                             Symbolic symbolic;
                             if (communicator.rank() == 0)
                               symbolic = drawn.analysis.symbolic;
                             broadcast(damaging, symbolic);
                           }),
               Error);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
