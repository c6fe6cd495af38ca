// A matrix of one pattern through the C interface: one class, over 300 lines.

#include "session.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <stdexcept>

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

std::int64_t values_of_elements(const espalier_solver_input& input) {
  const bool packed = input.symmetry == ESPALIER_SOLVER_SYMMETRIC;
  const auto* const starts = static_cast<const std::int32_t*>(input.starts);
  std::int64_t values = 0;
  for (std::int64_t e = 0; e < input.entries; ++e) {
    const std::int64_t k = std::int64_t{starts[e + 1]} - starts[e];
    values += packed ? k * (k + 1) / 2 : k * k;
  }
  return values;
}

// As text of JSON: messages are one line.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char each : text) {
    if (each == '"' || each == '\\') result += '\\';
    result += each;
  }
  return result;
}

std::vector<std::int32_t> places_of(const std::vector<std::int32_t>& order) {
  std::vector<std::int32_t> place(order.size());
  for (std::size_t k = 0; k < order.size(); ++k)
    place[static_cast<std::size_t>(order[k])] = static_cast<std::int32_t>(k) + 1;
  return place;
}

// Of a variable of the environment; null: it is not set, or empty.
const char* setting(const char* name) {
  const char* const text = std::getenv(name);
  return text != nullptr && *text != '\0' ? text : nullptr;
}

std::int32_t workers_or(std::int32_t given) {
  const char* const text = setting("ESPALIER_SOLVER_WORKERS");
  if (text == nullptr) return given;
  std::int32_t workers = 0;
  const char* const end = text + std::strlen(text);
  const auto read = std::from_chars(text, end, workers);
  if (read.ec == std::errc() && read.ptr == end && workers >= 0) return workers;
  throw std::invalid_argument(std::string("ESPALIER_SOLVER_WORKERS is '") + text +
                              "': not a number of threads");
}

}  // namespace

bool all_finite(const double* numbers, std::int64_t count) {
  return std::all_of(numbers, numbers + count,
                     [](double each) { return std::isfinite(each); });
}

Session::Session(const char* adapter, const espalier_solver_input& input,
                 const espalier_solver_options& options)
    : adapter_(adapter), input_(input), options_(options) {
  options_.workers = workers_or(options_.workers);
  const bool of_elements = input.format == ESPALIER_SOLVER_ELEMENTS;
  copy_indices(input_.starts, (of_elements ? input_.entries : input_.order) + 1, starts_);
  entries_ = starts_.empty() ? input_.entries : starts_.back() - input_.index_base;
  copy_indices(input_.rows, entries_, rows_);
  if (of_elements) entries_ = values_of_elements(input_);
  copy_indices(input_.columns, entries_, columns_);
  if (options_.order != nullptr) {
    elimination_.assign(options_.order, options_.order + input_.order);
    options_.order = elimination_.data();
  }
  if (options_.schur != nullptr) {
    schur_.assign(options_.schur, options_.schur + options_.schur_count);
    options_.schur = schur_.data();
  }
  if (options_.out_of_core != nullptr) set_out_of_core(options_.out_of_core);
}

Session::~Session() {
  const char* const path = setting("ESPALIER_SOLVER_REPORT");
  if (path == nullptr || factorisations_ == 0) return;
  std::FILE* const file = std::fopen(path, "a");
  if (file == nullptr) return;
  std::string refused;
  if (!refusal_.empty()) refused = ", \"refused\": \"" + quoted(refusal_) + "\"";
  std::fprintf(file,
               "{\"adapter\": \"%s\", \"order\": %lld, \"analyses\": %lld, "
               "\"factorisations\": %lld, \"solves\": %lld, "
               "\"peak_resident_bytes\": %lld%s}\n",
               adapter_.c_str(), static_cast<long long>(input_.order),
               static_cast<long long>(analyses_), static_cast<long long>(factorisations_),
               static_cast<long long>(solves_),
               static_cast<long long>(statistics().peak_resident), refused.c_str());
  std::fclose(file);
}

void Session::set_pivot_threshold(double threshold) {
  if (threshold == options_.pivot_threshold) return;
  options_.pivot_threshold = threshold;
  solver_.reset();
}

void Session::set_out_of_core(const std::string& directory) {
  if (directory == out_of_core_) return;
  out_of_core_ = directory;
  options_.out_of_core = directory.empty() ? nullptr : out_of_core_.c_str();
  solver_.reset();
}

void Session::set_refinement(std::int32_t no_refinement, std::int32_t estimate_errors) {
  options_.no_refinement = no_refinement;
  options_.estimate_errors = estimate_errors;
  if (solver_)
    (void)espalier_solver_set_refinement(solver_.get(), no_refinement, estimate_errors);
}

void Session::set_bound(const std::string& text) {
  if (text == bound_) return;
  bound_ = text;
  solver_.reset();
}

// That of an analysis. @return as espalier_solver_analyse()
int Session::order_of(const espalier_solver_input& input,
                      const espalier_solver_options& options,
                      std::vector<std::int32_t>& order) {
  espalier_solver* made = nullptr;
  const int status = espalier_solver_analyse(&made, &input, &options);
  if (status != 0) return status;
  const Solver solver(made);
  order.resize(static_cast<std::size_t>(input.order));
  return espalier_solver_read_order(made, order.data());
}

