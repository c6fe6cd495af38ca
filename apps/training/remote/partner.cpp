#include "training/remote/partner.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/model/error.h"

namespace espalier::training {

using solver::DataRequest;

PartnerStore::PartnerStore(solver::Channel& channel, std::int32_t partner)
    : channel_(channel), partner_(partner) {
  channel_.serve_with(
      [this](std::int32_t /*from*/, const DataRequest& request) { serve(request); });
}

PartnerStore::~PartnerStore() { channel_.serve_with({}); }

void PartnerStore::write(Bytes offset, std::span<std::byte> data,
                         std::function<void()> done) {
  {
    const std::scoped_lock lock(mutex_);
    writes_.insert_or_assign(offset, Write{data, std::move(done)});
  }
  channel_.tell_all({.kind = DataRequest::Kind::kStore,
                     .offset = offset,
                     .bytes = static_cast<Bytes>(data.size())});
}

void PartnerStore::fetch(Bytes offset, std::span<std::byte> data,
                         std::function<void()> done) {
  channel_.fetch(partner_,
                 {.kind = DataRequest::Kind::kLoad,
                  .offset = offset,
                  .bytes = static_cast<Bytes>(data.size())},
                 {data}, std::move(done));
}

// From the channel's thread. No lock is held where others may be taken.
void PartnerStore::serve(const DataRequest& request) {
  std::span<std::byte> data;
  std::function<void()> done;
  {
    const std::scoped_lock lock(mutex_);
    const auto write = writes_.find(request.offset);
    if (write == writes_.end())
      throw Error(fmt::format("no write of a state at {} is under way", request.offset));
    data = write->second.data;
    if (request.kind == DataRequest::Kind::kStored) {
      done = std::move(write->second.done);
      writes_.erase(write);
    }
  }
  if (done)
    done();
  else
    channel_.answer(partner_, request, {data}, [] {});
}

std::span<std::byte> LentSlots::place(const DataRequest& request) const {
  if (request.offset < 0 || request.bytes < 1 ||
      checked_add(request.offset, request.bytes) > memory_.size())
    throw Error(fmt::format("{} bytes at {}: not of the slots that are lent",
                            request.bytes, request.offset));
  return {memory_.data() + request.offset, static_cast<std::size_t>(request.bytes)};
}

void LentSlots::serve(solver::Channel& channel) {
  channel.serve_with([this, &channel](std::int32_t from, DataRequest request) {
    if (request.kind == DataRequest::Kind::kLoad) {
      channel.answer(from, request, {place(request)}, [] {});
      return;
    }
    const std::span<std::byte> data = place(request);
    request.kind = DataRequest::Kind::kState;
    channel.fetch(from, request, {data}, [&channel, request]() mutable {
      request.kind = DataRequest::Kind::kStored;
      channel.tell_all(request);
    });
  });
}

}  // namespace espalier::training
