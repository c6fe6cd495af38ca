#pragma once

#include <functional>
#include <string>
#include <tl/expected.hpp>

namespace espalier::onnx_detail {

/// Runs `work` in a child process, so that a crash there is an answer here.
/// @return what `work` returned; as an error what it threw, or "… ended by signal 11"
/// @throws Error when the system gives no process
[[nodiscard]] tl::expected<std::string, std::string> run_in_child(
    const std::function<std::string()>& work);

}  // namespace espalier::onnx_detail
