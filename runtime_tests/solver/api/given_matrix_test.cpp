// Every form of a matrix beside a dense one: over 300 lines.

#include "solver/api/c/given_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>

#include "espalier/model/error.h"

namespace espalier::solver::c_api {
namespace TEST_SOURCE {

struct Entry {
  std::int64_t row, column;
  double value;
};

std::vector<std::vector<double>> dense(const InputMatrix& matrix) {
  const auto n = static_cast<std::size_t>(order_of(matrix));
  std::vector<std::vector<double>> result(n, std::vector<double>(n));
  const bool symmetric = std::holds_alternative<SymmetricMatrix>(matrix);
  std::visit(
      [&](const auto& a) {
        for (std::int32_t j = 0; j < a.size; ++j)
          for (auto at = a.column_start[j]; at < a.column_start[j + 1]; ++at) {
            EXPECT_TRUE(at == a.column_start[j] || a.row[at - 1] < a.row[at]);
            result[a.row[at]][j] = a.value[at];
            if (symmetric) result[j][a.row[at]] = a.value[at];
          }
      },
      matrix);
  return result;
}

/// A caller's arrays with indices of one size, from one base.
template <class Index>
struct Caller {
  std::vector<Index> starts, rows, columns;
  std::vector<double> values;
  espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;

  Caller(std::int64_t order, std::vector<Entry> entries, std::int32_t format,
         std::int32_t symmetry, std::int32_t base) {
    const auto major = [&](const Entry& entry) {
      return format == ESPALIER_SOLVER_ROWS ? entry.row : entry.column;
    };
    if (format != ESPALIER_SOLVER_TRIPLETS) std::ranges::stable_sort(entries, {}, major);
    starts.assign(static_cast<std::size_t>(order) + 1, static_cast<Index>(base));
    for (const Entry& entry : entries) {
      for (std::int64_t k = major(entry) + 1; k <= order; ++k) ++starts[k];
      rows.push_back(static_cast<Index>(entry.row + base));
      columns.push_back(static_cast<Index>(entry.column + base));
      values.push_back(entry.value);
    }
    input.order = order;
    input.entries = std::ssize(values);
    input.format = format;
    input.symmetry = symmetry;
    input.index_bits = 8 * sizeof(Index);
    input.index_base = base;
    input.starts = starts.data();
    input.rows = rows.data();
    input.columns = columns.data();
    input.values = values.data();
  }
};

template <class Index>
void expect_same(std::int64_t order, const std::vector<Entry>& entries,
                 std::int32_t symmetry, const std::vector<std::vector<double>>& wanted) {
  for (const std::int32_t format : {0, 1, 2})
    for (const std::int32_t base : {0, 1}) {
      const Caller<Index> caller(order, entries, format, symmetry, base);
      const GivenMatrix given(caller.input);
      auto got = dense(given.with_values(caller.values.data()));
      if (given.transposed())
        for (std::size_t i = 0; i < got.size(); ++i)
          for (std::size_t j = 0; j < i; ++j) std::swap(got[i][j], got[j][i]);
      EXPECT_EQ(got, wanted) << "format " << format << ", base " << base;
      EXPECT_EQ(given.entries(), std::ssize(entries));
    }
}

TEST(GivenMatrix, SumsTripletsOfEitherTriangle) {
  // The example of the header.
  const std::vector<Entry> entries = {{1, 0, 3}, {0, 0, 5}, {1, 0, 4}, {0, 1, 0.5}};
  const Caller<std::int32_t> caller(2, entries, ESPALIER_SOLVER_TRIPLETS,
                                    ESPALIER_SOLVER_SYMMETRIC, 0);
  const InputMatrix matrix = GivenMatrix(caller.input).with_values(caller.values.data());
  ASSERT_TRUE(std::holds_alternative<SymmetricMatrix>(matrix));
  EXPECT_EQ(dense(matrix), (std::vector<std::vector<double>>{{5, 7.5}, {7.5, 0}}));
}

TEST(GivenMatrix, IsTheSameInEveryFormat) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const std::int64_t order = 1 + random() % 6;
    const std::int32_t symmetry = static_cast<std::int32_t>(seed % 4);
    const bool mirror = symmetry == ESPALIER_SOLVER_WHOLE || seed % 8 == 3;
    std::vector<Entry> entries;
    std::vector<std::vector<double>> wanted(order, std::vector<double>(order));
    for (int k = static_cast<int>(random() % 14); k > 0; --k) {
      const std::int64_t i = random() % order, j = random() % order;
      const double value = 1 + static_cast<double>(random() % 9);
      entries.push_back({i, j, value});
      wanted[i][j] += value;
      if (i != j && mirror) entries.push_back({j, i, value});
      if (i != j && (mirror || symmetry == ESPALIER_SOLVER_SYMMETRIC))
        wanted[j][i] += value;
    }
    if (symmetry == ESPALIER_SOLVER_SYMMETRIC && mirror) continue;
    std::ranges::shuffle(entries, random);
    expect_same<std::int32_t>(order, entries, symmetry, wanted);
    expect_same<std::int64_t>(order, entries, symmetry, wanted);
  }
}

