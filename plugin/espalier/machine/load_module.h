#pragma once

namespace espalier {

/// A part of a program in a library of its own, which only those runs load that need what
/// it is linked with: large libraries cost every process that maps them memory and time.
/// It is sought beside the program, one folder above it (both in a build tree), beside
/// the library that this is part of, and where it is installed, seen from there. It stays
/// loaded until the process ends.
///
/// @param file    the library's name: "libespalier_onnx.so"
/// @param purpose what the user wants of it, for the message: "ONNX models"
/// @param symbol  what it exports, not mangled
/// @return the symbol's address
/// @throws Error naming the file, its purpose and what the loader says
/// @par Cost  that of mapping it, once; a look at a table later
[[nodiscard]] const void* load_module(const char* file, const char* purpose,
                                      const char* symbol);

/// The same for a table of functions.
template <class Table>
[[nodiscard]] const Table& module_table(const char* file, const char* purpose,
                                        const char* symbol) {
  return *static_cast<const Table*>(load_module(file, purpose, symbol));
}

}  // namespace espalier
