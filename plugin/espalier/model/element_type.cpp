#include "espalier/model/element_type.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace espalier {
namespace {

struct ElementFacts {
  std::string_view name;
  int bits;
  bool floating;
};

// By ElementType.
constexpr std::array<ElementFacts, 19> kFacts = {{{"bool", 8, false},
                                                  {"int8", 8, false},
                                                  {"uint8", 8, false},
                                                  {"float8", 8, true},
                                                  {"int16", 16, false},
                                                  {"uint16", 16, false},
                                                  {"float16", 16, true},
                                                  {"bfloat16", 16, true},
                                                  {"int32", 32, false},
                                                  {"uint32", 32, false},
                                                  {"float32", 32, true},
                                                  {"int64", 64, false},
                                                  {"uint64", 64, false},
                                                  {"float64", 64, true},
                                                  {"complex64", 64, false},
                                                  {"complex128", 128, false},
                                                  {"int4", 4, false},
                                                  {"uint4", 4, false},
                                                  {"float4", 4, true}}};

const ElementFacts& facts(ElementType type) {
  return kFacts.at(static_cast<std::size_t>(type));
}

}  // namespace

std::string_view name(ElementType type) { return facts(type).name; }
int bits(ElementType type) { return facts(type).bits; }
bool is_floating(ElementType type) { return facts(type).floating; }

std::int64_t element_count(const Shape& shape) {
  if (std::ranges::count(shape, 0) > 0) return 0;
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) elements = checked_mul(elements, extent);
  return elements;
}

Bytes tensor_bytes(ElementType type, const Shape& shape) {
  const std::int64_t elements = element_count(shape);
  if (bits(type) < 8) return elements / 2 + elements % 2;
  return checked_mul(elements, bits(type) / 8);
}

std::string describe(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace espalier
