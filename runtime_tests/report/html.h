#pragma once

#include <string>

namespace espalier::report {

/// The data inside a page; empty when there are none.
inline std::string embedded_data(const std::string& html) {
  const std::string open = "id=\"data\">";
  const std::size_t at = html.find(open);
  const std::size_t from = at + open.size();
  const std::size_t to = html.find("</script>", from);
  return at == std::string::npos ? std::string() : html.substr(from, to - from);
}

}  // namespace espalier::report