TEST(GivenMatrix, TakesOtherValuesOfTheSamePattern) {
  const std::vector<Entry> entries = {{1, 1, 1}, {0, 0, 2}, {1, 0, 3}, {0, 1, 3}};
  const Caller<std::int64_t> caller(2, entries, ESPALIER_SOLVER_TRIPLETS,
                                    ESPALIER_SOLVER_WHOLE_OR_GENERAL, 1);
  const GivenMatrix given(caller.input);
  const std::vector<double> other = {10, 20, 30, 30};
  EXPECT_EQ(dense(given.with_values(other.data())),
            (std::vector<std::vector<double>>{{20, 30}, {30, 10}}));
  const std::vector<double> unequal = {10, 20, 30, 31};
  EXPECT_THROW((void)given.with_values(unequal.data()), InvalidInput);
}

TEST(GivenMatrix, FindsOutWhetherItIsSymmetric) {
  const std::vector<Entry> symmetric = {{0, 0, 1}, {1, 0, 2}, {0, 1, 2}};
  std::vector<Entry> other = symmetric;
  other.back().value = 3;
  const std::vector<Entry> half(symmetric.begin(), symmetric.begin() + 2);
  for (const auto& entries : {symmetric, other, half}) {
    const Caller<std::int32_t> caller(2, entries, ESPALIER_SOLVER_COLUMNS,
                                      ESPALIER_SOLVER_WHOLE_OR_GENERAL, 0);
    const InputMatrix matrix =
        GivenMatrix(caller.input).with_values(caller.values.data());
    EXPECT_EQ(std::holds_alternative<SymmetricMatrix>(matrix),
              entries.size() == 3 && entries.back().value == 2);
  }
}

/// Elements of the caller, each with its variables and its values column by column.
struct Elements {
  std::vector<std::int64_t> starts = {0}, variables;
  std::vector<double> values;

  void add(const std::vector<std::int64_t>& of, const std::vector<double>& dense) {
    variables.insert(variables.end(), of.begin(), of.end());
    values.insert(values.end(), dense.begin(), dense.end());
    starts.push_back(std::ssize(variables));
  }
  template <class Index>
  [[nodiscard]] std::vector<std::vector<double>> assembled(std::int64_t order,
                                                           std::int32_t symmetry,
                                                           std::int32_t base) const {
    std::vector<Index> given_starts, given_variables;
    for (const std::int64_t each : starts)
      given_starts.push_back(static_cast<Index>(each + base));
    for (const std::int64_t each : variables)
      given_variables.push_back(static_cast<Index>(each + base));
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = order;
    input.entries = std::ssize(starts) - 1;
    input.format = ESPALIER_SOLVER_ELEMENTS;
    input.symmetry = symmetry;
    input.index_bits = 8 * sizeof(Index);
    input.index_base = base;
    input.starts = given_starts.data();
    input.rows = given_variables.data();
    input.values = values.data();
    const GivenMatrix given(input);
    EXPECT_EQ(given.entries(), std::ssize(values));
    return dense(given.with_values(values.data()));
  }
};

TEST(GivenMatrix, AddsElements) {
  // The example of the header, of lower triangles, and the same of whole ones.
  Elements lower, whole;
  lower.add({0, 1}, {1, 2, 3});
  lower.add({2, 1}, {4, 5, 6});
  whole.add({0, 1}, {1, 2, 2, 3});
  whole.add({2, 1}, {4, 5, 5, 6});
  const std::vector<std::vector<double>> wanted = {{1, 2, 0}, {2, 9, 5}, {0, 5, 4}};
  EXPECT_EQ(lower.assembled<std::int32_t>(3, ESPALIER_SOLVER_SYMMETRIC, 0), wanted);
  const std::vector<std::int32_t> symmetries = {
      ESPALIER_SOLVER_GENERAL, ESPALIER_SOLVER_WHOLE, ESPALIER_SOLVER_WHOLE_OR_GENERAL};
  for (const std::int32_t symmetry : symmetries)
    EXPECT_EQ(whole.assembled<std::int64_t>(3, symmetry, 1), wanted) << symmetry;
}

TEST(GivenMatrix, OfElementsIsTheirSum) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    const bool packed = seed % 2 == 0;
    const std::int64_t order = 1 + random() % 7;
    std::vector<std::int64_t> all(static_cast<std::size_t>(order));
    std::iota(all.begin(), all.end(), 0);
    Elements elements;
    std::vector<std::vector<double>> wanted(order, std::vector<double>(order));
    for (int e = static_cast<int>(random() % 5); e > 0; --e) {
      std::ranges::shuffle(all, random);
      const std::vector<std::int64_t> of(all.begin(),
                                         all.begin() + random() % all.size());
      std::vector<double> values;
      for (std::size_t j = 0; j < of.size(); ++j)
        for (std::size_t i = packed ? j : 0; i < of.size(); ++i) {
          values.push_back(1 + static_cast<double>(random() % 9));
          wanted[of[i]][of[j]] += values.back();
          if (packed && i != j) wanted[of[j]][of[i]] += values.back();
        }
      elements.add(of, values);
    }
    const std::int32_t symmetry =
        packed ? ESPALIER_SOLVER_SYMMETRIC : ESPALIER_SOLVER_GENERAL;
    EXPECT_EQ(elements.assembled<std::int32_t>(order, symmetry, 1), wanted);
    EXPECT_EQ(elements.assembled<std::int64_t>(order, symmetry, 0), wanted);
  }
}

