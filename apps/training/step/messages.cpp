#include "training/step/messages.h"

namespace espalier::training {

std::optional<Message> message_of(const Operator& op) {
  const bool sent = op.type == "Send";
  if (!sent && op.type != "Receive") return std::nullopt;
  return Message{.process = static_cast<std::int32_t>(op.integer("process", 0)),
                 .number = op.integer("message", 0),
                 .first = op.integer("first", 0),
                 .bytes = op.integer("bytes", 0),
                 .sent = sent};
}

Operator message_operator(const Message& message, std::optional<TensorId> x,
                          std::optional<TensorId> y) {
  Operator op{.type = message.sent ? "Send" : "Receive"};
  if (x) op.inputs = {x};
  if (y) op.outputs = {y};
  op.attributes = {{"process", std::int64_t{message.process}},
                   {"message", message.number},
                   {"first", message.first},
                   {"bytes", message.bytes}};
  return op;
}

}  // namespace espalier::training
