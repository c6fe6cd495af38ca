#include "solver/save/save_factor.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "solver/save/saved_system.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr FactorKind kKinds[] = {FactorKind::kCholesky, FactorKind::kLdlt,
                                 FactorKind::kLu};

template <class T>
class SaveFactor : public testing::Test {};
using Precisions = testing::Types<float, double>;
TYPED_TEST_SUITE(SaveFactor, Precisions);

TYPED_TEST(SaveFactor, LoadedFactorsSolveToTheSameBits) {
  using T = TypeParam;
  std::mt19937 random(71);
  const TemporaryFile file;
  std::int64_t delayed = 0;
  for (int round = 0; round < 240; ++round) {
    const FactorKind kind = kKinds[round % 3];
    const FactoredSystem<T> saved(random, round < 9 ? round / 3 : draw(random, 1, 90),
                                  kind);
    delayed += saved.report.pivots.delayed;
    saved.save(file.path());
    const LoadedFactor<T> loaded(file.path());
    ASSERT_EQ(loaded.system.facts.kind, kind);
    for (const bool transposed : {false, true})
      ASSERT_EQ(solution(loaded.system.analysis.symbolic, loaded.tree, loaded.factor,
                         transposed),
                solution(saved.analysis.symbolic, saved.tree, saved.factor, transposed))
          << "round " << round << ", order " << saved.analysis.symbolic.size;
  }
  EXPECT_GT(delayed, 100);  // columns that went through the file with their delays
}

TYPED_TEST(SaveFactor, SavesAgainTheSameBytes) {
  using T = TypeParam;
  std::mt19937 random(72);
  const TemporaryFile first, second;
  for (int round = 0; round < 30; ++round) {
    FactoredSystem<T> saved(random, draw(random, 0, 60), kKinds[round % 3]);
    saved.save(first.path());
    LoadedFactor<T> loaded(first.path());
    saved.facts = loaded.system.facts;
    saved.prepared = loaded.system.prepared;
    saved.analysis = loaded.system.analysis;
    saved.tree = loaded.tree;
    saved.factor = std::move(loaded.factor);
    saved.save(second.path());
    ASSERT_EQ(first.bytes(), second.bytes()) << "round " << round;
  }
}

// Every byte of the file is under a checksum.
TEST(SavedFile, RefusesEveryByteThatChanges) {
  std::mt19937 random(73);
  const TemporaryFile file;
  for (const FactorKind kind : kKinds) {
    const FactoredSystem<double> saved(random, 12, kind);
    saved.save(file.path());
    const std::string good = file.bytes();
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
      write_bytes(file.path(), bad);
      try {
        const LoadedFactor<double> loaded(file.path());
        FAIL() << "byte " << at << " of " << good.size();
      } catch (const FileError& error) {
        ASSERT_EQ(std::string(error.what()).find(file.path() + ": "), 0U) << error.what();
      }
    }
  }
}

TEST(SavedFile, RefusesEveryLengthButItsOwn) {
  std::mt19937 random(74);
  const TemporaryFile file;
  const FactoredSystem<double> saved(random, 12, FactorKind::kLu);
  saved.save(file.path());
  const std::string good = file.bytes();
  for (std::size_t length = 0; length < good.size() + 3; ++length) {
    if (length == good.size()) continue;
    write_bytes(file.path(), (good + "abc").substr(0, length));
    ASSERT_THROW(LoadedFactor<double>(file.path()), FileError) << length;
  }
}

