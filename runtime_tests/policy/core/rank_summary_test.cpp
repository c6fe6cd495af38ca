#include "policy/core/rank_summary.h"

#include <gtest/gtest.h>

#include <vector>

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr Bytes kMiB = 1 << 20;

RankFigures ran(std::int64_t rank, Bytes booked, bool kept = true) {
  RankFigures figures;
  figures.rank = rank;
  figures.ran = 1;
  figures.kept = kept ? 1 : 0;
  figures.bound = 8 * kMiB;
  figures.booked_peak = booked;
  figures.allocated_peak = booked;
  figures.vm_hwm = 30 * kMiB - booked;
  figures.received_bytes = 5 * kMiB;
  return figures;
}

TEST(RankSummary, NamesTheLargestOfEach) {
  const std::vector<RankFigures> ranks = {ran(1, 6 * kMiB), ran(0, 2 * kMiB)};
  EXPECT_EQ(
      summary_text(ranks, 2),
      "espalier: the memory bound of 8.0 MiB a process was kept in all 2 processes\n"
      "    rank       booked    allocated        VmHWM     received\n"
      "       0      2.0 MiB      2.0 MiB     28.0 MiB      5.0 MiB\n"
      "       1      6.0 MiB      6.0 MiB     24.0 MiB      5.0 MiB\n"
      "    most       rank 1       rank 1       rank 0       rank 0\n");
}

TEST(RankSummary, SaysWhichBoundsWereNotKept) {
  const std::vector<RankFigures> ranks = {ran(0, kMiB), ran(1, 9 * kMiB, false),
                                          ran(2, 9 * kMiB, false)};
  EXPECT_TRUE(summary_text(ranks, 3).starts_with(
      "espalier: the memory bound of 8.0 MiB a process was NOT kept in rank 1 and 1 "
      "more\n"));
}

TEST(RankSummary, CountsProcessesThatAreMissingOrRanNothing) {
  RankFigures none;
  none.rank = 2;
  const std::vector<RankFigures> ranks = {ran(0, kMiB), none};
  const std::string text = summary_text(ranks, 4);
  EXPECT_NE(text.find("kept in those that reported of 4 processes\n"), std::string::npos)
      << text;
  EXPECT_NE(text.find("  3 of 4 processes reported nothing\n"), std::string::npos)
      << text;
  EXPECT_EQ(summary_text({}, 4), "espalier: no process of 4 ran it\n");
}

TEST(RankSummary, HasALineForSixteenAndCountsTheRest) {
  std::vector<RankFigures> ranks;
  for (int rank = 0; rank < 20; ++rank) ranks.push_back(ran(rank, rank * kMiB / 4));
  const std::string text = summary_text(ranks, 20);
  EXPECT_NE(text.find("  and 4 more\n"), std::string::npos) << text;
  EXPECT_NE(text.find("most      rank 19      rank 19       rank 0"), std::string::npos)
      << text;
}

TEST(RankSummary, TakesItsFiguresFromTheReport) {
  RunReport report;
  report.bound = 10;
  report.booked_peak = 7;
  report.allocated_peak = 12;
  report.received_bytes = 3;
  const RankFigures figures = figures_of(report, 5);
  EXPECT_EQ(figures.rank, 5);
  EXPECT_EQ(figures.kept, 0);
  EXPECT_EQ(figures.bound, 10);
  EXPECT_EQ(figures.booked_peak, 7);
  EXPECT_EQ(figures.allocated_peak, 12);
  EXPECT_EQ(figures.vm_hwm, RankFigures::kUnknown);
  EXPECT_EQ(figures.received_bytes, 3);
  report.bound.reset();
  EXPECT_EQ(figures_of(report, 5).bound, RankFigures::kUnknown);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
