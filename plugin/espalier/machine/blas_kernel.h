#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace espalier {

// OpenBLAS has kernels for each family of processors and chooses among them when it is
// loaded, by the processor's number: one that is newer than the library gets those of
// 2004, at a fifth of its speed. OPENBLAS_CORETYPE names the kernels to take instead;
// it is read once, before main(). Other BLAS libraries are left alone.

inline constexpr const char* kBlasKernelVariable = "OPENBLAS_CORETYPE";

/// The instructions that kernels are chosen by, as far as the system lets programs use
/// them. Each includes those before it.
enum class VectorUnit { kNone, kAvx, kAvx2, kAvx512 };  // kAvx2: with FMA

struct Processor {
  VectorUnit unit = VectorUnit::kNone;
  bool amd = false;
};
[[nodiscard]] Processor this_processor();

/// OpenBLAS's name for the kernels that suit the processor; nothing for one without AVX
/// or of another architecture, where OpenBLAS knows best.
[[nodiscard]] std::optional<std::string_view> suitable_blas_kernel(
    const Processor& processor);

/// suitable_blas_kernel() where `kernel`, as openblas_get_corename() gives it, uses a
/// smaller vector unit than the processor has. Nothing where it does as well, and for a
/// name that is not known: it may be newer than this list.
[[nodiscard]] std::optional<std::string_view> better_blas_kernel(
    const Processor& processor, std::string_view kernel);

/// The kernel that this process's OpenBLAS runs; nothing for another BLAS or none.
[[nodiscard]] std::optional<std::string> blas_kernel();

/// What OPENBLAS_CORETYPE should have been for this process. Nothing where the kernel is
/// as it should be, where the user has set the variable, whatever to, and where this
/// OpenBLAS was built for one kernel only.
[[nodiscard]] std::optional<std::string_view> advised_blas_kernel();

/// The same as a sentence for people, or an empty text. Valid for ever.
[[nodiscard]] const std::string& blas_advice();

}  // namespace espalier
