#include "matrices.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace espalier::adapters::ma57 {
namespace {

// Of a thread, and of the process.
struct Leaving {
  ~Leaving() { Matrices::of_the_process().leave(); }
};
struct Ending {
  ~Ending() { Matrices::of_the_process().clear(); }
};

}  // namespace

// Never destroyed, since threads may end after everything else has; what is in it is, for
// the sake of the reports.
Matrices& Matrices::of_the_process() {
  static auto* const all = new Matrices;
  static const Ending ending;
  return *all;
}

void Matrices::use(std::list<Used>::iterator matrix) {
  thread_local const Leaving leaving;
  (void)leaving;
  matrix->by = std::this_thread::get_id();
  all_.splice(all_.begin(), all_, matrix);
}

// What is given up is destroyed by the caller, without the lock.
void Matrices::trim(std::thread::id by, std::list<Used>& given_up) {
  int count = 0;
  for (auto each = all_.begin(); each != all_.end();) {
    const auto matrix = each++;
    if (matrix->by == by && ++count > kMost)
      given_up.splice(given_up.end(), all_, matrix);
  }
}

std::shared_ptr<Matrix> Matrices::add(std::unique_ptr<Session> session) {
  auto made = std::make_shared<Matrix>();
  made->session = std::move(session);
  std::list<Used> given_up;
  const std::scoped_lock lock(mutex_);
  made->number = ++last_;
  all_.push_front({made, {}});
  use(all_.begin());
  trim(std::this_thread::get_id(), given_up);
  return made;
}

std::shared_ptr<Matrix> Matrices::find(int number) {
  std::list<Used> given_up;
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      all_, [&](const Used& each) { return each.matrix->number == number; });
  if (found == all_.end()) return nullptr;
  use(found);
  trim(std::this_thread::get_id(), given_up);
  return all_.front().matrix;
}

void Matrices::remove(int number) {
  std::list<Used> given_up;
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find_if(
      all_, [&](const Used& each) { return each.matrix->number == number; });
  if (found != all_.end()) given_up.splice(given_up.end(), all_, found);
}

void Matrices::clear() {
  std::list<Used> given_up;
  const std::scoped_lock lock(mutex_);
  given_up.swap(all_);
}

void Matrices::leave() {
  std::list<Used> given_up;
  const std::scoped_lock lock(mutex_);
  for (Used& each : all_)
    if (each.by == std::this_thread::get_id()) each.by = {};
  trim({}, given_up);
}

}  // namespace espalier::adapters::ma57
