// ipopt_program chain|control|control3|surface N ma97|ma57|mumps: one run of Ipopt, for
// timing. Without arguments the chain of 500 with the options of ipopt.opt.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "nlp.h"

using namespace espalier::adapters;

int main(int count, char** arguments) {
  const std::map<std::string, Nlp (*)(int)> problems = {{"chain", chained_rosenbrock},
                                                        {"control", elliptic_control},
                                                        {"control3", elliptic_control_3d},
                                                        {"surface", minimal_surface}};
  if (count != 1 && (count != 4 || !problems.contains(arguments[1]))) return 2;
  const Nlp nlp = count == 1 ? chained_rosenbrock(500)
                             : problems.at(arguments[1])(std::atoi(arguments[2]));
  const char* const solver = count == 1 ? "" : arguments[3];
  const IpoptRun run = run_ipopt(nlp, solver);
  std::printf(
      "%s, %zu variables, %s: status %d, %d iterations, objective %.10g, %.3f s, "
      "%.3f cpu s\n",
      nlp.name.c_str(), nlp.start.size(), solver, run.status, run.iterations,
      run.objective, run.seconds, run.processor_seconds);
  return run.status == 0 ? 0 : 1;
}
