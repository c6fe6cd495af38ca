// ipopt_program chain|control N ma97|mumps: one run of Ipopt, for timing.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "nlp.h"

using namespace espalier::adapters;

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const int n = std::atoi(arguments[2]);
  const Nlp nlp = std::string_view(arguments[1]) == "chain" ? chained_rosenbrock(n)
                                                            : elliptic_control(n);
  const IpoptRun run = run_ipopt(nlp, arguments[3]);
  std::printf(
      "%s, %zu variables, %s: status %d, %d iterations, objective %.10g, %.3f s\n",
      nlp.name.c_str(), nlp.start.size(), arguments[3], run.status, run.iterations,
      run.objective, run.seconds);
  return run.status == 0 ? 0 : 1;
}
