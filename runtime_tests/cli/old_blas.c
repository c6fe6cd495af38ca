/* Preloaded into the program: an OpenBLAS that does not know the processor. It takes the
 * kernel that OPENBLAS_CORETYPE names, with OLD_BLAS=stubborn not even that. With
 * OLD_BLAS=confined the program cannot start any other. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SEEN __attribute__((visibility("default")))

static int is(const char* mode) {
  const char* set = getenv("OLD_BLAS");
  return set != NULL && strcmp(set, mode) == 0;
}

SEEN const char* openblas_get_corename(void) {
  const char* chosen = getenv("OPENBLAS_CORETYPE");
  return chosen != NULL && !is("stubborn") ? chosen : "Prescott";
}

SEEN const char* openblas_get_config(void) {
  return is("single") ? "OpenBLAS 0.0.0 Prescott" : "OpenBLAS 0.0.0 DYNAMIC_ARCH";
}

SEEN int execve(const char* path, char* const arguments[], char* const environment[]) {
  int (*real)(const char*, char* const*, char* const*);
  if (is("confined")) {
    errno = EPERM;
    return -1;
  }
  *(void**)&real = dlsym(RTLD_NEXT, "execve");
  return real(path, arguments, environment);
}
