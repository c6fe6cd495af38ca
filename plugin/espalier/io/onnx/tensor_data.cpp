#include "espalier/io/onnx/tensor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <utility>
#include <vector>

namespace espalier::onnx_detail {
namespace {

// The elements as they lie in memory, from a list of another type.
template <class T, class List>
TensorValue packed(const List& list) {
  std::vector<T> elements(list.begin(), list.end());
  std::string bytes(elements.size() * sizeof(T), '\0');
  if (!elements.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  return TensorValue::of(std::move(bytes));
}

std::optional<TensorValue> typed_value(const onnx::TensorProto& tensor) {
  const auto type = element_type_of(tensor.data_type());
  const int width = type ? bits(*type) : 0;
  if (tensor.float_data_size() > 0) return packed<float>(tensor.float_data());
  if (tensor.double_data_size() > 0) return packed<double>(tensor.double_data());
  if (tensor.int64_data_size() > 0) return packed<std::int64_t>(tensor.int64_data());
  if (tensor.uint64_data_size() > 0) {
    if (width == 32) return packed<std::uint32_t>(tensor.uint64_data());
    return packed<std::uint64_t>(tensor.uint64_data());
  }
  if (tensor.int32_data_size() > 0) {
    if (width == 8) return packed<std::uint8_t>(tensor.int32_data());
    if (width == 16) return packed<std::uint16_t>(tensor.int32_data());
    if (width == 32) return packed<std::int32_t>(tensor.int32_data());
  }
  return std::nullopt;
}

// What the entries of external data say; nothing where an entry is left out.
struct Place {
  std::string location;
  std::string offset = "0";
  std::optional<std::string> length;
};

Place place_of(const onnx::TensorProto& tensor) {
  Place place;
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") place.location = entry.value();
    if (entry.key() == "offset") place.offset = entry.value();
    if (entry.key() == "length") place.length = entry.value();
  }
  return place;
}

// A count of bytes; nothing for any other text.
std::optional<std::int64_t> bytes_in(const std::string& text) {
  std::int64_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, bytes);
  if (error != std::errc() || stop != end || bytes < 0) return std::nullopt;
  return bytes;
}

TensorValue external_value(const onnx::TensorProto& tensor, const std::string& file) {
  const Place place = place_of(tensor);
  const auto refused = [&](const std::string& why) {
    return TensorValue::unreadable(
        fmt::format("{}: external data of '{}': {}", file, tensor.name(), why));
  };
  const std::filesystem::path path =
      std::filesystem::path(place.location).lexically_normal();
  if (path.empty()) return refused("they have no location");
  if (path.is_absolute() || *path.begin() == "..")
    return refused(fmt::format("the location '{}' is no place in the model's folder",
                               place.location));
  const std::optional<std::int64_t> offset = bytes_in(place.offset);
  if (!offset)
    return refused(fmt::format("the offset '{}' is no number of bytes", place.offset));
  const auto type = element_type_of(tensor.data_type());
  const Bytes wanted =
      type ? tensor_bytes(*type, Shape(tensor.dims().begin(), tensor.dims().end())) : 0;
  if (place.length && bytes_in(*place.length) != wanted)
    return refused(fmt::format("the length '{}' is not that of the tensor, {} bytes",
                               *place.length, wanted));
  return TensorValue::in_file(std::filesystem::path(file).parent_path() / path, *offset);
}

}  // namespace

std::optional<ElementType> element_type_of(int type) {
  // Numbers without a name are of later versions of the format.
  static constexpr std::pair<int, ElementType> kTypes[] = {
      {onnx::TensorProto::BOOL, ElementType::kBool},
      {onnx::TensorProto::INT8, ElementType::kInt8},
      {onnx::TensorProto::UINT8, ElementType::kUint8},
      {17, ElementType::kFloat8},
      {18, ElementType::kFloat8},
      {19, ElementType::kFloat8},
      {20, ElementType::kFloat8},
      {onnx::TensorProto::INT16, ElementType::kInt16},
      {onnx::TensorProto::UINT16, ElementType::kUint16},
      {onnx::TensorProto::FLOAT16, ElementType::kFloat16},
      {onnx::TensorProto::BFLOAT16, ElementType::kBfloat16},
      {onnx::TensorProto::INT32, ElementType::kInt32},
      {onnx::TensorProto::UINT32, ElementType::kUint32},
      {onnx::TensorProto::FLOAT, ElementType::kFloat32},
      {onnx::TensorProto::INT64, ElementType::kInt64},
      {onnx::TensorProto::UINT64, ElementType::kUint64},
      {onnx::TensorProto::DOUBLE, ElementType::kFloat64},
      {onnx::TensorProto::COMPLEX64, ElementType::kComplex64},
      {onnx::TensorProto::COMPLEX128, ElementType::kComplex128},
      {21, ElementType::kUint4},
      {22, ElementType::kInt4},
      {23, ElementType::kFloat4},
  };
  const auto found = std::ranges::find(kTypes, type, &std::pair<int, ElementType>::first);
  if (found == std::end(kTypes)) return std::nullopt;
  return found->second;
}

std::optional<TensorValue> take_value(onnx::TensorProto& tensor,
                                      const std::string& file) {
  if (tensor.data_location() == onnx::TensorProto::EXTERNAL)
    return external_value(tensor, file);
  if (tensor.has_raw_data())
    return TensorValue::of(std::move(*tensor.mutable_raw_data()));
  if (std::ranges::count(tensor.dims(), 0) > 0) return TensorValue::of(std::string());
  return typed_value(tensor);
}

}  // namespace espalier::onnx_detail
