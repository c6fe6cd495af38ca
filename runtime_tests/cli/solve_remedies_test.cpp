// The commands at the end of refusals of solve and adjoint.

#include <gtest/gtest.h>

#include "cli/arguments.h"
#include "cli/remedies.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

class SolveRemedies : public testing::TestWithParam<Refusal> {};
TEST_P(SolveRemedies, AreCommandsThatWork) { expect_remedy(GetParam()); }

const Refusal kSolve[] = {
    {"bound", {"solve", "--grid", "12x12", "--memory", "1MiB"}, 1},
    {"bound_out_of_core",
     {"solve", "--grid", "12x12x12", "--memory=1MiB", "--out-of-core", "{directory}"},
     1},
    {"bound_of_two_orders", {"solve", "--grid", "220x220", "--memory", "x0.9"}, 1},
    {"bound_of_two_orders_out_of_core",
     {"solve", "--grid", "220x220", "--memory", "9MiB", "--out-of-core", "{directory}"},
     1},
    {"bound_in_json", {"solve", "--grid", "12x12", "--memory", "x0.1", "--json"}, 1},
    {"not_definite", {"solve", "{indefinite}", "--kind", "spd"}, 1},
    {"no_source", {"solve"}},
    {"two_sources", {"solve", "{spd}", "--grid", "4x4"}},
    {"grid", {"solve", "--grid", "0x4"}},
    {"kind", {"solve", "{unsymmetric}", "--kind", "symmetric"}},
    {"out_of_core_without_bound", {"solve", "{spd}", "--out-of-core", "{directory}"}},
    {"out_of_core_nowhere",
     {"solve", "{spd}", "--out-of-core", "{new}", "--memory", "min"}},
    {"out_of_core_file",
     {"solve", "{spd}", "--out-of-core", "{tree}", "--memory", "min"}},
    {"reserve_without_bound", {"solve", "{spd}", "--delay-reserve", "1MiB"}},
    {"reserve_of_spd",
     {"solve", "{spd}", "--delay-reserve", "1MiB", "--memory", "min", "--kind", "spd"}},
    {"threshold_of_spd", {"solve", "{spd}", "--pivot-threshold", "0.1", "--kind", "spd"}},
    {"threshold", {"solve", "{spd}", "--pivot-threshold", "2"}},
    {"matching_of_spd", {"solve", "{spd}", "--scaling", "matching", "--kind", "spd"}},
    {"scheduler", {"solve", "{spd}", "--scheduler", "nobody"}},
    {"scheduler_with_bound", {"solve", "{spd}", "--scheduler", "lws", "--memory", "min"}},
    {"workers", {"solve", "{spd}", "--workers", "100000"}},
    {"grids_of_any_kind", {"solve", "{spd}", "--front-grids", "volume"}},
    {"low_rank_of_general", {"solve", "{unsymmetric}", "--low-rank", "1e-8"}},
    {"low_rank_of_indefinite", {"solve", "{indefinite}", "--low-rank", "1e-8"}},
    {"low_rank_of_complex",
     {"solve", "--grid", "4x4", "--shift", "-1,1", "--low-rank", "1e-8"}},
    {"low_rank_empty", {"solve", "{spd}", "--low-rank", ""}},
    {"factor_out_of_range", {"solve", "{spd}", "--memory", "x1e30"}},
    {"rhs_of_another_order", {"solve", "{spd}", "--rhs", "{three}"}},
    {"rhs_nowhere", {"solve", "{spd}", "--rhs", "/nowhere/b.mtx"}},
    {"rhs_of_a_complex_matrix",
     {"solve", "--grid", "4x4", "--shift", "1,2", "--rhs", "{three}"}},
    {"schur_of_no_variable", {"solve", "{spd}", "--schur", "{seven}", "--out", "{new}"}},
    {"schur_of_a_complex_matrix",
     {"solve", "--grid", "2x2", "--shift", "1,2", "--schur", "{seven}", "--out",
      "{new}"}},
    {"two_matrices", {"solve", "{spd}", "{unsymmetric}"}},
    {"low_rank_out_of_range", {"solve", "{spd}", "--low-rank", "2"}},
    {"out", {"solve", "{spd}", "--out", "/nowhere/x.mtx"}},
    {"save_is_out", {"solve", "{spd}", "--out", "{new}", "--save", "{new}"}},
    {"save_is_a_directory", {"solve", "{spd}", "--save", "{directory}"}},
    {"ordering", {"solve", "{spd}", "--ordering", "metsi"}},
    {"schur_without_out", {"solve", "{spd}", "--schur", "{new}"}},
    {"null_space_nowhere", {"solve", "{spd}", "--null-space", "/nowhere/x.mtx"}},
};
INSTANTIATE_TEST_SUITE_P(OfSolve, SolveRemedies, testing::ValuesIn(kSolve),
                         [](const auto& each) { return each.param.name; });

Arguments shallow_water(const Arguments& wrong) {
  return with({"adjoint", "shallow-water", "--grid", "16x16", "--steps", "9"}, wrong);
}

const Refusal kAdjoint[] = {
    {"bound", shallow_water({"--memory", "1MiB"}), 1},
    {"steps", {"adjoint", "shallow-water", "--grid", "16x16", "--steps", "0"}},
    {"slots", shallow_water({"--slots", "0"})},
    {"disk_slots", shallow_water({"--disk-slots", "3"})},
    {"remote_slots", shallow_water({"--remote-slots", "3"})},
    {"bands", shallow_water({"--bands", "-1"})},
    {"grid", {"adjoint", "ice-sheet", "--grid", "2x2", "--steps", "3"}},
    {"misspelt_model", {"adjoint", "ice-sheat", "--steps", "3"}},
    {"no_model", {"adjoint"}},
    {"factor_out_of_range", shallow_water({"--memory", "x1e30"})},
};
INSTANTIATE_TEST_SUITE_P(OfAdjoint, SolveRemedies, testing::ValuesIn(kAdjoint),
                         [](const auto& each) { return each.param.name; });

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
