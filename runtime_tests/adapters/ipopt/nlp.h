#pragma once

// Nonlinear programs as sums of small functions, with exact first and second derivatives.

#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace espalier::adapters {

/// A number with its derivatives in two directions and the mixed second one.
struct Dual {
  double v = 0, a = 0, b = 0, ab = 0;
  Dual() = default;
  Dual(double value) : v(value) {}  // NOLINT: a constant
  Dual(double value, double first, double second, double mixed)
      : v(value), a(first), b(second), ab(mixed) {}
};

/// f(x) of known f, f' and f'' at x.v.
inline Dual chain(const Dual& x, double f, double first, double second) {
  return {f, first * x.a, first * x.b, first * x.ab + second * x.a * x.b};
}
inline Dual operator+(const Dual& x, const Dual& y) {
  return {x.v + y.v, x.a + y.a, x.b + y.b, x.ab + y.ab};
}
inline Dual operator-(const Dual& x, const Dual& y) {
  return {x.v - y.v, x.a - y.a, x.b - y.b, x.ab - y.ab};
}
inline Dual operator*(const Dual& x, const Dual& y) {
  return {x.v * y.v, x.a * y.v + x.v * y.a, x.b * y.v + x.v * y.b,
          x.ab * y.v + x.a * y.b + x.b * y.a + x.v * y.ab};
}
inline Dual power(const Dual& x, int n) {
  return chain(x, std::pow(x.v, n), n * std::pow(x.v, n - 1),
               n * (n - 1) * std::pow(x.v, n - 2));
}
inline Dual square(const Dual& x) { return x * x; }
inline Dual exp(const Dual& x) {
  return chain(x, std::exp(x.v), std::exp(x.v), std::exp(x.v));
}
inline Dual log(const Dual& x) {
  return chain(x, std::log(x.v), 1 / x.v, -1 / (x.v * x.v));
}
inline Dual sin(const Dual& x) {
  return chain(x, std::sin(x.v), std::cos(x.v), -std::sin(x.v));
}

/// A term of the objective (row -1) or of a constraint.
struct Term {
  int row = -1;
  std::vector<int> variables;
  std::function<Dual(const std::vector<Dual>&)> function;
};

constexpr double kFree = std::numeric_limits<double>::infinity();

/// min f(x), lower <= g(x) <= upper, x inside its bounds.
struct Nlp {
  std::string name;
  std::vector<double> start;
  double optimum = 0;  ///< NaN: not known
  std::vector<Term> terms;
  std::vector<double> lower, upper;      ///< of constraints
  std::vector<double> x_lower, x_upper;  ///< empty: free

  /// A constraint of all variables.
  void constrain(double from, double to,
                 std::function<Dual(const std::vector<Dual>&)> function) {
    add(static_cast<int>(lower.size()), std::move(function));
    lower.push_back(from);
    upper.push_back(to);
  }
  void minimise(std::function<Dual(const std::vector<Dual>&)> function) {
    add(-1, std::move(function));
  }
  void add(int row, std::function<Dual(const std::vector<Dual>&)> function) {
    std::vector<int> all(start.size());
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = static_cast<int>(k);
    terms.push_back({row, std::move(all), std::move(function)});
  }
};

/// Problems of the collection of Hock and Schittkowski, by their numbers there.
[[nodiscard]] std::vector<Nlp> hock_schittkowski();
/// The chained Rosenbrock function with trigonometric-exponential constraints, n
/// variables [Luksan and Vlcek, problem 5.1].
[[nodiscard]] Nlp chained_rosenbrock(int n);
/// A semilinear elliptic equation on n x n points with a control at each, inside bounds.
[[nodiscard]] Nlp elliptic_control(int n);
/// The same on n x n x n points.
[[nodiscard]] Nlp elliptic_control_3d(int n);
/// The least surface over n x n points that is fixed at the border and above a
/// paraboloid.
[[nodiscard]] Nlp minimal_surface(int n);

/// What a run of Ipopt came to.
struct IpoptRun {
  int status = 0;  ///< Ipopt's ApplicationReturnStatus
  int iterations = 0;
  double objective = 0, seconds = 0, processor_seconds = 0;
};
/// @param linear_solver  "ma97", "ma57", "mumps"; empty: what ipopt.opt says
[[nodiscard]] IpoptRun run_ipopt(const Nlp& nlp, const std::string& linear_solver);

}  // namespace espalier::adapters
