#include "cli/size_option.h"

#include "espalier/model/error.h"

namespace espalier::cli {

CLI::Option* add_size(CLI::App& app, const std::string& name, const std::string& help,
                      const std::function<void(Bytes)>& set) {
  const auto read = [name, set](const std::string& text) {
    try {
      set(parse_size(text));
    } catch (const Error& error) {
      throw CLI::ValidationError(name, error.what());
    }
  };
  return app.add_option_function<std::string>(name, read, help)->type_name("SIZE");
}

}  // namespace espalier::cli
