#include "espalier/report/page.h"

#include "espalier/io/text_file.h"
#include "espalier/report/page_files.h"

namespace espalier::report {
namespace {

// Inside <script>, "</script" and "<!--" would end the data.
std::string script_safe(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::string html(const std::string& data) {
  std::string text = page_files::kHead;
  text.append("<style>\n").append(page_files::kStyle).append("</style>\n");
  text.append(page_files::kBody);
  text.append("<script type=\"application/json\" id=\"data\">\n");
  text.append(script_safe(data));
  text.append("\n</script>\n<script>\n/*\n").append(page_files::kChartLicence);
  text.append("*/\n").append(page_files::kChartLibrary);
  text.append("</script>\n<script>\n").append(page_files::kScript);
  text.append("</script>\n</body>\n</html>\n");
  return text;
}

void write_html(const std::string& path, const std::string& data) {
  const std::string text = html(data);
  write_file(path, [&](std::ostream& out) { out << text; });
}

void write_page(const std::string& path, const PlanPage& page) {
  write_html(path, data_of(page));
}

}  // namespace espalier::report
