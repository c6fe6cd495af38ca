#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// Names by number, and numbers by name. All characters lie in one string and numbers are
/// found by open addressing, so that a name costs its length and about 24 bytes.
///
/// Empty names are "no name": any number of items may have none, and none is found.
class NameTable {
 public:
  [[nodiscard]] std::size_t size() const { return end_.size(); }
  [[nodiscard]] std::string_view name(std::size_t number) const {
    const std::size_t first = number == 0 ? 0 : end_[number - 1];
    return std::string_view(text_).substr(first, end_[number] - first);
  }

  /// The number of the item with this name. Expected O(1).
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;

  /// Gives the next number to the name. False, and nothing happens, when another item has
  /// that name.
  [[nodiscard]] bool add(std::string_view name);

  /// Forgets how to find: find() and add() must not be called any more.
  void freeze();

 private:
  [[nodiscard]] std::size_t slot_of(std::string_view name) const;
  void grow();

  std::string text_;
  std::vector<std::size_t> end_;     // by number, in text_
  std::vector<std::int32_t> slots_;  // numbers, -1: free; a power of two
  std::size_t named_ = 0;
};

}  // namespace espalier
