#pragma once

// Versions 2 and 3 of oneDNN, one like the other: what differs between them is here.

#include <oneapi/dnnl/dnnl.hpp>
#include <tuple>
#include <vector>

namespace espalier::training {

/// The engine of this process.
[[nodiscard]] const dnnl::engine& dnnl_engine();

/// All scratchpads are the caller's.
[[nodiscard]] dnnl::primitive_attr dnnl_attributes();

/// A source and a result that lie alike (or the gradients of both), for primitives of
/// which version 2 took one description for the two.
struct Alike {
  const dnnl::memory::desc& memory;
};

/// Whether batch normalisation backward wants the shift, which it does not read.
inline constexpr bool kBatchShiftBackward = DNNL_VERSION_MAJOR < 3;

#if DNNL_VERSION_MAJOR < 3

using PoolingForward = dnnl::pooling_v2_forward;
using PoolingBackward = dnnl::pooling_v2_backward;
using SoftmaxForward = dnnl::softmax_v2_forward;
using SoftmaxBackward = dnnl::softmax_v2_backward;

[[nodiscard]] inline dnnl::memory::dims dims_of(const dnnl::memory::desc& memory) {
  return memory.dims();
}

inline void place(dnnl::memory& memory, void* at, const dnnl::stream& stream) {
  memory.set_data_handle(at, stream);
}

/// Results times alpha, before all that is appended to `after` later.
inline void scale_results(dnnl::primitive_attr& attributes, dnnl::post_ops& /*after*/,
                          float alpha) {
  attributes.set_output_scales(0, {alpha});
}

#else

using PoolingForward = dnnl::pooling_forward;
using PoolingBackward = dnnl::pooling_backward;
using SoftmaxForward = dnnl::softmax_forward;
using SoftmaxBackward = dnnl::softmax_backward;

[[nodiscard]] inline dnnl::memory::dims dims_of(const dnnl::memory::desc& memory) {
  return memory.get_dims();
}

inline void place(dnnl::memory& memory, void* at, const dnnl::stream& /*stream*/) {
  memory.set_data_handle(at);
}

inline void scale_results(dnnl::primitive_attr& /*attributes*/, dnnl::post_ops& after,
                          float alpha) {
  after.append_eltwise(dnnl::algorithm::eltwise_linear, alpha, 0);
}

#endif

/// A concatenation or a sum.
template <class Primitive, class How>
[[nodiscard]] typename Primitive::primitive_desc describe_joined(
    const dnnl::memory::desc& result, const How& how,
    const std::vector<dnnl::memory::desc>& parts) {
#if DNNL_VERSION_MAJOR < 3
  return {result, how, parts, dnnl_engine(), dnnl_attributes()};
#else
  return {dnnl_engine(), result, how, parts, dnnl_attributes()};
#endif
}

/// What a constructor takes for an argument.
template <class Argument>
[[nodiscard]] std::tuple<const Argument&> arguments_of(const Argument& argument) {
  return {argument};
}
[[nodiscard]] inline auto arguments_of(const Alike& alike) {
#if DNNL_VERSION_MAJOR < 3
  return std::tie(alike.memory);
#else
  return std::tie(alike.memory, alike.memory);
#endif
}

/// A primitive. `of` is what version 3 takes between the engine and the attributes, with
/// Alike where version 2 took less.
/// @throws dnnl::error for one that there is no code for
template <class Primitive, class... Of>
[[nodiscard]] typename Primitive::primitive_desc describe_with(
    const dnnl::primitive_attr& attributes, const Of&... of) {
  return std::apply(
      [&](const auto&... each) -> typename Primitive::primitive_desc {
#if DNNL_VERSION_MAJOR < 3
        return {typename Primitive::desc(each...), attributes, dnnl_engine()};
#else
        return {dnnl_engine(), each..., attributes};
#endif
      },
      std::tuple_cat(arguments_of(of)...));
}
template <class Primitive, class... Of>
[[nodiscard]] typename Primitive::primitive_desc describe(const Of&... of) {
  return describe_with<Primitive>(dnnl_attributes(), of...);
}

/// The primitive backward of one forward.
template <class Primitive, class Forward, class... Of>
[[nodiscard]] typename Primitive::primitive_desc describe_backward(const Forward& forward,
                                                                   const Of&... of) {
  return std::apply(
      [&](const auto&... each) -> typename Primitive::primitive_desc {
#if DNNL_VERSION_MAJOR < 3
        return {typename Primitive::desc(each...), dnnl_attributes(), dnnl_engine(),
                forward};
#else
        return {dnnl_engine(), each..., forward, dnnl_attributes()};
#endif
      },
      std::tuple_cat(arguments_of(of)...));
}

}  // namespace espalier::training
