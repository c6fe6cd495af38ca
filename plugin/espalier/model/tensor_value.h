#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "espalier/model/element_type.h"

namespace espalier {

/// What a tensor holds from the start, without a copy of it for every one who asks:
/// bytes that are shared, one element repeated, or a part of a file that is read when it
/// is wanted; or why nobody can read it. Bytes are those of a dense array, the last axis
/// fastest, little-endian.
class TensorValue {
 public:
  /// Bytes that somebody else may hold, too.
  [[nodiscard]] static TensorValue of(std::shared_ptr<const std::string> bytes);
  [[nodiscard]] static TensorValue of(std::string bytes);
  /// A list of 64-bit integers.
  [[nodiscard]] static TensorValue of(std::span<const std::int64_t> integers);
  /// `element`, the bytes of one, as often as the tensor has elements.
  [[nodiscard]] static TensorValue repeated(std::string element);
  /// What lies in a file from `offset` on. It is opened by read().
  [[nodiscard]] static TensorValue in_file(std::string path, std::int64_t offset);
  /// A value that there is, but nowhere that it could be read from: read() says `why`.
  [[nodiscard]] static TensorValue unreadable(std::string why);

  /// The bytes of one element when all are alike and nothing more is stored.
  [[nodiscard]] const std::string* repeated_element() const;
  /// The file that it lies in; null: it is held here.
  [[nodiscard]] const std::string* file() const;

  /// How many bytes are held here; nothing: an element repeated, a part of a file, or
  /// what cannot be read.
  [[nodiscard]] std::optional<std::size_t> held_bytes() const;

  /// Fills `bytes`, which is as large as the tensor.
  /// @throws InvalidInput when more or less is held, or it is unreadable; FileError when
  /// the file is not there
  ///         or too short
  void read(std::span<std::byte> bytes) const;

 private:
  struct Held {
    std::shared_ptr<const std::string> bytes;
  };
  struct Repeated {
    std::string element;
  };
  struct InFile {
    std::string path;
    std::int64_t offset = 0;
  };
  struct Unreadable {
    std::string why;
  };
  using Source = std::variant<Held, Repeated, InFile, Unreadable>;
  explicit TensorValue(Source source) : source_(std::move(source)) {}

  Source source_;
};

/// The elements of a small tensor of integers or truth values as 64-bit integers.
/// @return nothing for another element type
/// @throws as TensorValue::read()
[[nodiscard]] std::optional<std::vector<std::int64_t>> integers_of(
    const TensorValue& value, ElementType type, const Shape& shape);

/// The elements of a tensor of 32- or 64-bit floating point.
/// @return nothing for another element type
/// @throws as TensorValue::read()
[[nodiscard]] std::optional<std::vector<double>> floats_of(const TensorValue& value,
                                                           ElementType type,
                                                           const Shape& shape);

}  // namespace espalier
