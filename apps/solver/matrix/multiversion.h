#pragma once

// Plain loops are compiled for several instruction sets, of which the processor takes its
// best at load time; sanitizers do not bear that. For functions of unnamed namespaces.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define ESPALIER_BY_PROCESSOR
#define ESPALIER_MULTIVERSION \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define ESPALIER_MULTIVERSION
#endif
