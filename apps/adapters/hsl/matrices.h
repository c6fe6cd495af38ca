#pragma once

// The matrices of MA57's hosts, which never say that they are done with one.

#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "session.h"

namespace espalier::adapters::ma57 {

struct Matrix {
  int number = 0;
  std::mutex mutex;  // one call at a time
  std::unique_ptr<Session> session;
};

/// Of the process, by number. Each thread has those that it used last, kMost of them, and
/// so have the threads together that have ended: a thread that works on others' matrices
/// takes them over. What is more is given up, that which was not used for longest first.
class Matrices {
 public:
  /// Of one thread. Ipopt has two: its restoration phase is a problem of its own.
  static constexpr int kMost = 8;

  static Matrices& of_the_process();

  std::shared_ptr<Matrix> add(std::unique_ptr<Session> session);
  /// @return null: given up, or never there
  std::shared_ptr<Matrix> find(int number);
  void remove(int number);
  /// The calling thread ends.
  void leave();
  void clear();

 private:
  struct Used {
    std::shared_ptr<Matrix> matrix;
    std::thread::id by;  // none: by one that has ended
  };
  void use(std::list<Used>::iterator matrix);
  void trim(std::thread::id by, std::list<Used>& given_up);

  std::mutex mutex_;
  std::list<Used> all_;  // the last used first
  int last_ = 0;
};

}  // namespace espalier::adapters::ma57
