#include "solver/distributed/replace_columns.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/thread_communicators.h"
#include "solver/scaling/prepare_complex.h"
#include "solver/support/square_systems.h"
#include "solver/symbolic/analyse.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                 FactorKind::kLu};

// Full diagonal, other entries at random; the lower triangle alone where symmetric.
InputMatrix random_input(std::mt19937& random, std::int32_t n, bool symmetric) {
  GeneralMatrix a;
  a.size = n;
  a.column_start.push_back(0);
  for (std::int32_t j = 0; j < n; ++j) {
    for (std::int32_t i = symmetric ? j : 0; i < n; ++i)
      if (i == j || draw(random, 0, 5) == 0) {
        a.row.push_back(i);
        a.value.push_back(i == j ? 50 : draw(random, 1, 9));
      }
    a.column_start.push_back(std::ssize(a.row));
  }
  if (!symmetric) return a;
  return SymmetricMatrix{n, a.column_start, a.row, a.value};
}

// Other values at some of the same places.
InputMatrix other_values(std::mt19937& random, InputMatrix matrix) {
  std::visit(
      [&](auto& a) {
        std::decay_t<decltype(a)> fewer = a;
        fewer.row.clear();
        fewer.value.clear();
        for (std::int32_t j = 0; j < a.size; ++j) {
          for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
            if (a.row[k] != j && draw(random, 0, 4) == 0) continue;
            fewer.row.push_back(a.row[k]);
            fewer.value.push_back(draw(random, 1, 99));
          }
          fewer.column_start[j + 1] = std::ssize(fewer.row);
        }
        a = fewer;
      },
      matrix);
  return matrix;
}

struct Spread {
  Spread(std::mt19937& random, const InputMatrix& matrix, FactorKind kind,
         std::int32_t processes, bool blocks = true)
      : prepared(prepare(InputMatrix(matrix), kind, {.block_triangular = blocks})),
        parts(processes) {
    Analysis analysis = analyse(std::move(prepared));
    permutation = analysis.symbolic.permutation;
    whole = analysis.permuted;
    couplings.assign(processes, analysis.form.coupling);
    parts[0] = std::move(analysis.permuted);
    for (std::int32_t j = 0; j < whole.size(); ++j)
      ranges.push_back({j, j + 1, draw(random, 0, processes - 1)});
    run_threads(processes, [&](Communicator& communicator) {
      distribute_columns(communicator, ranges, parts[communicator.rank()]);
    });
  }
  // @return what each process was told
  std::vector<std::string> replace(const InputMatrix& matrix) {
    return replace_by(matrix);
  }
  std::vector<std::string> replace(const ComplexMatrix& matrix) {
    return replace_by(matrix);
  }
  template <class Matrix>
  std::vector<std::string> replace_by(const Matrix& matrix) {
    std::vector<std::string> messages(parts.size());
    run_threads(static_cast<std::int32_t>(parts.size()), [&](Communicator& communicator) {
      try {
        replace_columns(communicator, ranges, permutation, prepared,
                        communicator.rank() == 0 ? &matrix : nullptr,
                        parts[communicator.rank()], couplings[communicator.rank()]);
      } catch (const InvalidInput& error) {
        messages[communicator.rank()] = error.what();
      }
    });
    return messages;
  }

  PreparedMatrix prepared;
  std::vector<std::int32_t> permutation;
  SquareMatrix whole;
  std::vector<ColumnRange> ranges;
  std::vector<SquareMatrix> parts;
  std::vector<Coupling> couplings;  // of each process, all of it
};

TEST(ReplaceColumns, RefillsWhatIsSpread) {
  std::mt19937 random(3);
  std::int64_t coupled = 0;
  for (int instance = 0; instance < 40; ++instance)
    for (const FactorKind kind : kKinds) {
      // Now and then more entries than a piece holds.
      const std::int32_t n = instance % 10 == 0 ? 250 : draw(random, 0, 40);
      const InputMatrix matrix = random_input(random, n, kind != FactorKind::kLu);
      Spread spread(random, matrix, kind, draw(random, 1, 4));
      const InputMatrix other = other_values(random, matrix);
      SquareMatrix expected = spread.whole;
      Coupling coupling = spread.couplings[0];
      refill(expected, spread.prepared, spread.permutation, other, &coupling);
      for (const std::string& message : spread.replace(other)) ASSERT_EQ(message, "");
      for (const Coupling& each : spread.couplings) {
        ASSERT_EQ(each.value, coupling.value);
        ASSERT_EQ(each.imaginary, coupling.imaginary);
      }
      coupled += std::ssize(coupling.row);
      for (const ColumnRange& range : spread.ranges) {
        const SquareMatrix& part = spread.parts[range.owner];
        auto at = part.lower.column_start[range.begin];
        for (auto k = expected.lower.column_start[range.begin];
             k < expected.lower.column_start[range.end]; ++k, ++at) {
          ASSERT_EQ(part.lower.row[at], expected.lower.row[k]);
          ASSERT_EQ(part.lower.value[at], expected.lower.value[k]);
          if (!expected.upper.empty()) {
            ASSERT_EQ(part.upper[at], expected.upper[k]);
          }
        }
      }
    }
  EXPECT_GT(coupled, 50);
}

