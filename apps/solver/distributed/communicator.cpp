#include "solver/distributed/communicator.h"

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"

namespace espalier::solver {

std::int64_t Communicator::sum(std::int64_t value) {
  std::int64_t total = 0;
  for (const std::int64_t each : gather_all(value)) total = checked_add(total, each);
  return total;
}

std::int64_t Communicator::largest(std::int64_t value) {
  return std::ranges::max(gather_all(value));
}

std::int64_t Communicator::smallest(std::int64_t value) {
  return std::ranges::min(gather_all(value));
}

double Communicator::largest(double value) {
  double most = value;
  for (const double each : gather_all(value))
    if (std::isnan(each) || each > most) most = each;
  return most;
}

}  // namespace espalier::solver
