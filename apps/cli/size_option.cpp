#include "cli/size_option.h"

#include <CLI/CLI.hpp>

#include "cli/options.h"

namespace espalier::cli {

CLI::Option* add_size(CLI::App& app, const std::string& name, const std::string& help,
                      const std::function<void(Bytes)>& set) {
  const auto read = [set](const std::string& text) { set(parse_size(text)); };
  return add_read(app, name, read, help)->type_name("SIZE");
}

}  // namespace espalier::cli
