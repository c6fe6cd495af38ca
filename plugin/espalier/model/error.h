#pragma once

// How things fail (docs/decisions/errors.md): our bugs assert, work that cannot go on
// throws a type derived from espalier::Error, and an answer "no" is an Expected value.

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <tl/expected.hpp>

#include "espalier/model/units.h"

namespace espalier {

/// Work cannot go on. what() names the item and the value.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// An argument or an input is outside what the callee accepts.
class InvalidInput : public Error {
 public:
  using Error::Error;
};

/// A file cannot be read or written. what() is "path:line: message", or "path: message"
/// when no line is to blame (line 0).
class FileError : public InvalidInput {
 public:
  FileError(const std::string& path, std::int64_t line, const std::string& message);
  [[nodiscard]] std::int64_t line() const { return line_; }

 private:
  std::int64_t line_;
};

/// A sum or a product of sizes leaves the 64-bit range, or a sum of work is too large.
class OverflowError : public Error {
 public:
  using Error::Error;
};

/// Work that began in a bound of which nobody knew whether it suffices does not fit.
class DoesNotFit : public Error {
 public:
  using Error::Error;
};

/// A function of the caller's, here or at another process, asked for the end of the call.
class Cancelled : public Error {
 public:
  using Error::Error;
};

/// The answer "it does not fit in the bound". Not an error: the caller chooses.
struct Infeasible {
  enum class Reason {
    kImpossible,  ///< no schedule at all fits: bound < lower_bound_bytes
    kNoneFound,   ///< the method found none; another may
  };
  Reason reason = Reason::kImpossible;
  Bytes bound_bytes = 0;
  Bytes least_bytes = 0;        ///< the least bound that is known to suffice
  Bytes lower_bound_bytes = 0;  ///< no schedule needs less
  [[nodiscard]] std::string message() const;
};

template <class T>
using Expected = tl::expected<T, Infeasible>;

namespace detail {
[[noreturn]] void assertion_failed(const char* condition, const char* why,
                                   const char* file, int line);
}

// On in Debug builds and in CI; never for input that a user can give.
#ifdef ESPALIER_ENABLE_ASSERTS
#define ESPALIER_ASSERT(condition, why) \
  ((condition)                          \
       ? (void)0                        \
       : ::espalier::detail::assertion_failed(#condition, why, __FILE__, __LINE__))
#else
#define ESPALIER_ASSERT(condition, why) ((void)0)
#endif

/// What the system says of an error number: "No space left on device".
[[nodiscard]] std::string system_text(int error);

}  // namespace espalier