// As copies that were taken up again leave them: all sections are whole, but not of one
// save.
TEST(SavedFile, RefusesTheBeginningOfOneSaveWithTheEndOfAnother) {
  const TemporaryFile file;
  std::string saves[2];
  for (const int other : {0, 1}) {
    std::mt19937 random(77);
    FactoredSystem<double> saved(random, 30, FactorKind::kLdlt);
    saved.facts.largest_entry = 1 + other;
    saved.factor.d[0] = 1 + other;
    saved.save(file.path());
    saves[other] = file.bytes();
  }
  ASSERT_EQ(saves[0].size(), saves[1].size());
  int refused = 0;
  for (std::size_t at = 1; at < saves[0].size(); ++at) {
    const std::string mixed = saves[0].substr(0, at) + saves[1].substr(at);
    if (mixed == saves[0] || mixed == saves[1]) continue;
    write_bytes(file.path(), mixed);
    ASSERT_THROW(LoadedFactor<double>(file.path()), FileError) << at;
    ++refused;
  }
  EXPECT_GT(refused, 1000);
}

// With right checksums the contents still are no factor, or a factor of something else:
// nothing is read or written out of range (run it under the address sanitizer).
TEST(SavedFile, SurvivesAnyContents) {
  std::mt19937 random(75);
  const TemporaryFile file;
  std::string good;
  int refused = 0, accepted = 0;
  for (int round = 0; round < 4000; ++round) {
    if (round % 40 == 0) {
      FactoredSystem<float>(random, 25, kKinds[round / 40 % 3]).save(file.path());
      good = file.bytes();
    }
    std::string bytes = good;
    for (int change = draw(random, 1, 3); change > 0; --change)
      bytes[static_cast<std::size_t>(
          draw(random, 0, static_cast<int>(bytes.size()) - 1))] =
          static_cast<char>(draw(random, 0, 3) == 0 ? draw(random, -128, 127)
                                                    : draw(random, -2, 2));
    repair_checksums(bytes);
    write_bytes(file.path(), bytes);
    try {
      const LoadedFactor<float> loaded(file.path());
      for (const bool transposed : {false, true})
        (void)solution(loaded.system.analysis.symbolic, loaded.tree, loaded.factor,
                       transposed);
      ++accepted;
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 400);
  EXPECT_GT(accepted, 400);
}

TEST(SavedFile, SaysWhatItIsNot) {
  const TemporaryFile file;
  const auto why = [&](std::string_view bytes) -> std::string {
    write_bytes(file.path(), bytes);
    try {
      SectionReader reader(file.path());
    } catch (const FileError& error) {
      return error.what();
    }
    return "";
  };
  const std::string foreign = file.path() + ": is not a factorisation saved by Espalier";
  EXPECT_EQ(why(""), foreign);
  EXPECT_EQ(why("%%MatrixMarket matrix coordinate real general\n1 1 1\n"), foreign);
  SectionFormat::Header header{
      SectionFormat::kMagic, SectionFormat::kByteOrder, 12, 32, 0, 0};
  const auto text = [&] {
    std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
    repair_checksums(bytes);
    return bytes;
  };
  EXPECT_EQ(why(text()), file.path() + ": has format 12; this version reads format 11");
  header.byte_order = 0x04030201;
  EXPECT_EQ(why(text()),
            file.path() + ": was written on a machine with the other order of bytes");
  EXPECT_THROW(SectionReader(file.path() + ".none"), FileError);
  EXPECT_THROW(SectionReader(testing::TempDir()), FileError);
}

TEST(SavedFile, KeepsTheOldFileWhenTheNewOneCannotBeWritten) {
  std::mt19937 random(76);
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      ("espalier_save_" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const std::string path = folder / "factor";
  write_bytes(path, "old");
  const FactoredSystem<double> saved(random, 50, FactorKind::kLdlt);
  {
    const FileSizeLimit limit(1000);
    EXPECT_THROW(saved.save(path), FileError);
  }
  {
    SectionWriter file(path);  // not committed
    file.put("name", std::vector<double>(10));
  }
  std::string bytes;
  std::ifstream(path) >> bytes;
  EXPECT_EQ(bytes, "old");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  saved.save(path);
  EXPECT_EQ(LoadedFactor<double>(path).system.analysis.symbolic.size, 50);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  std::filesystem::remove_all(folder);
  EXPECT_THROW(saved.save(path), FileError);  // the folder is gone
  EXPECT_THROW(saved.save("/dev/null"), FileError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
