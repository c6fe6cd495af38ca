#include "espalier/model/error.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <system_error>

#include "espalier/model/exact_size.h"
#include "espalier/model/printable.h"

namespace espalier {

FileError::FileError(const std::string& path, std::int64_t line,
                     const std::string& message)
    : InvalidInput(fmt::format("{}{}: {}", path.empty() ? "''" : path,
                               line > 0 ? fmt::format(":{}", line) : "",
                               printable(message))),
      line_(line) {}

std::string Infeasible::message() const {
  const auto both = size_with_bytes;
  if (reason == Reason::kImpossible) {
    return fmt::format(
        "a bound of {} is too small: no schedule needs less than {}; {} "
        "suffices",
        both(bound_bytes), both(lower_bound_bytes), both(least_bytes));
  }
  std::string text = fmt::format("no schedule found inside a bound of {}; {} suffices",
                                 both(bound_bytes), both(least_bytes));
  if (lower_bound_bytes > 0)
    text += fmt::format(", and no schedule needs less than {}", both(lower_bound_bytes));
  return text;
}

namespace detail {

void assertion_failed(const char* condition, const char* why, const char* file,
                      int line) {
  std::fprintf(stderr, "%s:%d: assertion failed: %s (%s)\n", file, line, condition, why);
  std::abort();
}

}  // namespace detail
std::string system_text(int error) { return std::generic_category().message(error); }

}  // namespace espalier
