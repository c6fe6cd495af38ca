#pragma once

#include <CLI/CLI.hpp>

#include "cli/options.h"
#include "solver/ordering.h"

namespace espalier::cli {

/// --ordering: the fill-reducing orderings that this build has.
inline void add_ordering(CLI::App& app, solver::OrderingKind& ordering) {
  using solver::OrderingKind;
  std::vector<std::pair<std::string, OrderingKind>> choices;
  for (const OrderingKind kind :
       {OrderingKind::kMetis, OrderingKind::kScotch, OrderingKind::kAmd,
        OrderingKind::kNatural, OrderingKind::kAuto})
    if (solver::available(kind)) choices.emplace_back(solver::name(kind), kind);
  add_choice(app, "--ordering", ordering, std::move(choices), "Fill-reducing ordering");
}

}  // namespace espalier::cli
