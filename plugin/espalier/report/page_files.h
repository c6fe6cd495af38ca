#pragma once

namespace espalier::report::page_files {

// The files of page/ and vendor/, as CMake puts them into the library.
extern const char* const kHead;          ///< up to and without </head>
extern const char* const kStyle;         ///< CSS
extern const char* const kBody;          ///< </head> and the body, without its end
extern const char* const kChartLicence;  ///< of uPlot: it has to go with it
extern const char* const kChartLibrary;  ///< uPlot
extern const char* const kScript;        ///< the page's own scripts, one after the other

}  // namespace espalier::report::page_files
