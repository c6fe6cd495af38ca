#include "espalier/layout/components.h"

#include <numeric>
#include <utility>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

// Puts pieces alive in all sections, and those without bytes, at the bottom; whether some
// were.
bool peel(Component& component, std::vector<Bytes>& offsets) {
  std::vector<std::int32_t> rest, rest_numbers;
  for (std::size_t p = 0; p < component.pieces.size(); ++p) {
    const Piece& piece = component.pieces.list[p];
    const bool throughout =
        piece.first == 0 && piece.last == component.pieces.sections - 1;
    if (throughout || piece.size == 0) {
      offsets[at(component.numbers[p])] = component.base;
      component.base += piece.size;
    } else {
      rest.push_back(static_cast<std::int32_t>(p));
      rest_numbers.push_back(component.numbers[p]);
    }
  }
  if (rest.size() == component.pieces.size()) return false;
  component.pieces = select(component.pieces, rest);
  component.numbers = std::move(rest_numbers);
  return true;
}

// For each section the number of its stretch between cuts.
std::vector<std::int32_t> stretches(const Pieces& pieces, std::int32_t& count) {
  std::vector<std::int32_t> going_on(at(pieces.sections) + 1, 0);
  for (const Piece& piece : pieces.list) {
    ++going_on[at(piece.first)];
    --going_on[at(piece.last)];
  }
  std::vector<std::int32_t> stretch(at(pieces.sections));
  std::int32_t open = 0;
  count = 0;
  for (std::size_t s = 0; s < stretch.size(); ++s) {
    stretch[s] = count;
    if ((open += going_on[s]) == 0) ++count;
  }
  return stretch;
}

std::vector<Component> cut(const Component& whole) {
  std::int32_t count = 0;
  const std::vector<std::int32_t> stretch = stretches(whole.pieces, count);
  std::vector<std::vector<std::int32_t>> members(at(count));
  for (std::size_t p = 0; p < whole.pieces.size(); ++p)
    members[at(stretch[at(whole.pieces.list[p].first)])].push_back(
        static_cast<std::int32_t>(p));
  std::vector<std::int32_t> first(at(count), -1);
  for (std::size_t s = stretch.size(); s-- > 0;)
    first[at(stretch[s])] = static_cast<std::int32_t>(s);
  std::vector<Component> parts(at(count));
  for (std::size_t k = 0; k < parts.size(); ++k) {
    Component& part = parts[k];
    part.base = whole.base;
    // Sections of its own: select() takes time for all sections of what it is given.
    for (const std::int32_t p : members[k]) {
      Piece piece = whole.pieces.list[at(p)];
      piece.first -= first[k];
      piece.last -= first[k];
      part.pieces.list.push_back(piece);
      part.numbers.push_back(whole.numbers[at(p)]);
    }
    const std::int32_t end = k + 1 < parts.size() ? first[k + 1] : whole.pieces.sections;
    part.pieces.sections = end - first[k];
  }
  return parts;
}

}  // namespace

Decomposition decompose(const Pieces& pieces) {
  Decomposition answer;
  answer.offsets.assign(pieces.size(), 0);
  Component whole{pieces, std::vector<std::int32_t>(pieces.size()), 0};
  std::iota(whole.numbers.begin(), whole.numbers.end(), 0);
  std::vector<Component> open;
  if (!pieces.list.empty()) open.push_back(std::move(whole));
  while (!open.empty()) {
    Component component = std::move(open.back());
    open.pop_back();
    const bool peeled = peel(component, answer.offsets);
    if (component.pieces.list.empty()) continue;
    std::vector<Component> parts = cut(component);
    if (parts.size() == 1 && !peeled) {
      answer.components.push_back(std::move(component));
    } else {
      for (Component& part : parts) open.push_back(std::move(part));
    }
  }
  return answer;
}

}  // namespace espalier
