#pragma once

#include <gtest/gtest.h>

#include "espalier/model/validate.h"
#include "support/tree_shapes.h"

namespace espalier::support {

/// An order of a tree runs large trees of any shape.
void expect_handles_large_trees(const auto& order) {
  for (const Shape& shape : shapes()) {
    const TaskTree tree(shape.make(100'000));
    EXPECT_EQ(validate(tree, order(tree)), Violations()) << shape.name;
  }
}

/// And a chain, over which nothing recurses.
void expect_handles_a_long_chain(const auto& order) {
  const TaskTree tree(chain(1'000'000));
  EXPECT_EQ(validate(tree, order(tree)), Violations());
}

}  // namespace espalier::support
