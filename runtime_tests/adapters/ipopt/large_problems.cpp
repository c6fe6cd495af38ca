// Problems of any size, whose optima are not known: MUMPS's are compared with.

#include "nlp.h"

namespace espalier::adapters {
namespace {

using X = const std::vector<Dual>&;

// Starts at zero, free.
Nlp problem(const char* name, int variables = 0) {
  Nlp nlp;
  nlp.name = name;
  nlp.start.assign(variables, 0);
  nlp.optimum = std::nan("");
  nlp.x_lower.assign(nlp.start.size(), -kFree);
  nlp.x_upper.assign(nlp.start.size(), kFree);
  return nlp;
}

Dual root(const Dual& x) {
  const double r = std::sqrt(x.v);
  return chain(x, r, 0.5 / r, -0.25 / (r * x.v));
}

}  // namespace

Nlp chained_rosenbrock(int n) {
  Nlp p = problem("chained Rosenbrock");
  for (int i = 0; i < n; ++i) p.start.push_back(i % 2 == 0 ? -1.2 : 1);
  for (int i = 0; i + 1 < n; ++i)
    p.terms.push_back({-1, {i, i + 1}, [](X x) {
                         return 100 * square(square(x[0]) - x[1]) + square(x[0] - 1);
                       }});
  for (int i = 0; i + 2 < n; ++i) {
    p.terms.push_back({i, {i, i + 1, i + 2}, [](X x) {
                         return 3 * power(x[1], 3) + 2 * x[2] - 5 +
                                sin(x[1] - x[2]) * sin(x[1] + x[2]) + 4 * x[1] -
                                x[0] * exp(x[0] - x[1]) - 3;
                       }});
    p.lower.push_back(0);
    p.upper.push_back(0);
  }
  return p;
}

Nlp elliptic_control(int n) {
  Nlp p = problem("elliptic control", 2 * n * n);
  const double h = 1.0 / (n + 1);
  p.x_lower.assign(p.start.size(), -kFree);
  p.x_upper.assign(p.start.size(), kFree);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const int at = j * n + i, control = n * n + at;
      p.x_lower[control] = -2;
      p.x_upper[control] = 6;
      const double wanted = 1 + 2 * (i * h * (1 - i * h) + j * h * (1 - j * h));
      p.terms.push_back(
          {-1, {at}, [=](X x) { return 0.5 * h * h * square(x[0] - wanted); }});
      p.terms.push_back(
          {-1, {control}, [=](X x) { return 0.005 * h * h * square(x[0]); }});
      p.terms.push_back({at, {at, control}, [=](X x) {
                           return 4 * x[0] + h * h * (power(x[0], 3) - x[0] - 20 * x[1]);
                         }});
      const auto near = [&](int other) {
        p.terms.push_back({at, {other}, [](X x) { return -1 * x[0]; }});
      };
      if (i > 0) near(at - 1);
      if (i + 1 < n) near(at + 1);
      if (j > 0) near(at - n);
      if (j + 1 < n) near(at + n);
      p.lower.push_back(0);
      p.upper.push_back(0);
    }
  return p;
}

// Unknowns: the states, then the controls.
Nlp elliptic_control_3d(int n) {
  const int states = n * n * n;
  Nlp p = problem("elliptic control, 3-D", 2 * states);
  const double h = 1.0 / (n + 1);
  const auto at = [n](int i, int j, int k) { return (k * n + j) * n + i; };
  for (int s = 0; s < states; ++s) {
    const int i = s % n, j = s / n % n, k = s / (n * n), control = states + s;
    p.x_lower[control] = 0;
    p.x_upper[control] = 8;
    const double wanted = std::sin(3 * (i + 1) * h) * (j + 1) * h * (1 - (k + 1) * h);
    p.terms.push_back({-1, {s}, [=](X x) { return 0.5 * square(x[0] - wanted); }});
    p.terms.push_back({-1, {control}, [](X x) { return 0.0005 * square(x[0]); }});
    p.terms.push_back({s, {s, control}, [=](X x) {
                         return 6 * x[0] + h * h * (power(x[0], 3) - 20 * x[1]);
                       }});
    for (const int by : {-1, 1}) {
      const auto near = [&](bool inside, int other) {
        if (inside) p.terms.push_back({s, {other}, [](X x) { return -1 * x[0]; }});
      };
      near(i + by >= 0 && i + by < n, at(i + by, j, k));
      near(j + by >= 0 && j + by < n, at(i, j + by, k));
      near(k + by >= 0 && k + by < n, at(i, j, k + by));
    }
    p.lower.push_back(0);
    p.upper.push_back(0);
  }
  return p;
}

Nlp minimal_surface(int n) {
  Nlp p = problem("minimal surface", n * n);
  const double h = 1.0 / (n - 1);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) {
      const double x = i * h - 0.5, y = j * h - 0.5;
      const bool border = i == 0 || j == 0 || i == n - 1 || j == n - 1;
      // The obstacle, a ball; at the border the surface is fixed.
      p.x_lower[j * n + i] = border ? 4 * x * y : 0.4 - 6 * (x * x + y * y);
      if (border) p.x_upper[j * n + i] = 4 * x * y;
      p.start[j * n + i] = 0.5;
    }
  for (int j = 0; j + 1 < n; ++j)
    for (int i = 0; i + 1 < n; ++i) {
      const int a = j * n + i;
      p.terms.push_back(
          {-1, {a, a + 1, a + n, a + n + 1}, [=](X x) {
             const double f = 0.5 / (h * h);
             return h * h * root(1 + f * (square(x[0] - x[3]) + square(x[1] - x[2])));
           }});
    }
  return p;
}

}  // namespace espalier::adapters
