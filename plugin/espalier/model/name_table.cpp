#include "espalier/model/name_table.h"

#include <functional>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"

namespace espalier {

// Where the name is, or the free slot where it would be.
std::size_t NameTable::slot_of(std::string_view name) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = std::hash<std::string_view>()(name) & mask;
  while (slots_[slot] >= 0 &&
         this->name(static_cast<std::size_t>(slots_[slot])) != name) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

void NameTable::grow() {
  slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), -1);
  for (std::size_t number = 0; number < size(); ++number) {
    const std::string_view known = name(number);
    if (!known.empty()) slots_[slot_of(known)] = static_cast<std::int32_t>(number);
  }
}

std::optional<std::size_t> NameTable::find(std::string_view name) const {
  if (name.empty() || slots_.empty()) return std::nullopt;
  const std::int32_t number = slots_[slot_of(name)];
  if (number < 0) return std::nullopt;
  return static_cast<std::size_t>(number);
}

bool NameTable::add(std::string_view name) {
  if (!name.empty()) {
    if (2 * (named_ + 1) > slots_.size()) grow();
    const std::size_t slot = slot_of(name);
    if (slots_[slot] >= 0) return false;
    slots_[slot] = static_cast<std::int32_t>(size());
    ++named_;
  }
  text_ += name;
  end_.push_back(text_.size());
  return true;
}

void NameTable::freeze() {
  free_memory(slots_);
  text_.shrink_to_fit();
  end_.shrink_to_fit();
}

}  // namespace espalier
