#pragma once

#include <cstddef>
#include <iterator>

#include "espalier/io/text_input.h"

namespace espalier {

/// The characters that a TextInput still has, as an input iterator.
class TextIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = char;

  TextIterator() = default;  // the end
  explicit TextIterator(TextInput& text) : text_(&text) {}
  char operator*() const { return static_cast<char>(text_->peek()); }
  TextIterator& operator++() {
    text_->take();
    return *this;
  }
  TextIterator operator++(int) { return ++*this; }
  bool operator==(const TextIterator&) const { return text_->peek() == TextInput::kEnd; }

 private:
  TextInput* text_ = nullptr;
};

}  // namespace espalier
