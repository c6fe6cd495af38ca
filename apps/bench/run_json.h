#pragma once

#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

/// The JSON that a shell command prints. @throws std::runtime_error when it prints none
inline nlohmann::json run_json(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (!pipe) throw std::runtime_error("cannot run " + command);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), got);
  nlohmann::json result = nlohmann::json::parse(output, nullptr, false);
  if (result.is_discarded()) throw std::runtime_error("no JSON from " + command);
  return result;
}
