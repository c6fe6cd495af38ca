/* StarPU 1.4 starts PAPI whenever it starts and shuts it down whenever it ends; PAPI 7.1
   crashes at its second start on machines of which it knows too little, as in some
   containers. Preloaded in the root of .ci/debian13, this starts it once for all. */
#define _GNU_SOURCE
#include <dlfcn.h>

int PAPI_library_init(int version);
void PAPI_shutdown(void);

int PAPI_library_init(int version) {
  static int result = 0;
  int (*const next)(int) = (int (*)(int))dlsym(RTLD_NEXT, "PAPI_library_init");
  if (result <= 0) result = next ? next(version) : -1;
  return result;
}

void PAPI_shutdown(void) {}
