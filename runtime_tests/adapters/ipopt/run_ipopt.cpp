#include <IpIpoptApplication.hpp>
#include <IpSolveStatistics.hpp>
#include <IpTNLP.hpp>
#include <algorithm>
#include <chrono>
#include <ctime>

#include "nlp.h"

namespace espalier::adapters {
namespace {

using Ipopt::Index;
using Ipopt::Number;

/// An Nlp as Ipopt wants it. Entries of one place are given once for each term: Ipopt
/// adds them.
class Adapter : public Ipopt::TNLP {
 public:
  explicit Adapter(const Nlp& nlp) : nlp_(nlp) {}
  [[nodiscard]] double objective() const { return objective_; }

  bool get_nlp_info(Index& n, Index& m, Index& jacobian, Index& hessian,
                    IndexStyleEnum& style) override {
    n = static_cast<Index>(nlp_.start.size());
    m = static_cast<Index>(nlp_.lower.size());
    jacobian = hessian = 0;
    for (const Term& term : nlp_.terms) {
      const auto size = static_cast<Index>(term.variables.size());
      if (term.row >= 0) jacobian += size;
      hessian += size * (size + 1) / 2;
    }
    style = C_STYLE;
    return true;
  }

  bool get_bounds_info(Index n, Number* x_l, Number* x_u, Index, Number* g_l,
                       Number* g_u) override {
    std::fill_n(x_l, n, -2e19);
    std::fill_n(x_u, n, 2e19);
    const auto finite = [](double bound) { return std::clamp(bound, -2e19, 2e19); };
    std::ranges::transform(nlp_.x_lower, x_l, finite);
    std::ranges::transform(nlp_.x_upper, x_u, finite);
    std::ranges::transform(nlp_.lower, g_l, finite);
    std::ranges::transform(nlp_.upper, g_u, finite);
    return true;
  }

  bool get_starting_point(Index, bool, Number* x, bool, Number*, Number*, Index, bool,
                          Number*) override {
    std::ranges::copy(nlp_.start, x);
    return true;
  }

  bool eval_f(Index, const Number* x, bool, Number& value) override {
    value = 0;
    for (const Term& term : nlp_.terms)
      if (term.row < 0) value += at(term, x).v;
    return true;
  }

  bool eval_grad_f(Index n, const Number* x, bool, Number* gradient) override {
    std::fill_n(gradient, n, 0);
    for (const Term& term : nlp_.terms)
      for (int k = 0; term.row < 0 && k < std::ssize(term.variables); ++k)
        gradient[term.variables[k]] += at(term, x, k).a;
    return true;
  }

  bool eval_g(Index, const Number* x, bool, Index m, Number* values) override {
    std::fill_n(values, m, 0);
    for (const Term& term : nlp_.terms)
      if (term.row >= 0) values[term.row] += at(term, x).v;
    return true;
  }

  bool eval_jac_g(Index, const Number* x, bool, Index, Index, Index* rows, Index* columns,
                  Number* values) override {
    Index entry = 0;
    for (const Term& term : nlp_.terms)
      for (int k = 0; term.row >= 0 && k < std::ssize(term.variables); ++k, ++entry) {
        if (values != nullptr) {
          values[entry] = at(term, x, k).a;
        } else {
          rows[entry] = term.row;
          columns[entry] = term.variables[k];
        }
      }
    return true;
  }

  bool eval_h(Index, const Number* x, bool, Number factor, Index, const Number* lambda,
              bool, Index, Index* rows, Index* columns, Number* values) override {
    Index entry = 0;
    for (const Term& term : nlp_.terms)
      for (int k = 0; k < std::ssize(term.variables); ++k)
        for (int l = 0; l <= k; ++l, ++entry) {
          if (values != nullptr) {
            values[entry] =
                (term.row < 0 ? factor : lambda[term.row]) * at(term, x, k, l).ab;
          } else {
            rows[entry] = std::max(term.variables[k], term.variables[l]);
            columns[entry] = std::min(term.variables[k], term.variables[l]);
          }
        }
    return true;
  }

  void finalize_solution(Ipopt::SolverReturn, Index, const Number*, const Number*,
                         const Number*, Index, const Number*, const Number*, Number value,
                         const Ipopt::IpoptData*,
                         Ipopt::IpoptCalculatedQuantities*) override {
    objective_ = value;
  }

 private:
  // With the derivatives by variables k and l of the term.
  Dual at(const Term& term, const Number* x, int k = -1, int l = -1) {
    local_.assign(term.variables.size(), Dual());
    for (std::size_t i = 0; i < local_.size(); ++i) local_[i].v = x[term.variables[i]];
    if (k >= 0) local_[k].a = 1;
    if (l >= 0) local_[l].b = 1;
    return term.function(local_);
  }

  const Nlp& nlp_;
  std::vector<Dual> local_;
  double objective_ = 0;
};

}  // namespace

IpoptRun run_ipopt(const Nlp& nlp, const std::string& linear_solver) {
  const auto application = Ipopt::SmartPtr(new Ipopt::IpoptApplication());
  const auto options = application->Options();
  if (!linear_solver.empty()) options->SetStringValue("linear_solver", linear_solver);
  options->SetStringValue("sb", "yes");
  options->SetIntegerValue("print_level", 0);
  IpoptRun run;
  run.status = application->Initialize(linear_solver.empty() ? "ipopt.opt" : "");
  if (run.status != 0) return run;
  auto* const adapter = new Adapter(nlp);
  const Ipopt::SmartPtr<Ipopt::TNLP> shared = adapter;
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t worked = std::clock();
  run.status = application->OptimizeTNLP(shared);
  run.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  run.processor_seconds = double(std::clock() - worked) / CLOCKS_PER_SEC;
  run.objective = adapter->objective();
  if (const auto statistics = application->Statistics(); IsValid(statistics))
    run.iterations = statistics->IterationCount();
  return run;
}

}  // namespace espalier::adapters
