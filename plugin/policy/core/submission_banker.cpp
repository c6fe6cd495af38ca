#include "policy/core/submission_banker.h"

namespace espalier::policy {

SubmissionBanker::Datum SubmissionBanker::add(const void* handle, Bytes size,
                                              bool in_memory, bool stays) {
  const Datum datum = rule_.add(size, in_memory, stays);
  grown(names_, datum) = {handle, 0, 0};
  handles_.put(handle, static_cast<std::uint32_t>(datum));
  promised_ += size;
  return datum;
}

void SubmissionBanker::grow(Datum datum, Bytes more, Op op) {
  promised_ += more;
  rule_.grow(datum, more);
  sequential_.allocates_more(number(op), more);
  if (rule_.released(datum)) sequential_.frees(of(datum).last, more);
}

void SubmissionBanker::release(Datum datum) {
  released_.put(handle(datum), static_cast<std::uint32_t>(datum));
  forget(datum, of(datum).last < waited_at_);
}

void SubmissionBanker::forget(Datum datum, bool late) {
  handles_.erase(handle(datum));
  if (late)
    sequential_.frees_late(of(datum).last, rule_.size(datum));
  else
    sequential_.frees(of(datum).last, rule_.size(datum));
  rule_.release(datum);
}

void SubmissionBanker::remove(Datum datum) {
  if (!rule_.released(datum)) forget(datum, true);
  const void* const name = handle(datum);
  if (released_.find(name) == static_cast<std::uint32_t>(datum)) released_.erase(name);
  promised_ -= rule_.size(datum);
  rule_.remove(datum);
}

void SubmissionBanker::pass(std::span<const Datum> data) {
  const std::uint64_t number = sequential_.pass();
  for (const Datum datum : data)
    names_[static_cast<std::size_t>(datum)].last = number & kNumber;
}

SubmissionBanker::Op SubmissionBanker::submit(void* task, std::span<const Datum> data,
                                              Bytes alloc, bool message) {
  const std::uint64_t number = sequential_.append(alloc);
  for (const Datum datum : data)
    names_[static_cast<std::size_t>(datum)].last = number & kNumber;
  const Op op = rule_.append(data);
  grown(submissions_, op) = {task, number & kNumber, message};
  ops_.put(task, static_cast<std::uint32_t>(op));
  if (message) messages_.insert(number);
  return op;
}

}  // namespace espalier::policy
