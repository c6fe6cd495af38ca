// Checkpointing schedule -> the data of its page.

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "espalier/model/replay_checkpoint.h"
#include "espalier/report/checkpoint_page.h"
#include "espalier/report/memory_chart.h"
#include "espalier/report/page.h"
#include "espalier/report/view_data.h"

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

// The replay, folded into columns: what is held, and the step of the working state.
class Pictures {
 public:
  explicit Pictures(const CheckpointPage& page)
      : page_(page), now_(parts(), 0), held_(columns(), parts()), steps_(columns(), 1) {
    (void)replay_checkpoint(*page.schedule,
                            [this](const CheckpointMoment& m) { take(m); });
  }

  Json held() { return view(held_.take()); }
  Json steps() { return view(steps_.take()); }

 private:
  [[nodiscard]] bool sized() const { return page_.schedule->chain != nullptr; }
  [[nodiscard]] std::size_t parts() const {
    return sized() ? 2 : page_.schedule->levels.size();
  }
  [[nodiscard]] double time(Nanoseconds at) const {
    return static_cast<double>(at) * page_.unit;
  }

  [[nodiscard]] Columns columns() const {
    std::vector<MemoryPoint> moments = {{0, 0}};
    (void)replay_checkpoint(*page_.schedule, [&](const CheckpointMoment& m) {
      if (time(m.end) > moments.back().time) moments.push_back({time(m.end), 0});
    });
    return columns_of(moments, kPageColumns);
  }

  void set(std::size_t part, Bytes value) {
    held_.change(part, value - now_[part]);
    now_[part] = value;
  }

  void take(const CheckpointMoment& moment) {
    held_.go_to(time(moment.begin));
    steps_.go_to(time(moment.begin));
    if (sized()) {
      set(0, moment.after_bytes);
      set(1, moment.during_bytes - moment.after_bytes);
    } else {
      for (std::size_t k = 0; k < moment.slots->size(); ++k) set(k, (*moment.slots)[k]);
    }
    held_.note();
    const Action& action = moment.action;
    const bool ends =
        action.kind == ActionKind::kEndReverse || action.kind == ActionKind::kReverse;
    const std::int64_t step = ends ? action.first : action.last;
    steps_.change(0, step - step_);
    step_ = step;
    steps_.note();
  }

  [[nodiscard]] static Json view(const MemoryChart& chart) {
    const Seconds from = chart.columns.start.empty() ? 0 : chart.columns.start.front();
    return {{"from", from}, {"to", chart.columns.end}, {"memory", json_of(chart)}};
  }

  const CheckpointPage& page_;
  std::vector<Bytes> now_;
  ChartFolder held_, steps_;
  std::int64_t step_ = 0;
};

Json facts(const CheckpointSchedule& schedule) {
  Json list = Json::array();
  list.push_back({"proved:", name(schedule.proof)});
  for (const CheckpointLevel& level : schedule.levels)
    list.push_back({level.name, std::to_string(level.slots)});
  return list;
}

}  // namespace

std::string data_of(const CheckpointPage& page) {
  const CheckpointSchedule& schedule = *page.schedule;
  Json json = {{"kind", "checkpoint"}, {"title", page.title}, {"facts", facts(schedule)}};
  const auto cost = [&](Nanoseconds value) {
    return static_cast<double>(value) * page.unit;
  };
  json["figures"] = {{"steps", schedule.steps},
                     {"advances", schedule.advances},
                     {"cost", cost(schedule.cost)},
                     {"lower_bound", cost(schedule.lower_bound)},
                     {"proof", name(schedule.proof)},
                     {"timed", page.unit != 1},
                     {"sized", schedule.chain != nullptr},
                     {"bound_bytes", schedule.bound_bytes},
                     {"peak_bytes", schedule.peak_bytes}};
  json["levels"] = Json::array();
  for (std::size_t k = 0; k < schedule.levels.size(); ++k) {
    json["levels"].push_back({{"name", schedule.levels[k].name},
                              {"slots", schedule.levels[k].slots},
                              {"write", cost(schedule.levels[k].write)},
                              {"read", cost(schedule.levels[k].read)},
                              {"writes", schedule.use[k].writes},
                              {"reads", schedule.use[k].reads}});
  }
  Pictures pictures(page);
  json["held"] = pictures.held();
  json["working"] = pictures.steps();
  if (!page.curve.empty()) {
    Json bytes = Json::array(), costs = Json::array();
    for (const BudgetPoint& point : page.curve) {
      bytes.push_back(point.bytes);
      costs.push_back(cost(point.cost));
    }
    json["curve"] = {{"bytes", std::move(bytes)}, {"cost", std::move(costs)}};
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void write_page(const std::string& path, const CheckpointPage& page) {
  write_html(path, data_of(page));
}

}  // namespace espalier::report