ComplexMatrix random_numbers(std::mt19937& random, const InputMatrix& real,
                             ComplexSymmetry symmetry) {
  return std::visit(
      [&](const auto& a) {
        ComplexMatrix numbers{symmetry, a.size, a.column_start, a.row, {}};
        for (std::int32_t j = 0; j < a.size; ++j)
          for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
            const bool stays = a.row[k] == j && symmetry == ComplexSymmetry::kHermitian;
            numbers.value.emplace_back(a.value[k], stays ? 0 : draw(random, -9, 9));
          }
        return numbers;
      },
      real);
}

// From moduli on, as a solver does.
TEST(ReplaceColumns, RefillsComplexNumbersInBothParts) {
  std::mt19937 random(5);
  std::int64_t coupled = 0;
  for (int instance = 0; instance < 30; ++instance)
    for (const ComplexSymmetry symmetry :
         {ComplexSymmetry::kGeneral, ComplexSymmetry::kSymmetric,
          ComplexSymmetry::kHermitian}) {
      const bool general = symmetry == ComplexSymmetry::kGeneral;
      const std::int32_t n = instance % 10 == 0 ? 200 : draw(random, 0, 40);
      const InputMatrix matrix = random_input(random, n, !general);
      Spread spread(random, matrix, general ? FactorKind::kLu : FactorKind::kLdlt,
                    draw(random, 1, 4), symmetry != ComplexSymmetry::kHermitian);
      const ComplexMatrix other =
          random_numbers(random, other_values(random, matrix), symmetry);
      SquareMatrix expected = spread.whole;
      Coupling coupling = spread.couplings[0];
      refill(expected, spread.prepared, spread.permutation, other, &coupling);
      for (SquareMatrix& part : spread.parts) part.complex = symmetry;
      for (const std::string& message : spread.replace(other)) ASSERT_EQ(message, "");
      for (const Coupling& each : spread.couplings) {
        ASSERT_EQ(each.value, coupling.value);
        ASSERT_EQ(each.imaginary, coupling.imaginary);
      }
      coupled += std::ssize(coupling.row);
      for (const ColumnRange& range : spread.ranges) {
        const SquareMatrix& part = spread.parts[range.owner];
        auto at = part.lower.column_start[range.begin];
        for (auto k = expected.lower.column_start[range.begin];
             k < expected.lower.column_start[range.end]; ++k, ++at) {
          ASSERT_EQ(part.entry<Complex>(at), expected.entry<Complex>(k));
          ASSERT_EQ(part.opposite<Complex>(at), expected.opposite<Complex>(k));
        }
      }
    }
  EXPECT_GT(coupled, 50);
}

TEST(ReplaceColumns, RefusesWithOneMessageEverywhere) {
  std::mt19937 random(4);
  const SymmetricMatrix diagonal{3, {0, 1, 2, 3}, {0, 1, 2}, {1, 2, 3}};
  Spread spread(random, diagonal, FactorKind::kCholesky, 3);
  const SymmetricMatrix stray{3, {0, 1, 3, 4}, {0, 1, 2, 2}, {1, 2, 7, 3}};
  for (const std::string& message : spread.replace(stray))
    EXPECT_EQ(message, "entry (3, 2) is outside the pattern that was analysed");
  const SymmetricMatrix smaller{1, {0, 1}, {0}, {1}};
  for (const std::string& message : spread.replace(smaller))
    EXPECT_EQ(message, "a matrix of order 1 for a pattern of order 3");
  for (const std::string& message : spread.replace(diagonal)) EXPECT_EQ(message, "");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
