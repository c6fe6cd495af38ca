#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "espalier/model/error.h"

namespace espalier {

/// What was to be written cannot be: no space, a quota, a limit. Of a name that nothing
/// can be written to, too; who asks before the work (check_output()) makes bad input of
/// it.
class WriteError : public FileError {
 public:
  using FileError::FileError;
};

/// A file that appears under its name when it is whole, and not before. Every file that
/// the library, the solver and the program write for a user goes through here.
///
///   - What is written has no name (O_TMPFILE) until commit(), so that nothing is left
///     however the process ends. Where the file system has no such files, it has a random
///     name, made with O_EXCL, that the destructor and remove_unfinished_files() remove.
///   - commit() waits until the data are on the disk, puts the file in the place of an
///     older one and waits for the directory. An unnamed file that replaces another has a
///     random name for the instant between link() and rename().
///   - A file that is replaced gives its mode to the new one, and its owner and group
///     where the system lets it; a group that cannot be kept gets no rights that others
///     do not have. A new file has the mode that the umask says. Hard links, access
///     lists and extended attributes are those of a new file.
///   - A symbolic link is followed, and the file that it leads to is replaced. In a
///     directory that is sticky and writable by all (as /tmp) only links of the process's
///     user or of the directory's owner are, as the Linux kernel has it for opening.
///   - What is not a plain file (a device, a pipe, /dev/stdout) is written as it is.
///
/// Every member throws WriteError naming the path and the system's reason, the
/// constructor also FileError: what is no name, a link that is not followed.
class OutputFile {
 public:
  enum class Temporary {
    kUnnamed,  ///< where the file system can, else as kNamed
    kNamed
  };
  explicit OutputFile(const std::string& path, Temporary kind = Temporary::kUnnamed);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();  ///< without commit(): nothing is left, and an older file stays

  void write(std::span<const std::byte> bytes);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Writes over what was written, at an offset from the start; plain files only.
  void write_at(std::uint64_t offset, std::span<const std::byte> bytes);
  void commit();

  /// For a library that writes to a descriptor, which it then owns.
  [[nodiscard]] int copy_of_descriptor() const;
  [[nodiscard]] std::uint64_t written() const { return written_; }

 private:
  void open_directory();
  void open_temporary(Temporary kind);
  void open_named();
  void keep_mode();
  void put_in_place();
  void close_all() noexcept;
  [[noreturn]] void fail(const char* what, int error) const;

  std::string path_;       // as it was given
  std::string name_;       // in the directory, links followed
  std::string folder_;     // of name_
  std::string temporary_;  // in the directory; empty: unnamed, or a device
  int directory_ = -1;     // -1: a device
  int file_ = -1;
  int slot_ = -1;  // for remove_unfinished_files()
  std::uint64_t written_ = 0, limit_ = 0;
};

/// Opens a file as OutputFile does and gives it up: what cannot be written is known
/// before the work. Nothing is changed. @throws FileError
void check_output(const std::string& path);

/// Removes the temporary names of all files that have not been committed; for a handler
/// of a signal that ends the process. Async-signal-safe.
void remove_unfinished_files() noexcept;

}  // namespace espalier
