#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "espalier/io/output_file.h"

namespace espalier::solver {

/// A binary file of named arrays, the sections, read in the order in which they were
/// written. Numbers are those of the machine that wrote them.
///
///   header    "ESPALIER", byte order mark, format, bytes of the file, 0, CRC-32
///   section   name (8 characters), entries, bytes an entry, CRC-32 of the entries, 0,
///             CRC-32 of this head; then the entries
///
/// Every byte is under one of the CRCs, so that no damaged byte goes unseen. That of a
/// head goes on from the head before: no section follows others than it was written
/// after, as in a file that is the beginning of one save and the end of another of the
/// same sizes.
struct SectionFormat {
  struct Header {
    std::array<char, 8> magic;
    std::uint32_t byte_order, format;
    std::uint64_t file_bytes;
    std::uint32_t zero, crc;
  };
  struct Head {
    std::array<char, 8> name;
    std::uint64_t entries;
    std::uint32_t entry_bytes, entries_crc, zero, crc;
  };
  static constexpr std::array<char, 8> kMagic = {'E', 'S', 'P', 'A', 'L', 'I', 'E', 'R'};
  static constexpr std::uint32_t kByteOrder = 0x01020304, kFormat = 11;
};
static_assert(sizeof(SectionFormat::Header) == 32 && sizeof(SectionFormat::Head) == 32);

/// Writes an OutputFile: until commit(), and whenever anything fails, an older file of
/// that name stays as it is.
class SectionWriter {
 public:
  /// @param progress  told how many bytes have been written, after each MiB; what it
  ///                  throws ends the writing; empty: nobody is told
  /// @throws FileError naming the path when nothing can be written there
  explicit SectionWriter(const std::string& path,
                         std::function<void(std::int64_t)> progress = {});
  SectionWriter(const SectionWriter&) = delete;
  SectionWriter& operator=(const SectionWriter&) = delete;

  /// @param name  at most 8 characters
  /// @throws FileError when the disk is full, or the limit of file size is reached
  template <class T>
  void put(std::string_view name, std::span<const T> entries) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(name, sizeof(T), std::as_bytes(entries));
  }
  template <class T, class Allocator>
  void put(std::string_view name, const std::vector<T, Allocator>& entries) {
    put(name, std::span<const T>(entries));
  }

  /// Nothing is put after this: all is written, but not under its name.
  /// @throws FileError as put()
  void complete();
  /// After complete() or instead of it. @throws FileError as OutputFile::commit()
  void commit();

 private:
  void put_bytes(std::string_view name, std::size_t entry_bytes,
                 std::span<const std::byte> bytes);
  void append(std::span<const std::byte> bytes);
  void flush();

  OutputFile file_;
  std::function<void(std::int64_t)> progress_;
  std::vector<std::byte> buffer_;
  std::uint32_t last_crc_ = 0;  // of the head before
  bool complete_ = false;
};

/// Reads what SectionWriter wrote. No array is allocated before its size was found to be
/// what the caller expects or, where that is not known, inside the file.
///
/// Every member throws FileError naming the path and what is wrong with the file.
class SectionReader {
 public:
  /// @param progress  told the part of the file that has been read, every few MiB; what
  ///                  it throws ends the reading; empty: nobody is told
  explicit SectionReader(const std::string& path,
                         std::function<void(double)> progress = {});
  SectionReader(const SectionReader&) = delete;
  SectionReader& operator=(const SectionReader&) = delete;
  ~SectionReader();

  /// The next section, which must have this name and `entries.size()` entries.
  template <class T>
  void take(std::string_view name, std::span<T> entries) {
    expect(open(name, sizeof(T)), entries.size());
    read_entries(std::as_writable_bytes(entries));
  }
  template <class T>
  [[nodiscard]] std::vector<T> take(std::string_view name, std::uint64_t entries) {
    expect(open(name, sizeof(T)), entries);
    return read_vector<T, std::allocator<T>>(entries);
  }
  /// With any number of entries.
  template <class T, class Allocator = std::allocator<T>>
  [[nodiscard]] std::vector<T, Allocator> take(std::string_view name) {
    return read_vector<T, Allocator>(open(name, sizeof(T)));
  }
  /// No section is left.
  void finish();
  [[nodiscard]] std::int64_t bytes_left() const {
    return static_cast<std::int64_t>(size_ - position_);
  }

  [[noreturn]] void fail(const std::string& why) const;

 private:
  template <class T, class Allocator>
  std::vector<T, Allocator> read_vector(std::uint64_t entries) {
    std::vector<T, Allocator> result(entries);
    read_entries(std::as_writable_bytes(std::span(result)));
    return result;
  }
  // @return entries of the section, which lie inside the file
  std::uint64_t open(std::string_view name, std::size_t entry_bytes);
  void expect(std::uint64_t entries, std::uint64_t expected) const;
  void read_entries(std::span<std::byte> bytes);
  void read(std::span<std::byte> bytes);
  // @return bytes that came, one at least
  std::size_t read_some(std::span<std::byte> bytes);
  void check_header();

  std::string path_;
  std::function<void(double)> progress_;
  int file_ = -1;
  std::uint64_t size_ = 0, position_ = 0;  // bytes; position of what comes next
  std::uint64_t got_ = 0;                  // bytes that have come from the system
  SectionFormat::Head head_{};  // of the section that is open, its crc 0: of none
  std::vector<std::byte> buffer_;
  std::size_t buffer_at_ = 0;
};

}  // namespace espalier::solver
