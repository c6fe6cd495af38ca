#pragma once

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

namespace espalier {

/// Something that is measured on instances of a shape.
template <class Shape>
struct BenchSubject {
  const char* name;
  void (*run)(benchmark::State&, const Shape&);
};

/// Registers every subject on every shape, from 10^4 to 10^6 tasks. @return true
template <class Shape, class Shapes>
bool bench_on_shapes(const std::vector<BenchSubject<Shape>>& subjects,
                     const Shapes& shapes) {
  for (const BenchSubject<Shape>& subject : subjects)
    for (const Shape& shape : shapes)
      benchmark::RegisterBenchmark((std::string(subject.name) + "/" + shape.name).c_str(),
                                   subject.run, shape)
          ->RangeMultiplier(10)
          ->Range(10'000, 1'000'000)
          ->Unit(benchmark::kMillisecond);
  return true;
}

}  // namespace espalier
