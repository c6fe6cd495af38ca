#include "nlp.h"

namespace espalier::adapters {
namespace {

using X = const std::vector<Dual>&;
const double kRootTwo = std::sqrt(2.0);

Nlp problem(const char* name, std::vector<double> start, double optimum) {
  Nlp nlp;
  nlp.name = name;
  nlp.start = std::move(start);
  nlp.optimum = optimum;
  return nlp;
}

void positive(Nlp& nlp) {
  nlp.x_lower.assign(nlp.start.size(), 0);
  nlp.x_upper.assign(nlp.start.size(), kFree);
}

Dual squares(X x) {
  Dual sum = 0;
  for (const Dual& each : x) sum = sum + square(each);
  return sum;
}

Nlp hs6() {
  Nlp p = problem("HS6", {-1.2, 1}, 0);
  p.minimise([](X x) { return square(1 - x[0]); });
  p.constrain(0, 0, [](X x) { return 10 * (x[1] - square(x[0])); });
  return p;
}

Nlp hs7() {
  Nlp p = problem("HS7", {2, 2}, -std::sqrt(3.0));
  p.minimise([](X x) { return log(1 + square(x[0])) - x[1]; });
  p.constrain(4, 4, [](X x) { return square(1 + square(x[0])) + square(x[1]); });
  return p;
}

Nlp hs28() {
  Nlp p = problem("HS28", {-4, 1, 1}, 0);
  p.minimise([](X x) { return square(x[0] + x[1]) + square(x[1] + x[2]); });
  p.constrain(1, 1, [](X x) { return x[0] + 2 * x[1] + 3 * x[2]; });
  return p;
}

Nlp hs27() {
  Nlp p = problem("HS27", {2, 2, 2}, 0.04);
  p.minimise([](X x) { return 0.01 * square(x[0] - 1) + square(x[1] - square(x[0])); });
  p.constrain(-1, -1, [](X x) { return x[0] + square(x[2]); });
  return p;
}

Nlp hs35() {
  Nlp p = problem("HS35", {0.5, 0.5, 0.5}, 1.0 / 9);
  positive(p);
  p.minimise([](X x) {
    return 9 - 8 * x[0] - 6 * x[1] - 4 * x[2] + 2 * square(x[0]) + 2 * square(x[1]) +
           square(x[2]) + 2 * x[0] * x[1] + 2 * x[0] * x[2];
  });
  p.constrain(-kFree, 3, [](X x) { return x[0] + x[1] + 2 * x[2]; });
  return p;
}

Nlp hs39() {
  Nlp p = problem("HS39", {2, 2, 2, 2}, -1);
  p.minimise([](X x) { return -1 * x[0]; });
  p.constrain(0, 0, [](X x) { return x[1] - power(x[0], 3) - square(x[2]); });
  p.constrain(0, 0, [](X x) { return square(x[0]) - x[1] - square(x[3]); });
  return p;
}

Nlp hs40() {
  Nlp p = problem("HS40", {0.8, 0.8, 0.8, 0.8}, -0.25);
  p.minimise([](X x) { return -1 * x[0] * x[1] * x[2] * x[3]; });
  p.constrain(1, 1, [](X x) { return power(x[0], 3) + square(x[1]); });
  p.constrain(0, 0, [](X x) { return square(x[0]) * x[3] - x[2]; });
  p.constrain(0, 0, [](X x) { return square(x[3]) - x[1]; });
  return p;
}

Nlp hs42() {
  Nlp p = problem("HS42", {1, 1, 1, 1}, 28 - 10 * kRootTwo);
  p.minimise([](X x) {
    return square(x[0] - 1) + square(x[1] - 2) + square(x[2] - 3) + square(x[3] - 4);
  });
  p.constrain(2, 2, [](X x) { return x[0]; });
  p.constrain(2, 2, [](X x) { return square(x[2]) + square(x[3]); });
  return p;
}

Nlp hs43() {
  Nlp p = problem("HS43", {0, 0, 0, 0}, -44);
  p.minimise([](X x) {
    return square(x[0]) + square(x[1]) + 2 * square(x[2]) + square(x[3]) - 5 * x[0] -
           5 * x[1] - 21 * x[2] + 7 * x[3];
  });
  p.constrain(-kFree, 8, [](X x) { return squares(x) + x[0] - x[1] + x[2] - x[3]; });
  p.constrain(-kFree, 10,
              [](X x) { return squares(x) + square(x[1]) + square(x[3]) - x[0] - x[3]; });
  p.constrain(-kFree, 5, [](X x) {
    return 2 * square(x[0]) + square(x[1]) + square(x[2]) + 2 * x[0] - x[1] - x[3];
  });
  return p;
}

Nlp hs48() {
  Nlp p = problem("HS48", {3, 5, -3, 2, -2}, 0);
  p.minimise(
      [](X x) { return square(x[0] - 1) + square(x[1] - x[2]) + square(x[3] - x[4]); });
  p.constrain(5, 5, [](X x) { return x[0] + x[1] + x[2] + x[3] + x[4]; });
  p.constrain(-3, -3, [](X x) { return x[2] - 2 * (x[3] + x[4]); });
  return p;
}

Nlp hs51() {
  Nlp p = problem("HS51", {2.5, 0.5, 2, -1, 0.5}, 0);
  p.minimise([](X x) {
    return square(x[0] - x[1]) + square(x[1] + x[2] - 2) + square(x[3] - 1) +
           square(x[4] - 1);
  });
  p.constrain(4, 4, [](X x) { return x[0] + 3 * x[1]; });
  p.constrain(0, 0, [](X x) { return x[2] + x[3] - 2 * x[4]; });
  p.constrain(0, 0, [](X x) { return x[1] - x[4]; });
  return p;
}

Nlp hs63() {
  Nlp p = problem("HS63", {2, 2, 2}, 961.7151721);
  positive(p);
  p.minimise([](X x) {
    return 1000 - square(x[0]) - 2 * square(x[1]) - square(x[2]) - x[0] * x[1] -
           x[0] * x[2];
  });
  p.constrain(56, 56, [](X x) { return 8 * x[0] + 14 * x[1] + 7 * x[2]; });
  p.constrain(25, 25, squares);
  return p;
}

Nlp hs65() {
  Nlp p = problem("HS65", {-5, 5, 0}, 0.9535288567);
  p.x_lower = {-4.5, -4.5, -5};
  p.x_upper = {4.5, 4.5, 5};
  p.minimise([](X x) {
    return square(x[0] - x[1]) + (1.0 / 9) * square(x[0] + x[1] - 10) + square(x[2] - 5);
  });
  p.constrain(-kFree, 48, squares);
  return p;
}

Nlp hs71() {
  Nlp p = problem("HS71", {1, 5, 5, 1}, 17.0140173);
  p.x_lower.assign(4, 1);
  p.x_upper.assign(4, 5);
  p.minimise([](X x) { return x[0] * x[3] * (x[0] + x[1] + x[2]) + x[2]; });
  p.constrain(25, kFree, [](X x) { return x[0] * x[1] * x[2] * x[3]; });
  p.constrain(40, 40, squares);
  return p;
}

Nlp hs76() {
  Nlp p = problem("HS76", {0.5, 0.5, 0.5, 0.5}, -4.681818182);
  positive(p);
  p.minimise([](X x) {
    return square(x[0]) + 0.5 * square(x[1]) + square(x[2]) + 0.5 * square(x[3]) -
           x[0] * x[2] + x[2] * x[3] - x[0] - 3 * x[1] + x[2] - x[3];
  });
  p.constrain(-kFree, 5, [](X x) { return x[0] + 2 * x[1] + x[2] + x[3]; });
  p.constrain(-kFree, 4, [](X x) { return 3 * x[0] + x[1] + 2 * x[2] - x[3]; });
  p.constrain(1.5, kFree, [](X x) { return x[1] + 4 * x[2]; });
  return p;
}

Nlp hs77() {
  Nlp p = problem("HS77", {2, 2, 2, 2, 2}, 0.2415051288);
  p.minimise([](X x) {
    return square(x[0] - 1) + square(x[0] - x[1]) + square(x[2] - 1) +
           power(x[3] - 1, 4) + power(x[4] - 1, 6);
  });
  p.constrain(2 * kRootTwo, 2 * kRootTwo,
              [](X x) { return square(x[0]) * x[3] + sin(x[3] - x[4]); });
  p.constrain(8 + kRootTwo, 8 + kRootTwo,
              [](X x) { return x[1] + power(x[2], 4) * square(x[3]); });
  return p;
}

void add_constraints_of_78(Nlp& p) {
  p.constrain(10, 10, squares);
  p.constrain(0, 0, [](X x) { return x[1] * x[2] - 5 * x[3] * x[4]; });
  p.constrain(-1, -1, [](X x) { return power(x[0], 3) + power(x[1], 3); });
}

Nlp hs78() {
  Nlp p = problem("HS78", {-2, 1.5, 2, -1, -1}, -2.919700409);
  p.minimise([](X x) { return x[0] * x[1] * x[2] * x[3] * x[4]; });
  add_constraints_of_78(p);
  return p;
}

Nlp hs80() {
  Nlp p = problem("HS80", {-2, 2, 2, -1, -1}, 0.0539498478);
  p.x_lower = {-2.3, -2.3, -3.2, -3.2, -3.2};
  p.x_upper = {2.3, 2.3, 3.2, 3.2, 3.2};
  p.minimise([](X x) { return exp(x[0] * x[1] * x[2] * x[3] * x[4]); });
  add_constraints_of_78(p);
  return p;
}

Nlp hs81() {
  Nlp p = hs80();
  p.name = "HS81";
  p.terms.front().function = [](X x) {
    return exp(x[0] * x[1] * x[2] * x[3] * x[4]) -
           0.5 * square(power(x[0], 3) + power(x[1], 3) + 1);
  };
  return p;
}

Nlp hs79() {
  Nlp p = problem("HS79", {2, 2, 2, 2, 2}, 0.0787768209);
  p.minimise([](X x) {
    return square(x[0] - 1) + square(x[0] - x[1]) + square(x[1] - x[2]) +
           power(x[2] - x[3], 4) + power(x[3] - x[4], 4);
  });
  p.constrain(2 + 3 * kRootTwo, 2 + 3 * kRootTwo,
              [](X x) { return x[0] + square(x[1]) + power(x[2], 3); });
  p.constrain(-2 + 2 * kRootTwo, -2 + 2 * kRootTwo,
              [](X x) { return x[1] - square(x[2]) + x[3]; });
  p.constrain(2, 2, [](X x) { return x[0] * x[4]; });
  return p;
}

Nlp hs100() {
  Nlp p = problem("HS100", {1, 2, 0, 4, 0, 1, 1}, 680.6300573);
  p.minimise([](X x) {
    return square(x[0] - 10) + 5 * square(x[1] - 12) + power(x[2], 4) +
           3 * square(x[3] - 11) + 10 * power(x[4], 6) + 7 * square(x[5]) +
           power(x[6], 4) - 4 * x[5] * x[6] - 10 * x[5] - 8 * x[6];
  });
  p.constrain(-kFree, 127, [](X x) {
    return 2 * square(x[0]) + 3 * power(x[1], 4) + x[2] + 4 * square(x[3]) + 5 * x[4];
  });
  p.constrain(-kFree, 282,
              [](X x) { return 7 * x[0] + 3 * x[1] + 10 * square(x[2]) + x[3] - x[4]; });
  p.constrain(-kFree, 196,
              [](X x) { return 23 * x[0] + square(x[1]) + 6 * square(x[5]) - 8 * x[6]; });
  p.constrain(-kFree, 0, [](X x) {
    return 4 * square(x[0]) + square(x[1]) - 3 * x[0] * x[1] + 2 * square(x[2]) +
           5 * x[5] - 11 * x[6];
  });
  return p;
}

}  // namespace

std::vector<Nlp> hock_schittkowski() {
  return {hs6(),  hs7(),  hs27(), hs28(), hs35(), hs39(), hs40(),
          hs42(), hs43(), hs48(), hs51(), hs63(), hs65(), hs71(),
          hs76(), hs77(), hs78(), hs79(), hs80(), hs81(), hs100()};
}

}  // namespace espalier::adapters
