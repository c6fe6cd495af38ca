#include "cli/command.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <new>
#include <stdexcept>
#include <system_error>

#include "espalier/io/output_file.h"
#include "espalier/model/error.h"

namespace espalier::cli {

namespace {

// " (ulimit -v: 292.9 MiB)"
std::string limit_of_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return fmt::format(" (ulimit -v: {})",
                     format_size(static_cast<Bytes>(std::min<rlim_t>(
                         limit.rlim_cur, std::numeric_limits<Bytes>::max()))));
}

std::string out_of_memory() {
  return "the system has no memory left to give" + limit_of_address_space();
}

}  // namespace

Failure current_failure() {
  try {
    throw;
  } catch (const Refused& error) {
    return {kBadInput, error.what(), error.remedy()};
  } catch (const WriteError& error) {  // before InvalidInput, which it is
    return {kInternal, error.what()};
  } catch (const InvalidInput& error) {
    return {kBadInput, error.what()};
  } catch (const OverflowError& error) {
    return {kBadInput, error.what()};
  } catch (const std::bad_alloc&) {
    return {kInternal, out_of_memory()};
  } catch (const std::length_error&) {
    return {kInternal, out_of_memory()};
  } catch (const std::system_error& error) {
    return {kInternal, fmt::format("the system refuses a thread or a file: {}{}",
                                   error.what(), limit_of_address_space())};
  } catch (const std::exception& error) {
    return {kInternal, error.what()};
  } catch (...) {
    return {kInternal, "unknown error"};
  }
}

std::string last_words(const Failure& failure, const Suggest& suggest) {
  std::string text = failure.message;
  const std::string line = suggest(failure.remedy);
  if (!line.empty()) text += '\n' + line.substr(0, line.size() - 1);
  return text;
}

}  // namespace espalier::cli
