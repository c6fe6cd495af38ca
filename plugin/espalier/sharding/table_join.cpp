#include "espalier/sharding/table_join.h"

#include "espalier/model/error.h"

namespace espalier {
namespace {

// How far apart a table's entries are, by variable; 0 where it does not have it.
std::vector<std::size_t> strides(const TableJoin& how,
                                 const std::vector<std::size_t>& axes) {
  std::vector<std::size_t> strides(how.extents.size(), 0);
  std::size_t apart = 1;
  for (std::size_t k = axes.size(); k-- > 0;) {
    strides[axes[k]] = apart;
    apart *= how.extents[axes[k]];
  }
  return strides;
}

}  // namespace

std::vector<std::size_t> TableJoin::shape() const {
  return {extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(kept)};
}

JoinWalk::JoinWalk(const TableJoin& how)
    : extents_(how.shape()),
      firsts_(strides(how, how.first)),
      seconds_(strides(how, how.second)),
      state_(how.kept, 0) {
  ESPALIER_ASSERT(how.extents.size() - how.kept <= 1, "one variable is taken out");
  if (how.extents.size() == how.kept) return;
  at_.count = how.extents.back();
  at_.first_apart = firsts_.back();
  at_.second_apart = seconds_.back();
}

bool JoinWalk::next() {
  ++at_.entry;
  for (std::size_t v = extents_.size(); v-- > 0;) {
    at_.first += firsts_[v];
    at_.second += seconds_[v];
    if (++state_[v] < extents_[v]) return true;
    at_.first -= extents_[v] * firsts_[v];
    at_.second -= extents_[v] * seconds_[v];
    state_[v] = 0;
  }
  return false;
}

}  // namespace espalier
