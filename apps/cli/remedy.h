#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli_types.h"
#include "espalier/model/error.h"

namespace espalier::cli {

/// One change to a command line that was refused.
struct Edit {
  enum class Kind {
    kSet,     ///< the option with `value`; a flag without one
    kDrop,    ///< the option, a file named by its place or a word as it stands goes
    kRename,  ///< the word `option` becomes the word `value`
  };
  Kind kind = Kind::kSet;
  std::string option;  ///< "--memory"; of a file named by its place "MATRIX" and the like
  std::string value = {};
};

/// What makes a command that was refused work; empty: nothing is known to.
struct Remedy {
  std::vector<Edit> edits = {};
  std::string make_directory = {};  ///< to be there before; empty: none
  std::string unset = {};           ///< of the environment, for mpirun; empty: nothing
  int processes = 0;                ///< that mpirun starts; 0: as many as now
  [[nodiscard]] bool empty() const {
    return edits.empty() && make_directory.empty() && unset.empty() && processes == 0;
  }
};

/// The edits of both, those of the first one first; else what the first says.
[[nodiscard]] Remedy operator+(Remedy first, const Remedy& second);
[[nodiscard]] Remedy set_option(std::string option, std::string value);
[[nodiscard]] Remedy set_flag(std::string option);
[[nodiscard]] Remedy drop_option(std::string option);

/// --memory of at least so many bytes, as people write it: rounded up where that is less
/// than a part in sixty.
[[nodiscard]] Remedy raise_memory(Bytes bytes, std::string option = "--memory");

/// An option or an input is refused, and something else would work.
class Refused : public InvalidInput {
 public:
  Refused(const std::string& message, Remedy remedy)
      : InvalidInput(message), remedy_(std::move(remedy)) {}
  [[nodiscard]] const Remedy& remedy() const { return remedy_; }

 private:
  Remedy remedy_;
};

/// What `run` answers; bad input in it is refused with what works instead.
/// @throws Refused; what `run` throws if it is no InvalidInput
template <class Run>
auto refusing(const Remedy& remedy, const Run& run) {
  try {
    return run();
  } catch (const Refused&) {
    throw;
  } catch (const InvalidInput& error) {
    throw Refused(error.what(), remedy);
  }
}

/// The words of a command line, the program first, with the edits of a remedy. Everything
/// else stays as it was given, in its place; an option that is set anew stands where it
/// stood, or at the end.
/// @param program  with its subcommands: it knows which options take a value
[[nodiscard]] std::vector<std::string> edited(const CLI::App& program,
                                              std::span<const std::string> words,
                                              const Remedy& remedy);

/// What makes a command line one that can be read, by the error that reading it ended
/// with: the option or the value of closest spelling, a default, or one option less.
[[nodiscard]] Remedy remedy_of(const CLI::ParseError& error, const CLI::App& program,
                               std::span<const std::string> words);

/// Words as a POSIX shell reads them.
[[nodiscard]] std::string quoted(std::span<const std::string> words);

}  // namespace espalier::cli
