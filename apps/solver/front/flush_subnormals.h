#pragma once

#if defined(__SSE__) && (defined(__x86_64__) || defined(__i386__))
#include <xmmintrin.h>
#define ESPALIER_HAVE_MXCSR
#endif

namespace espalier::solver {

/// While one lives, results of the calling thread that are below the range of normal
/// numbers are zero. Entries of a factor decay along paths of a graph until they stay at
/// the least subnormal number, and an operation on one of those takes a hundred times as
/// long. Numbers that are given stay what they are.
class FlushSubnormals {
 public:
#ifdef ESPALIER_HAVE_MXCSR
  FlushSubnormals() { _mm_setcsr(before_ | _MM_FLUSH_ZERO_ON); }
  ~FlushSubnormals() { _mm_setcsr(before_); }

 private:
  const unsigned before_ = _mm_getcsr();

 public:
#else
  FlushSubnormals() {}
  ~FlushSubnormals() {}
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;
};

#undef ESPALIER_HAVE_MXCSR

}  // namespace espalier::solver