TEST(GivenMatrix, NamesWhatCannotBeOfElements) {
  const auto expect_text = [](const Elements& elements, const char* word) {
    try {
      (void)elements.assembled<std::int32_t>(3, ESPALIER_SOLVER_GENERAL, 1);
      ADD_FAILURE() << word << ": accepted";
    } catch (const InvalidInput& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  Elements twice;
  twice.add({0, 1}, {1, 2, 3, 4});
  twice.add({2, 2}, {1, 2, 3, 4});
  expect_text(twice, "input.rows[3] is 3 once more in element 1");
  Elements outside;
  outside.add({0, 3}, {1, 2, 3, 4});
  expect_text(outside, "input.rows[1] is 4: not in 1 … 3");
  Elements falling;
  falling.add({0}, {1});
  falling.starts.push_back(0);
  expect_text(falling, "input.starts[2] is 1: less than the one before");
  Elements infinite;
  infinite.add({0}, {std::numeric_limits<double>::infinity()});
  expect_text(infinite, "values[0] is inf");
}

template <class Change>
std::string refusal(std::int32_t format, Change change) {
  Caller<std::int32_t> caller(3, {{0, 0, 1}, {1, 0, 2}, {2, 2, 3}}, format,
                              ESPALIER_SOLVER_GENERAL, 0);
  change(caller);
  try {
    (void)GivenMatrix(caller.input).with_values(caller.values.data());
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "accepted";
}

void expect_refusal(std::int32_t format, const char* word, auto change) {
  const std::string text = refusal(format, change);
  EXPECT_NE(text.find(word), std::string::npos) << word << ": " << text;
}

TEST(GivenMatrix, NamesWhatCannotBe) {
  const std::int32_t columns = ESPALIER_SOLVER_COLUMNS, rows = ESPALIER_SOLVER_ROWS,
                     triplets = ESPALIER_SOLVER_TRIPLETS;
  expect_refusal(columns, "input.order is -1", [](auto& c) { c.input.order = -1; });
  expect_refusal(columns, "input.order", [](auto& c) { c.input.order = 1LL << 31; });
  expect_refusal(columns, "input.format is 4", [](auto& c) { c.input.format = 4; });
  expect_refusal(columns, "input.symmetry is 4", [](auto& c) { c.input.symmetry = 4; });
  expect_refusal(columns, "input.index_bits is 16",
                 [](auto& c) { c.input.index_bits = 16; });
  expect_refusal(columns, "input.index_base is 2",
                 [](auto& c) { c.input.index_base = 2; });
  expect_refusal(columns, "input.size is 3", [](auto& c) { c.input.size = 3; });
  expect_refusal(triplets, "input.entries is -1", [](auto& c) { c.input.entries = -1; });
  expect_refusal(columns, "input.starts is NULL",
                 [](auto& c) { c.input.starts = nullptr; });
  expect_refusal(columns, "input.rows is NULL", [](auto& c) { c.input.rows = nullptr; });
  expect_refusal(rows, "input.columns is NULL",
                 [](auto& c) { c.input.columns = nullptr; });
  expect_refusal(triplets, "input.values is NULL",
                 [](auto& c) { c.input.values = nullptr; });
  expect_refusal(columns, "input.starts[0] is 1", [](auto& c) { c.starts[0] = 1; });
  expect_refusal(rows, "input.starts[2] is 0", [](auto& c) { c.starts[2] = 0; });
  expect_refusal(columns, "input.starts[1] is -2147483648",
                 [](auto& c) { c.starts[1] = std::numeric_limits<std::int32_t>::min(); });
  expect_refusal(columns, "input.rows[1] is 3: not in 0 … 2",
                 [](auto& c) { c.rows[1] = 3; });
  expect_refusal(triplets, "input.columns[2] is -1", [](auto& c) { c.columns[2] = -1; });
  expect_refusal(rows, "values[1] is nan",
                 [](auto& c) { c.values[1] = std::numeric_limits<double>::quiet_NaN(); });
  expect_refusal(columns, "input.symmetry",
                 [](auto& c) { c.input.symmetry = ESPALIER_SOLVER_WHOLE; });
}

TEST(GivenMatrix, MayBeEmpty) {
  for (const std::int64_t order : {0, 3})
    for (const std::int32_t format : {0, 1, 2}) {
      const Caller<std::int64_t> caller(order, {}, format, ESPALIER_SOLVER_GENERAL, 1);
      const GivenMatrix given(caller.input);
      EXPECT_EQ(order_of(given.with_values(nullptr)), order);
    }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver::c_api
