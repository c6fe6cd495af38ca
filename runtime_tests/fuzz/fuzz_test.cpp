// Every reader, on seeds and on a fixed number of seeded mutations of them. What
// libFuzzer found once is among the tests of the reader.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <exception>
#include <random>

#include "espalier/model/error.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/mutate.h"

namespace espalier::fuzz {
namespace TEST_SOURCE {

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const bool plain = c >= ' ' && c <= '~' && c != '\\';
    text += plain ? std::string(1, c)
                  : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

int setting(const char* name, int otherwise) {
  const char* const given = std::getenv(name);
  return given != nullptr ? std::atoi(given) : otherwise;
}

class EveryReader : public testing::TestWithParam<Target (*)()> {};

TEST_P(EveryReader, TakesItsSeeds) {
  const Target target = GetParam()();
  for (const std::string& seed : target.seeds())
    EXPECT_NO_THROW(target.run(seed)) << target.name << ": " << escaped(seed);
}

TEST_P(EveryReader, EndsInAResultOrAnErrorWhateverTheFile) {
  const Target target = GetParam()();
  const std::vector<std::string> seeds = target.seeds();
  const std::vector<std::string_view> words = target.words();
  // ESPALIER_FUZZ_MUTATIONS, ESPALIER_FUZZ_SEED: more and other ones, under the
  // sanitizers.
  std::mt19937 random(static_cast<unsigned>(setting("ESPALIER_FUZZ_SEED", 53)));
  const int mutations = setting("ESPALIER_FUZZ_MUTATIONS", target.mutations);
  int results = 0;
  for (int i = 0; i < mutations; ++i) {
    const std::string file = mutate(seeds[random() % seeds.size()],
                                    seeds[random() % seeds.size()], words, random);
    try {
      target.run(file);
      ++results;
    } catch (const Error&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << target.name << ": " << error.what() << ": " << escaped(file);
    }
  }
  // Neither answer is rare: the mutations do reach what comes after the first check.
  EXPECT_GT(results, mutations / 200) << target.name;
  EXPECT_LT(results, mutations) << target.name;
}

INSTANTIATE_TEST_SUITE_P(Fuzz, EveryReader, testing::ValuesIn(all_targets()),
                         [](const auto& each) { return std::string(each.param().name); });

}  // namespace TEST_SOURCE
}  // namespace espalier::fuzz
