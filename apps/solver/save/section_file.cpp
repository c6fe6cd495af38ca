#include "solver/save/section_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

using Header = SectionFormat::Header;
using Head = SectionFormat::Head;

constexpr std::size_t kBufferBytes = std::size_t{1} << 20;
constexpr std::size_t kMostAtOnce = 16 * kBufferBytes;  // before somebody is told

// @param before  CRC of what it goes on from; 0: of nothing
std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// Of a header or a head: all of it but the CRC, which comes last.
template <class T>
std::uint32_t own_crc(const T& value, std::uint32_t before = 0) {
  return crc_of(std::as_bytes(std::span(&value, 1)).first(offsetof(T, crc)), before);
}

std::array<char, 8> padded(std::string_view name) {
  ESPALIER_ASSERT(name.size() <= 8, "section names have at most 8 characters");
  std::array<char, 8> result{};
  std::copy(name.begin(), name.end(), result.begin());
  return result;
}

std::string_view text(const std::array<char, 8>& name) {
  return {name.data(), strnlen(name.data(), name.size())};
}

}  // namespace

SectionWriter::SectionWriter(const std::string& path,
                             std::function<void(std::int64_t)> progress)
    : file_(path), progress_(std::move(progress)) {
  struct stat known {};
  if (stat(path.c_str(), &known) == 0 && !S_ISREG(known.st_mode))
    throw FileError(path, 0, "is not a regular file");
  buffer_.reserve(kBufferBytes);
  const Header later{};
  append(std::as_bytes(std::span(&later, 1)));
}

void SectionWriter::put_bytes(std::string_view name, std::size_t entry_bytes,
                              std::span<const std::byte> bytes) {
  Head head{padded(name),
            bytes.size() / entry_bytes,
            static_cast<std::uint32_t>(entry_bytes),
            crc_of(bytes),
            0,
            0};
  head.crc = last_crc_ = own_crc(head, last_crc_);
  append(std::as_bytes(std::span(&head, 1)));
  append(bytes);
}

void SectionWriter::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), bytes.begin(), bytes.begin() + part);
    bytes = bytes.subspan(part);
    if (buffer_.size() == kBufferBytes) flush();
  }
}

void SectionWriter::flush() {
  file_.write(buffer_);
  buffer_.clear();
  if (progress_) progress_(static_cast<std::int64_t>(file_.written()));
}

void SectionWriter::complete() {
  flush();
  Header header{SectionFormat::kMagic,
                SectionFormat::kByteOrder,
                SectionFormat::kFormat,
                file_.written(),
                0,
                0};
  header.crc = own_crc(header);
  file_.write_at(0, std::as_bytes(std::span(&header, 1)));
  complete_ = true;
}

void SectionWriter::commit() {
  if (!complete_) complete();
  file_.commit();
}

SectionReader::SectionReader(const std::string& path,
                             std::function<void(double)> progress)
    : path_(path),
      progress_(std::move(progress)),
      file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) fail(fmt::format("cannot be opened: {}", system_text(errno)));
  try {
    struct stat known {};
    if (fstat(file_, &known) != 0) fail(system_text(errno));
    if (!S_ISREG(known.st_mode)) fail("is not a regular file");
    size_ = static_cast<std::uint64_t>(known.st_size);
    check_header();
  } catch (...) {
    close(file_);
    throw;
  }
}

SectionReader::~SectionReader() { close(file_); }

void SectionReader::fail(const std::string& why) const { throw FileError(path_, 0, why); }

void SectionReader::check_header() {
  Header header{};
  constexpr const char* kForeign = "is not a factorisation saved by Espalier";
  if (size_ < sizeof header) fail(kForeign);
  read(std::as_writable_bytes(std::span(&header, 1)));
  if (header.magic != SectionFormat::kMagic) fail(kForeign);
  if (header.byte_order == __builtin_bswap32(SectionFormat::kByteOrder))
    fail("was written on a machine with the other order of bytes");
  if (header.crc != own_crc(header) || header.byte_order != SectionFormat::kByteOrder)
    fail("is damaged: the header's checksum is wrong");
  if (header.format != SectionFormat::kFormat)
    fail(fmt::format("has format {}; this version reads format {}", header.format,
                     SectionFormat::kFormat));
  if (header.file_bytes != size_)
    fail(
        fmt::format("is damaged: {} bytes long instead of {}", size_, header.file_bytes));
}

std::uint64_t SectionReader::open(std::string_view name, std::size_t entry_bytes) {
  if (size_ - position_ < sizeof head_)
    fail(fmt::format("is damaged: it ends before section '{}'", name));
  const std::uint32_t before = head_.crc;
  read(std::as_writable_bytes(std::span(&head_, 1)));
  if (head_.crc != own_crc(head_, before))
    fail(
        fmt::format("is damaged: the head of section '{}' has a wrong checksum, or "
                    "follows what another save wrote",
                    name));
  if (head_.name != padded(name) || head_.entry_bytes != entry_bytes)
    fail(fmt::format("has section '{}' of {}-byte entries instead of '{}' of {}",
                     text(head_.name), head_.entry_bytes, name, entry_bytes));
  if (head_.entries > (size_ - position_) / entry_bytes)
    fail(fmt::format("is damaged: section '{}' has {} entries, more than the file", name,
                     head_.entries));
  return head_.entries;
}

void SectionReader::expect(std::uint64_t entries, std::uint64_t expected) const {
  if (entries != expected)
    fail(fmt::format("has {} entries in section '{}' instead of {}", entries,
                     text(head_.name), expected));
}

void SectionReader::read_entries(std::span<std::byte> bytes) {
  read(bytes);
  if (crc_of(bytes) != head_.entries_crc)
    fail(fmt::format("is damaged: section '{}' has a wrong checksum", text(head_.name)));
}

// Large arrays go where they belong, small ones through the buffer.
void SectionReader::read(std::span<std::byte> bytes) {
  position_ += bytes.size();
  while (!bytes.empty()) {
    if (buffer_at_ == buffer_.size() && bytes.size() >= kBufferBytes) {
      bytes = bytes.subspan(read_some(bytes));
      continue;
    }
    if (buffer_at_ == buffer_.size()) {
      buffer_.resize(kBufferBytes);
      buffer_.resize(read_some(buffer_));
      buffer_at_ = 0;
    }
    const std::size_t part = std::min(bytes.size(), buffer_.size() - buffer_at_);
    std::memcpy(bytes.data(), buffer_.data() + buffer_at_, part);
    buffer_at_ += part;
    bytes = bytes.subspan(part);
  }
}

std::size_t SectionReader::read_some(std::span<std::byte> bytes) {
  if (progress_) progress_(static_cast<double>(got_) / static_cast<double>(size_));
  for (;;) {
    const ssize_t got = ::read(file_, bytes.data(), std::min(bytes.size(), kMostAtOnce));
    if (got > 0) {
      got_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (got < 0 && errno == EINTR) continue;
    fail(got < 0 ? fmt::format("cannot be read: {}", system_text(errno))
                 : std::string("is damaged: it has become shorter"));
  }
}

void SectionReader::finish() {
  if (position_ != size_)
    fail(fmt::format("has {} bytes after its last section", size_ - position_));
}

}  // namespace espalier::solver
