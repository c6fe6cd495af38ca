#pragma once

namespace espalier {

/// Empties a container, and gives its memory back: `vector = {}` keeps the capacity.
template <class Container>
void free_memory(Container& container) {
  Container().swap(container);
}

}  // namespace espalier
