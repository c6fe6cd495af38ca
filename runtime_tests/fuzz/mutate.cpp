#include "fuzz/mutate.h"

#include <algorithm>
#include <cstddef>

namespace espalier::fuzz {
namespace {

// 0 … last; distributions of the standard library differ between implementations.
std::size_t draw(std::mt19937& random, std::size_t last) { return random() % (last + 1); }

struct Piece {
  std::size_t first, length;
};

Piece draw_piece(std::string_view text, std::mt19937& random) {
  const std::size_t first = draw(random, text.size());
  constexpr std::size_t kMost = 40;
  return {first, draw(random, std::min(text.size() - first, kMost))};
}

void change(std::string& file, std::string_view other,
            std::span<const std::string_view> words, std::mt19937& random) {
  const auto [first, length] = draw_piece(file, random);
  const std::size_t place = draw(random, file.size());
  switch (draw(random, 7)) {
    case 0:
      file.erase(first, length);
      break;
    case 1:
      file.insert(place, file.substr(first, length));
      break;
    case 2:
      if (place < file.size()) file[place] = static_cast<char>(draw(random, 255));
      break;
    case 3:
      if (place < file.size())
        file[place] = static_cast<char>(file[place] ^ 1 << draw(random, 7));
      break;
    case 4:
      file.replace(first, length, words[draw(random, words.size() - 1)]);
      break;
    case 5: {
      const Piece piece = draw_piece(other, random);
      file.replace(first, length, other.substr(piece.first, piece.length));
      break;
    }
    case 6:
      if (const std::size_t digit = file.find_first_of("0123456789", place);
          digit != std::string::npos)
        file[digit] = static_cast<char>('0' + draw(random, 9));
      break;
    default:
      file.insert(place, words[draw(random, words.size() - 1)]);
      break;
  }
}

}  // namespace

std::string mutate(std::string file, std::string_view other,
                   std::span<const std::string_view> words, std::mt19937& random) {
  for (std::size_t changes = 1 + draw(random, 7); changes > 0; --changes)
    change(file, other, words, random);
  return file;
}

}  // namespace espalier::fuzz
