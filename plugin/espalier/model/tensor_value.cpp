#include "espalier/model/tensor_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

[[noreturn]] void refuse(std::size_t held, std::size_t wanted) {
  throw InvalidInput(
      fmt::format("a tensor of {} bytes has a value of {} bytes", wanted, held));
}

void repeat(const std::string& element, std::span<std::byte> bytes) {
  if (element.empty() || bytes.size() % element.size() != 0)
    refuse(element.size(), bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += element.size())
    std::memcpy(bytes.data() + at, element.data(), element.size());
}

void read_file(const std::string& path, std::int64_t offset, std::span<std::byte> bytes) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw FileError(path, 0, "cannot be opened");
  file.seekg(offset);
  file.read(reinterpret_cast<char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!file)
    throw FileError(
        path, 0, fmt::format("does not hold {} bytes from {} on", bytes.size(), offset));
}

template <class T, class Result>
std::vector<Result> elements_of(const TensorValue& value, std::size_t count) {
  std::vector<T> elements(count);
  value.read(std::as_writable_bytes(std::span(elements)));
  std::vector<Result> results(count);
  std::ranges::transform(elements, results.begin(),
                         [](T element) { return static_cast<Result>(element); });
  return results;
}

}  // namespace

TensorValue TensorValue::of(std::shared_ptr<const std::string> bytes) {
  return TensorValue(Held{std::move(bytes)});
}

TensorValue TensorValue::of(std::string bytes) {
  return of(std::make_shared<const std::string>(std::move(bytes)));
}

TensorValue TensorValue::of(std::span<const std::int64_t> integers) {
  std::string bytes(integers.size_bytes(), '\0');
  if (!integers.empty())
    std::memcpy(bytes.data(), integers.data(), integers.size_bytes());
  return of(std::move(bytes));
}

TensorValue TensorValue::repeated(std::string element) {
  return TensorValue(Repeated{std::move(element)});
}

TensorValue TensorValue::in_file(std::string path, std::int64_t offset) {
  return TensorValue(InFile{std::move(path), offset});
}

TensorValue TensorValue::unreadable(std::string why) {
  return TensorValue(Unreadable{std::move(why)});
}

const std::string* TensorValue::repeated_element() const {
  const auto* repeated = std::get_if<Repeated>(&source_);
  return repeated != nullptr ? &repeated->element : nullptr;
}

const std::string* TensorValue::file() const {
  const auto* in_file = std::get_if<InFile>(&source_);
  return in_file != nullptr ? &in_file->path : nullptr;
}

std::optional<std::size_t> TensorValue::held_bytes() const {
  const auto* held = std::get_if<Held>(&source_);
  return held != nullptr ? std::optional(held->bytes->size()) : std::nullopt;
}

void TensorValue::read(std::span<std::byte> bytes) const {
  if (bytes.empty()) return;
  if (const auto* held = std::get_if<Held>(&source_)) {
    if (held->bytes->size() != bytes.size()) refuse(held->bytes->size(), bytes.size());
    std::memcpy(bytes.data(), held->bytes->data(), bytes.size());
  } else if (const auto* repeated = std::get_if<Repeated>(&source_)) {
    repeat(repeated->element, bytes);
  } else if (const auto* file = std::get_if<InFile>(&source_)) {
    read_file(file->path, file->offset, bytes);
  } else {
    throw InvalidInput(std::get<Unreadable>(source_).why);
  }
}

std::optional<std::vector<std::int64_t>> integers_of(const TensorValue& value,
                                                     ElementType type,
                                                     const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  switch (type) {
    case ElementType::kBool:
    case ElementType::kUint8:
      return elements_of<std::uint8_t, std::int64_t>(value, count);
    case ElementType::kInt8:
      return elements_of<std::int8_t, std::int64_t>(value, count);
    case ElementType::kInt32:
      return elements_of<std::int32_t, std::int64_t>(value, count);
    case ElementType::kInt64:
      return elements_of<std::int64_t, std::int64_t>(value, count);
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<double>> floats_of(const TensorValue& value, ElementType type,
                                             const Shape& shape) {
  const auto count = static_cast<std::size_t>(element_count(shape));
  if (type == ElementType::kFloat32) return elements_of<float, double>(value, count);
  if (type == ElementType::kFloat64) return elements_of<double, double>(value, count);
  return std::nullopt;
}

}  // namespace espalier
