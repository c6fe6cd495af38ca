#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peer_matrix.h"

namespace espalier::bench {

/// A family of sparsity patterns that some solver is slow on, or that users have.
struct Pattern {
  std::string_view name;
  std::string_view kind;  ///< spd, symmetric or general
  std::string_view what;  ///< for people
  PeerMatrix (*make)();
};

/// All of them; the same matrices in every run, on every machine. Symmetric definite and
/// general ones are diagonally dominant, so that what is measured is the pattern.
[[nodiscard]] const std::vector<Pattern>& patterns();

/// @throws std::invalid_argument for a name that is not among patterns()
[[nodiscard]] PeerMatrix make_pattern(std::string_view name);

// The parts that patterns are made of.

/// Entries in any order; those given twice are added.
class Entries {
 public:
  explicit Entries(std::int32_t size) : size_(size) {}
  [[nodiscard]] std::int32_t size() const { return size_; }
  void add(std::int32_t row, std::int32_t column, double value);
  /// -1 at (a, b) and (b, a); nothing for a = b.
  void edge(std::int32_t a, std::int32_t b);
  /// An edge between each two of [first, last).
  void clique(std::int32_t first, std::int32_t last);

  /// Symmetric, from the entries on and below the diagonal; with a diagonal added that
  /// makes it dominant.
  [[nodiscard]] PeerMatrix definite() const;
  /// From the entries on and below the diagonal, as they are.
  [[nodiscard]] PeerMatrix symmetric() const;
  /// All entries; with a diagonal added that makes it dominant by rows.
  [[nodiscard]] PeerMatrix dominant() const;
  /// All entries as they are.
  [[nodiscard]] PeerMatrix general() const;

 private:
  struct Entry {
    std::int32_t row, column;
    double value;
  };
  [[nodiscard]] std::vector<Entry> with_diagonal() const;
  [[nodiscard]] PeerMatrix compress(std::vector<Entry> entries, bool symmetric) const;
  std::int32_t size_;
  std::vector<Entry> entries_;
};

/// The same numbers everywhere: std::uniform_int_distribution is not.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  /// 0 … below - 1
  std::int32_t below(std::int32_t below);
  /// In (0, 1).
  double real();

 private:
  std::uint64_t next();
  std::uint64_t state_;
};

// In files of their own.
[[nodiscard]] const std::vector<Pattern>& definite_patterns();
[[nodiscard]] const std::vector<Pattern>& other_patterns();

}  // namespace espalier::bench
