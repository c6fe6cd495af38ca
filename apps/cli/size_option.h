#pragma once

#include <functional>
#include <string>

#include "cli/cli_types.h"
#include "espalier/model/units.h"

namespace espalier::cli {

/// An option whose value is a size, "512MiB". What `set` throws as espalier::Error names
/// the option.
CLI::Option* add_size(CLI::App& app, const std::string& name, const std::string& help,
                      const std::function<void(Bytes)>& set);

}  // namespace espalier::cli
