// Stands in for train.cpp where the program is built without StarPU or oneDNN.

#include "cli/command.h"

namespace espalier::cli {

Command add_train(CLI::App* app) { return unavailable(app, "StarPU or oneDNN"); }

}  // namespace espalier::cli
