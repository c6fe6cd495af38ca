#pragma once

#include <istream>
#include <streambuf>
#include <string_view>

#include "solver/io/text_reader.h"

namespace espalier::cli {

/// What a TextReader reads, plain or gzip, as a stream. What the reader throws goes on to
/// whoever reads the stream.
class TextStream : public std::istream {
 public:
  /// @param text  outlives this
  explicit TextStream(solver::TextReader& text) : std::istream(nullptr), blocks_(text) {
    rdbuf(&blocks_);
    exceptions(std::ios::badbit);
  }

 private:
  class Blocks : public std::streambuf {
   public:
    explicit Blocks(solver::TextReader& text) : text_(text) {}

   protected:
    int_type underflow() override {
      const std::string_view block = text_.next_block();
      if (block.empty()) return traits_type::eof();
      char* const first = const_cast<char*>(block.data());  // a get area is not written
      setg(first, first, first + block.size());
      return traits_type::to_int_type(*first);
    }

   private:
    solver::TextReader& text_;
  };

  Blocks blocks_;
};

}  // namespace espalier::cli
