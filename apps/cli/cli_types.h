#pragma once

// CLI11's classes by name: its header takes seconds to compile, and only what defines
// options needs it.

namespace CLI {
class App;
class Option;
class ParseError;
}  // namespace CLI
