#include "session.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace espalier::adapters {
namespace {

// More delayed pivots than with the first values by this part of the order: scaling and
// matching are no longer those of this matrix.
constexpr double kWornPart = 0.05;

void copy_indices(const void*& indices, std::int64_t count,
                  std::vector<std::int32_t>& to) {
  if (indices == nullptr) return;
  const auto* const from = static_cast<const std::int32_t*>(indices);
  to.assign(from, from + count);
  indices = to.data();
}

}  // namespace

Session::Session(const char* adapter, const espalier_solver_input& input,
                 const espalier_solver_options& options)
    : adapter_(adapter), input_(input), options_(options) {
  copy_indices(input_.starts, input_.order + 1, starts_);
  entries_ = starts_.empty() ? input_.entries : starts_.back() - input_.index_base;
  copy_indices(input_.rows, entries_, rows_);
  copy_indices(input_.columns, entries_, columns_);
  if (options_.order != nullptr) {
    elimination_.assign(options_.order, options_.order + input_.order);
    options_.order = elimination_.data();
  }
  if (options_.schur != nullptr) {
    schur_.assign(options_.schur, options_.schur + options_.schur_count);
    options_.schur = schur_.data();
  }
}

Session::~Session() {
  const char* const path = std::getenv("ESPALIER_SOLVER_REPORT");
  if (path == nullptr || factorisations_ == 0) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::fprintf(file,
               "{\"adapter\": \"%s\", \"order\": %lld, \"analyses\": %lld, "
               "\"factorisations\": %lld, \"solves\": %lld, "
               "\"peak_resident_bytes\": %lld}\n",
               adapter_.c_str(), static_cast<long long>(input_.order),
               static_cast<long long>(analyses_), static_cast<long long>(factorisations_),
               static_cast<long long>(solves_),
               static_cast<long long>(statistics().peak_resident));
  std::fclose(file);
}

void Session::set_pivot_threshold(double threshold) {
  if (threshold == options_.pivot_threshold) return;
  options_.pivot_threshold = threshold;
  solver_.reset();
}

void Session::set_bound(const std::string& text) {
  if (text == bound_) return;
  bound_ = text;
  solver_.reset();
}

void Session::read_order(std::vector<std::int32_t>& place) const {
  std::vector<std::int32_t> order(static_cast<std::size_t>(input_.order));
  place.clear();
  if (!solver_ || espalier_solver_read_order(solver_.get(), order.data()) != 0) return;
  place.resize(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k) + 1;
}

int Session::factorise(const double* values) {
  ++factorisations_;
  if (!solver_) return analyse(values);
  int status = espalier_solver_factorise_values(solver_.get(), values, entries_);
  if (status == 0 && is_worn()) status = analyse(values);
  return status;
}

int Session::analyse(const double* values) {
  solver_.reset();
  input_.values = values;
  espalier_solver* solver = nullptr;
  int status = espalier_solver_analyse(&solver, &input_, &options_);
  if (status != 0) return status;
  solver_.reset(solver);
  ++analyses_;
  status = plan();
  if (status == 0) status = espalier_solver_factorise(solver);
  if (status == 0) delayed_at_first_ = statistics().delayed_pivots;
  return status;
}

int Session::plan() const {
  const char* text = std::getenv("ESPALIER_SOLVER_MEMORY");
  if (text == nullptr) text = bound_.empty() ? "none" : bound_.c_str();
  std::int64_t bound = 0;
  const int status = espalier_solver_parse_memory(text, &bound);
  return status != 0 ? status : espalier_solver_plan(solver_.get(), bound);
}

bool Session::is_worn() const {
  const espalier_solver_statistics facts = statistics();
  return static_cast<double>(facts.delayed_pivots - delayed_at_first_) >
             kWornPart * static_cast<double>(input_.order) ||
         facts.perturbed_pivots > 0;
}

int Session::solve(bool transposed, std::int32_t nrhs, const double* b, std::int64_t ldb,
                   double* x, std::int64_t ldx) {
  ++solves_;
  return espalier_solver_solve_block(solver_.get(), transposed ? 1 : 0, nrhs, b, ldb, x,
                                     ldx);
}

espalier_solver_statistics Session::statistics() const {
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  if (solver_) (void)espalier_solver_read_statistics(solver_.get(), &facts);
  return facts;
}

}  // namespace espalier::adapters
