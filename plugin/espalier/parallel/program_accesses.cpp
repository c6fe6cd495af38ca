#include "espalier/parallel/program_accesses.h"

#include "espalier/model/error.h"

namespace espalier {

ProgramAccesses::Datum ProgramAccesses::add(const DatumEntry& datum) {
  const Index index = data_.take(datum);
  ESPALIER_ASSERT(index < kDatumBits, "an index of 30 bits");
  return Datum{index};
}

void ProgramAccesses::link(Op op, Datum datum) {
  Task& task = at(op);
  DatumEntry& d = at(datum);
  const Index access =
      accesses_.take({static_cast<Index>(op), static_cast<Index>(datum) & kDatumBits, 0,
                      0, d.newest, kNone, task.first_access});
  ESPALIER_ASSERT(access < kLastAccess, "an index of 31 bits");
  task.first_access = access & kLastAccess;
  (d.newest == kNone ? d.oldest : accesses_[d.newest].newer) = access;
  d.newest = access;
  ++d.unended;
}

}  // namespace espalier
