#pragma once

#include <gtest/gtest.h>

#include <string>

#include "espalier/model/validate.h"

namespace espalier::support {

/// The first objection to an answer says this.
inline void expect_first_violation(const Violations& wrong, const std::string& words) {
  ASSERT_FALSE(wrong.empty()) << words;
  EXPECT_NE(wrong.front().find(words), std::string::npos) << wrong.front();
}

}  // namespace espalier::support