void Session::read_order(std::vector<std::int32_t>& place) const {
  std::vector<std::int32_t> order(static_cast<std::size_t>(input_.order));
  place.clear();
  if (!solver_ || espalier_solver_read_order(solver_.get(), order.data()) != 0) return;
  place = places_of(order);
}

// An analysis takes a given order up to changes that keep the fill. So an order of its
// own is given to it again, as in all factorisations, and what comes of that is told.
int Session::settle_order(const double* values, std::vector<std::int32_t>& place) {
  espalier_solver_input input = input_;
  espalier_solver_options options = options_;
  std::vector<double> ones;
  input.values = values;
  if (values == nullptr || !all_finite(values, entries_)) {
    ones.assign(static_cast<std::size_t>(entries_), 1.0);
    input.values = ones.data();
    options.scaling = ESPALIER_SOLVER_SCALING_NONE;
  }
  if (options.order == nullptr) {
    espalier_solver_options alone = options;
    alone.runtime = ESPALIER_SOLVER_RUNTIME_NONE;
    if (const int status = order_of(input, alone, elimination_)) return status;
    options.order = options_.order = elimination_.data();
  }
  std::vector<std::int32_t> order;
  const int status = order_of(input, options, order);
  if (status == 0) place = places_of(order);
  return status;
}

int Session::factorise(const double* values) {
  // On several processes process 0 has the values, and the host says what they are like.
  if (options_.communicator == nullptr && !all_finite(values, entries_)) {
    take_not_finite();
    return 0;
  }
  ++factorisations_;
  finite_ = true;
  const int status = factorise_finite(values);
  refusal_ = status == 0 ? "" : espalier_solver_last_error();
  return status;
}

int Session::factorise_finite(const double* values) {
  if (!solver_) return analyse(values);
  int status = espalier_solver_factorise_values(solver_.get(), values, entries_);
  if (status == -EINVAL && input_.symmetry == ESPALIER_SOLVER_WHOLE_OR_GENERAL) {
    input_.symmetry = ESPALIER_SOLVER_GENERAL;
    status = analyse(values);
  }
  if (status == 0 && is_worn()) status = analyse(values);
  return status;
}

void Session::take_not_finite() {
  ++factorisations_;
  finite_ = false;
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
  if (status != 0) {  // another bound may do the next time
    solver_.reset();
    return status;
  }
  status = espalier_solver_factorise(solver);
  if (status == 0) delayed_at_first_ = statistics().delayed_pivots;
  return status;
}

int Session::plan() const {
  const char* text = setting("ESPALIER_SOLVER_MEMORY");
  if (text == nullptr) text = bound_.empty() ? "none" : bound_.c_str();
  std::int64_t bound = 0;
  const int status = espalier_solver_parse_memory(text, &bound);
  if (bound == ESPALIER_SOLVER_MEMORY_AUTO) bound = auto_;
  return status != 0 ? status : espalier_solver_plan(solver_.get(), bound);
}

bool Session::is_worn() const {
  const espalier_solver_statistics facts = statistics();
  return static_cast<double>(facts.delayed_pivots - delayed_at_first_) >
             kWornPart * static_cast<double>(input_.order) ||
         facts.perturbed_pivots > 0;
}

// Calls solve(count, b, ldb, x, ldx) with vectors that are finite, all of them or, where
// one is not, each of the others; solutions of that one are NaN.
template <class Solve>
int Session::solve_finite(std::int32_t nrhs, const double* b, std::int64_t ldb, double* x,
                          std::int64_t ldx, Solve solve) const {
  const std::int64_t n = input_.order;
  bool finite = finite_;
  for (std::int32_t k = 0; finite && k < nrhs; ++k) finite = all_finite(b + k * ldb, n);
  if (finite) return solve(nrhs, b, ldb, x, ldx);
  for (std::int32_t k = 0; k < nrhs; ++k, b += ldb, x += ldx) {
    if (!finite_ || !all_finite(b, n)) {
      std::fill_n(x, n, std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const int status = solve(1, b, n, x, n);
    if (status != 0) return status;
  }
  return 0;
}

int Session::solve(bool transposed, std::int32_t nrhs, const double* b, std::int64_t ldb,
                   double* x, std::int64_t ldx) {
  ++solves_;
  return solve_finite(nrhs, b, ldb, x, ldx, [&](auto count, auto... columns) {
    return espalier_solver_solve_block(solver_.get(), transposed ? 1 : 0, count,
                                       columns...);
  });
}

int Session::solve_part(std::int32_t part, bool transposed, std::int32_t nrhs, double* x,
                        std::int64_t ldx) {
  ++solves_;
  return solve_finite(nrhs, x, ldx, x, ldx, [&](auto count, auto... columns) {
    return espalier_solver_solve_part(solver_.get(), part, transposed ? 1 : 0, count,
                                      columns...);
  });
}

espalier_solver_statistics Session::statistics() const {
  espalier_solver_statistics facts{};
  facts.size = sizeof facts;
  if (solver_) (void)espalier_solver_read_statistics(solver_.get(), &facts);
  if (finite_) return facts;
  const std::int64_t resident = facts.peak_resident;
  facts = {};
  facts.size = sizeof facts;
  facts.peak_resident = resident;
  facts.order = facts.rank = order();
  return facts;
}

}  // namespace espalier::adapters
