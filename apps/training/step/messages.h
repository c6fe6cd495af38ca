#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "espalier/model/operator_graph.h"

namespace espalier::training {

// Operators that exchange tensors with other processes
// ====================================================
//
//   Send (x) -> nothing        Receive (-) -> y        Receive (x) -> y, over x
//
// with the attributes `process` (the other one), `message` (a number that one Send and
// one Receive of a step have), and `first` and `bytes`: the part of x or y that passes.
// What a Receive over x does not receive stays. Tensors that they touch have the plain
// format.
//
// What a process of several has a part of:
//
//   TakeSlice (x) -> part      PutSlice (part) -> y      PutSlice (part, x) -> y, over x
//
// with the attributes `first` and `elements`: those of x or y, in a row. Updates have
// them where a whole parameter changes there alone; gradient and states are parts.

/// A part of a tensor that passes between this process and another one.
struct Message {
  std::int32_t process = 0;
  std::int64_t number = 0;
  Bytes first = 0, bytes = 0;
  bool sent = false;  ///< by this process; else received
};

/// The message of a Send or a Receive; nothing for another operator.
[[nodiscard]] std::optional<Message> message_of(const Operator& op);

/// @param x  nothing: a Receive of its own
[[nodiscard]] Operator message_operator(const Message& message, std::optional<TensorId> x,
                                        std::optional<TensorId> y);

/// Carries messages. Calls return at once; `done` is called from any thread, when what
/// was sent may change, or what was to be received is there.
class Messages {
 public:
  Messages() = default;
  virtual ~Messages() = default;
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  virtual void pass(const Message& message, std::span<std::byte> bytes,
                    std::function<void()> done) = 0;
};

}  // namespace espalier::training
