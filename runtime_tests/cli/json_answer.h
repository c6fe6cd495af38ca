#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

namespace espalier::cli_test {

/// Fails the test unless all of standard output is one JSON object.
[[nodiscard]] inline nlohmann::json object(const Outcome& outcome) {
  nlohmann::json parsed = nlohmann::json::parse(outcome.out, nullptr, false);
  EXPECT_TRUE(parsed.is_object()) << outcome.out << outcome.err;
  return parsed.is_object() ? parsed : nlohmann::json::object();
}

/// The same of a run that has ended well and complains of nothing.
[[nodiscard]] inline nlohmann::json answer_of(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  return object(outcome);
}

}  // namespace espalier::cli_test
