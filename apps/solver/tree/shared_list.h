#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace espalier::solver {

/// A list that does not change any more: its copies are one in memory.
template <class T>
class SharedList {
 public:
  SharedList() = default;
  // Not explicit: a list is what it is made of.
  SharedList(std::vector<T>&& items)
      : items_(std::make_shared<const std::vector<T>>(std::move(items))),
        first_(items_->data()) {}
  SharedList(std::initializer_list<T> items) : SharedList(std::vector<T>(items)) {}

  [[nodiscard]] std::size_t size() const { return items_ ? items_->size() : 0; }
  [[nodiscard]] bool empty() const { return size() == 0; }
  template <class Place>
  [[nodiscard]] const T& operator[](Place place) const {
    return first_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] const T* begin() const { return first_; }
  [[nodiscard]] const T* end() const { return begin() + size(); }
  // Not explicit: read as any list.
  operator std::span<const T>() const { return {begin(), size()}; }

  friend bool operator==(const SharedList& a, std::span<const T> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }
  friend bool operator==(const SharedList& a, const SharedList& b) {
    return a == std::span<const T>(b);
  }

 private:
  std::shared_ptr<const std::vector<T>> items_;
  const T* first_ = nullptr;  // of the items
};

}  // namespace espalier::solver
