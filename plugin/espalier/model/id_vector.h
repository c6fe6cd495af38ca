#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

namespace espalier {

/// Numbers 0 … n-1 of things of one kind, `enum class XId : std::int32_t {}`: those of
/// tasks cannot be taken for those of data. -1 may stand for none.
template <class Id>
concept IdType = std::is_enum_v<Id> && !std::convertible_to<Id, std::int32_t> &&
                 std::same_as<std::underlying_type_t<Id>, std::int32_t>;

template <IdType Id>
[[nodiscard]] constexpr std::size_t index(Id id) {
  return static_cast<std::size_t>(id);
}

/// Ids first … last-1, to be walked through.
template <IdType Id>
class IdRange {
 public:
  class Iterator {
   public:
    explicit constexpr Iterator(std::size_t number) : number_(number) {}
    constexpr Id operator*() const { return Id{static_cast<std::int32_t>(number_)}; }
    constexpr Iterator& operator++() {
      ++number_;
      return *this;
    }
    friend constexpr bool operator==(Iterator, Iterator) = default;

   private:
    std::size_t number_;
  };

  constexpr IdRange(std::size_t first, std::size_t last) : first_(first), last_(last) {}
  [[nodiscard]] constexpr Iterator begin() const { return Iterator(first_); }
  [[nodiscard]] constexpr Iterator end() const { return Iterator(last_); }

 private:
  std::size_t first_, last_;
};

/// Ids 0 … count-1.
template <IdType Id>
[[nodiscard]] constexpr IdRange<Id> ids(std::size_t count) {
  return {0, count};
}

/// A vector that only ids of one kind index.
template <IdType Id, class T>
class IdVector {
 public:
  IdVector() = default;
  explicit IdVector(std::size_t size, const T& value = T()) : items_(size, value) {}
  IdVector(std::initializer_list<T> items) : items_(items) {}

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  [[nodiscard]] bool empty() const { return items_.empty(); }
  [[nodiscard]] std::size_t capacity() const { return items_.capacity(); }
  [[nodiscard]] decltype(auto) operator[](Id id) { return items_[index(id)]; }
  [[nodiscard]] decltype(auto) operator[](Id id) const { return items_[index(id)]; }
  /// All of its ids, in order.
  [[nodiscard]] IdRange<Id> ids() const { return {0, size()}; }

  void assign(std::size_t size, const T& value) { items_.assign(size, value); }
  void resize(std::size_t size, const T& value = T()) { items_.resize(size, value); }
  void reserve(std::size_t size) { items_.reserve(size); }
  void clear() { items_.clear(); }
  /// @return the id of the new item
  Id push_back(T item) {
    items_.push_back(std::move(item));
    return Id{static_cast<std::int32_t>(items_.size() - 1)};
  }

  [[nodiscard]] auto begin() { return items_.begin(); }
  [[nodiscard]] auto end() { return items_.end(); }
  [[nodiscard]] auto begin() const { return items_.begin(); }
  [[nodiscard]] auto end() const { return items_.end(); }

 private:
  std::vector<T> items_;
};

}  // namespace espalier
