#pragma once

#include <cstdint>
#include <memory>

#include "training/operators/kernel.h"

// The types for which a make_… of plain_kernels.h is compiled, in its source.

#define ESPALIER_FOR_ELEMENT(make, T) \
  template std::unique_ptr<Kernel> make<T>(const OperatorSpec&, const KernelTensors&);

/// float, and double for the oracle.
#define ESPALIER_FOR_REAL_ELEMENTS(make) \
  ESPALIER_FOR_ELEMENT(make, float)      \
  ESPALIER_FOR_ELEMENT(make, double)

/// Every type of of_type() (element_types.h).
#define ESPALIER_FOR_ALL_ELEMENTS(make)    \
  ESPALIER_FOR_REAL_ELEMENTS(make)         \
  ESPALIER_FOR_ELEMENT(make, std::int64_t) \
  ESPALIER_FOR_ELEMENT(make, std::int32_t) \
  ESPALIER_FOR_ELEMENT(make, std::int8_t)  \
  ESPALIER_FOR_ELEMENT(make, std::uint8_t)
