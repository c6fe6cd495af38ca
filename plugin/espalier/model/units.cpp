#include "espalier/model/units.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "espalier/model/error.h"

namespace espalier {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The longest prefix of digits, taken off the front of `text`.
std::string_view take_digits(std::string_view& text) {
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) ++length;
  const std::string_view digits = text.substr(0, length);
  text.remove_prefix(length);
  return digits;
}

// Bytes per unit: a letter of the SI prefixes, then "B" or "iB", in any case.
std::optional<Bytes> unit_factor(std::string_view unit) {
  constexpr auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  if (unit.empty()) return 1;
  if (lower(unit.back()) != 'b') return std::nullopt;
  unit.remove_suffix(1);
  if (unit.empty()) return 1;
  const auto power = std::string_view("kmgt").find(lower(unit.front()));
  if (power == std::string_view::npos) return std::nullopt;
  unit.remove_prefix(1);
  if (!unit.empty() && !(unit.size() == 1 && lower(unit.front()) == 'i')) {
    return std::nullopt;
  }
  const Bytes base = unit.empty() ? 1000 : 1024;
  Bytes factor = base;
  for (std::size_t i = 0; i < power; ++i) factor *= base;
  return factor;
}

// 0.digits * factor, rounded up. Exact: a division by ten per digit, from the last.
Bytes scaled_fraction(std::string_view digits, Bytes factor) {
  Bytes value = 0;
  bool inexact = false;
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit) {
    value += (*digit - '0') * factor;
    inexact = inexact || value % 10 != 0;
    value /= 10;
  }
  return value + (inexact ? 1 : 0);
}

}  // namespace

Bytes checked_add(Bytes a, Bytes b) {
  Bytes result = 0;
  if (__builtin_add_overflow(a, b, &result)) {
    throw OverflowError(fmt::format("{} + {} leaves the 64-bit range", a, b));
  }
  return result;
}

Bytes checked_sub(Bytes a, Bytes b) {
  Bytes result = 0;
  if (__builtin_sub_overflow(a, b, &result)) {
    throw OverflowError(fmt::format("{} - {} leaves the 64-bit range", a, b));
  }
  return result;
}

Bytes checked_mul(Bytes a, Bytes b) {
  Bytes result = 0;
  if (__builtin_mul_overflow(a, b, &result)) {
    throw OverflowError(fmt::format("{} * {} leaves the 64-bit range", a, b));
  }
  return result;
}

Bytes parse_size(std::string_view text) {
  std::string_view rest = text;
  const auto fail = [text] {
    throw InvalidInput(fmt::format(
        "'{}' is not a size: expected a number and B, KB, MB, GB, TB, KiB, MiB, GiB "
        "or TiB, as in 512MiB",
        text));
  };
  const std::string_view whole = take_digits(rest);
  if (whole.empty()) fail();
  std::string_view fraction;
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    fraction = take_digits(rest);
    if (fraction.empty()) fail();
  }
  while (rest.size() > 1 && rest.front() == ' ') rest.remove_prefix(1);
  const std::optional<Bytes> factor = unit_factor(rest);
  if (!factor) fail();
  Bytes count = 0;
  if (std::from_chars(whole.data(), whole.data() + whole.size(), count).ec !=
      std::errc()) {
    throw OverflowError(fmt::format("the size '{}' leaves the 64-bit range", text));
  }
  return checked_add(checked_mul(count, *factor), scaled_fraction(fraction, *factor));
}

std::string format_size(Bytes bytes) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.95 and more would print as 1024.0.
  while (std::abs(value) >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace espalier
