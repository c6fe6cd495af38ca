#include "training/pipeline/exchange.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/model/error.h"

namespace espalier::training {

using solver::DataRequest;

Exchange::Exchange(solver::Channel& channel) : channel_(channel) {
  channel_.serve_with(
      [this](std::int32_t from, const DataRequest& request) { serve(from, request); });
}

Exchange::~Exchange() { channel_.serve_with({}); }

void Exchange::pass(const Message& message, std::span<std::byte> bytes,
                    std::function<void()> done) {
  if (!message.sent) {
    channel_.fetch(message.process,
                   {.kind = DataRequest::Kind::kTensor,
                    .offset = message.number,
                    .bytes = message.bytes},
                   {bytes}, std::move(done));
    return;
  }
  Offer offer{bytes, std::move(done)};
  Waiting to;
  {
    const std::scoped_lock lock(mutex_);
    const auto waiting = waiting_.find(message.number);
    if (waiting == waiting_.end()) {
      offers_.emplace(message.number, std::move(offer));
      return;
    }
    to = waiting->second;
    waiting_.erase(waiting);
  }
  send(to, offer);
}

// From the channel's thread.
void Exchange::serve(std::int32_t from, const DataRequest& request) {
  Offer offer;
  {
    const std::scoped_lock lock(mutex_);
    const auto found = offers_.find(request.offset);
    if (found == offers_.end()) {
      waiting_.insert_or_assign(request.offset, Waiting{from, request});
      return;
    }
    offer = std::move(found->second);
    offers_.erase(found);
  }
  send({from, request}, offer);
}

void Exchange::send(const Waiting& to, const Offer& offer) {
  if (to.request.bytes != std::ssize(offer.bytes))
    throw Error(fmt::format("process {} asks for {} bytes of message {}, which has {}",
                            to.process, to.request.bytes, to.request.offset,
                            offer.bytes.size()));
  channel_.answer(to.process, to.request, {offer.bytes}, offer.done);
}

}  // namespace espalier::training
