#include "solver/numeric.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "solver/save_factor.h"
#include "solver/tree_solve.h"

namespace espalier::solver {
namespace {

template <class T>
class NumericOf : public Numeric {
 public:
  tl::expected<FactorReport, BadPivot> factorise(
      const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
      const std::function<void(double)>& progress) override {
    factor_ = {};
    FactorReport report;
    auto factor = solver::factorise<T>(input, runtime, plan, report, progress);
    if (!factor) return tl::make_unexpected(factor.error());
    factor_ = std::move(*factor);
    return report;
  }

  void open_solve(const Symbolic& symbolic, const AssemblyTree& tree,
                  const Runtime& runtime, std::int32_t columns,
                  Bytes read_limit) override {
    need_factor(symbolic);
    size_ = symbolic.size;
    kind_ = tree.kind;
    solve_.emplace(FactorView<T>{symbolic, tree, factor_}, runtime, columns, read_limit);
    const std::int64_t entries = std::int64_t{size_} * columns;
    first_.resize(kConverts ? entries : 0);
    second_.resize(needs_second() ? entries : 0);
  }

  void solve(bool transposed, std::span<double> block, std::int32_t columns,
             std::span<const std::int32_t> rows) override {
    if constexpr (kConverts) {
      const std::vector<int> exponents = convert(block, columns);
      T* const x = needs_second() ? second_.data() : first_.data();
      solve_->solve(transposed, {first_.data(), size_, columns}, {x, size_, columns},
                    rows);
      convert_back(x, exponents, block);
    } else {
      T* const x = needs_second() ? second_.data() : block.data();
      solve_->solve(transposed, {block.data(), size_, columns}, {x, size_, columns},
                    rows);
      if (needs_second()) std::copy_n(x, block.size(), block.data());
    }
  }

  void forget() override { factor_ = {}; }

  void close_solve() override {
    solve_.reset();
    first_ = second_ = {};
  }

  void save(const Symbolic& symbolic, const AssemblyTree& tree,
            SectionWriter& file) const override {
    need_factor(symbolic);
    save_factor<T>({symbolic, tree, factor_}, file);
  }

  void load(const Symbolic& symbolic, const AssemblyTree& tree,
            SectionReader& file) override {
    factor_ = load_factor<T>(symbolic, tree, file);
  }

  Bytes factor_bytes_beside(const FactorInput& input,
                            std::int32_t workers) const override {
    return bytes_beside<T>(input, workers);
  }
  Bytes solve_bytes_beside(const FactorInput& input, std::int32_t workers,
                           std::int32_t columns) const override {
    const std::int64_t copies =
        (kConverts ? 1 : 0) + (input.tree.kind == FactorKind::kLu ? 1 : 0);
    return checked_add(
        TreeSolve<T>::footprint(input.symbolic, input.tree, workers, columns),
        checked_mul(copies * input.symbolic.size * columns, sizeof(T)));
  }
  Bytes entry_bytes() const override { return sizeof(T); }
  double epsilon() const override { return std::numeric_limits<T>::epsilon(); }

 private:
  void need_factor(const Symbolic& symbolic) const {
    if (factor_.front.size() != symbolic.parent.size())
      throw InvalidInput("nothing has been factored under this plan");
  }
  // Conversion to T; results of LU apart from what is still read.
  static constexpr bool kConverts = sizeof(T) < sizeof(double);
  [[nodiscard]] bool needs_second() const { return kind_ == FactorKind::kLu; }

  // Into T, each vector divided by the power of two that brings its largest entry near 1:
  // the range of T is smaller than that of double. @return the exponents
  std::vector<int> convert(std::span<const double> block, std::int32_t columns) {
    std::vector<int> exponents(static_cast<std::size_t>(columns), 0);
    for (std::int32_t v = 0; v < columns; ++v) {
      const std::int64_t begin = std::int64_t{v} * size_;
      double largest = 0;
      for (std::int64_t k = begin; k < begin + size_; ++k)
        largest = std::max(largest, std::abs(block[k]));
      if (largest > 0 && std::isfinite(largest)) std::frexp(largest, &exponents[v]);
      for (std::int64_t k = begin; k < begin + size_; ++k)
        first_[k] = static_cast<T>(std::ldexp(block[k], -exponents[v]));
    }
    return exponents;
  }
  void convert_back(const T* x, std::span<const int> exponents,
                    std::span<double> block) const {
    for (std::size_t v = 0; v < exponents.size(); ++v)
      for (std::int64_t k = 0; k < size_; ++k, ++x)
        block[static_cast<std::int64_t>(v) * size_ + k] =
            std::ldexp(static_cast<double>(*x), exponents[v]);
  }

  Factor<T> factor_;
  std::int32_t size_ = 0;
  FactorKind kind_ = FactorKind::kCholesky;
  std::optional<TreeSolve<T>> solve_;
  std::vector<T> first_, second_;
};

}  // namespace

std::unique_ptr<Numeric> Numeric::create(Precision precision) {
  if (precision == Precision::kSingle) return std::make_unique<NumericOf<float>>();
  return std::make_unique<NumericOf<double>>();
}

}  // namespace espalier::solver
