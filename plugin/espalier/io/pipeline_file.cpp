#include "espalier/io/pipeline_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <istream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "espalier/io/checkpoint_io.h"
#include "espalier/io/csv_lines.h"
#include "espalier/io/json_text.h"
#include "espalier/io/text_file.h"
#include "espalier/io/text_input.h"
#include "espalier/model/error.h"

namespace espalier {
namespace {

using Json = nlohmann::json;

/// A value of a stage: a time or a size.
struct FieldColumn {
  std::string_view name;
  std::int64_t PipelineStage::*member;
  bool is_time;
};

constexpr std::array<FieldColumn, 6> kFieldColumns = {
    {{"forward", &PipelineStage::forward, true},
     {"backward", &PipelineStage::backward, true},
     {"weight", &PipelineStage::weight, true},
     {"until_backward", &PipelineStage::until_backward, false},
     {"until_weight", &PipelineStage::until_weight, false},
     {"persistent", &PipelineStage::persistent, false}}};
constexpr std::size_t kNeeded = 2;

/// @throws InvalidInput naming what there is
std::size_t column_of(std::string_view name) {
  for (std::size_t c = 0; c < kFieldColumns.size(); ++c)
    if (kFieldColumns[c].name == name) return c;
  std::string known;
  for (const FieldColumn& column : kFieldColumns)
    known += fmt::format("{}{}", known.empty() ? "" : ", ", column.name);
  throw InvalidInput(fmt::format("{} is none of {}", excerpt(name), known));
}

void check_columns(const std::set<std::size_t>& there) {
  for (std::size_t c = 0; c < kNeeded; ++c)
    if (!there.contains(c))
      throw InvalidInput(fmt::format("'{}' is missing", kFieldColumns[c].name));
}

void set(PipelineStage& stage, std::size_t c, std::string_view text) {
  const FieldColumn& column = kFieldColumns[c];
  try {
    stage.*column.member = column.is_time ? parse_duration(text) : parse_size(text);
  } catch (const Error& error) {
    throw InvalidInput(fmt::format("{}: {}", column.name, error.what()));
  }
}

constexpr PipelineStage kEmpty = {0, 0, 0, 0, 0, 0};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<PipelineStage> read_csv(TextInput&& text) {
  CsvLines lines(std::move(text));
  std::vector<PipelineStage> stages;
  std::vector<std::size_t> columns;
  while (lines.next()) {
    try {
      if (columns.empty()) {
        std::set<std::size_t> there;
        for (const std::string_view field : lines.fields()) {
          columns.push_back(column_of(trimmed(field)));
          if (!there.insert(columns.back()).second)
            throw InvalidInput(fmt::format("{} is there twice", excerpt(field)));
        }
        check_columns(there);
        continue;
      }
      if (lines.fields().size() != columns.size())
        throw InvalidInput(fmt::format("{} fields, the header has {}",
                                       lines.fields().size(), columns.size()));
      stages.push_back(kEmpty);
      for (std::size_t f = 0; f < columns.size(); ++f)
        set(stages.back(), columns[f], trimmed(lines.fields()[f]));
    } catch (const FileError&) {
      throw;
    } catch (const Error& error) {
      lines.fail(error.what());
    }
  }
  return stages;
}

PipelineStage stage_of(const Json& object) {
  if (!object.is_object()) throw InvalidInput("it is no object");
  PipelineStage stage = kEmpty;
  std::set<std::size_t> there;
  for (const auto& [key, value] : object.items()) {
    const std::size_t c = column_of(key);
    there.insert(c);
    if (value.is_string()) {
      set(stage, c, value.get_ref<const std::string&>());
    } else if (value.is_number()) {
      set(stage, c, value.dump());
    } else {
      throw InvalidInput(fmt::format("{} is neither a string nor a number", key));
    }
  }
  check_columns(there);
  return stage;
}

PipelineFile read_json(TextInput& text) {
  const Json json = read_json_text(text);
  const std::string& name = text.name();
  if (!json.contains("stages") || !json["stages"].is_array())
    throw FileError(name, 0, "expected {\"stages\": […]}");
  PipelineFile file;
  for (const auto& [key, value] : json.items()) {
    if (key == "stages") continue;
    if ((key != "transfer" && key != "once") || !value.is_string())
      throw FileError(name, 0,
                      fmt::format("{} is none of stages, transfer and once, or no text",
                                  excerpt(key)));
    Nanoseconds& time = key == "once" ? file.once : file.transfer;
    try {
      time = parse_duration(value.get_ref<const std::string&>());
    } catch (const Error& error) {
      throw FileError(name, 0, fmt::format("{}: {}", key, error.what()));
    }
  }
  for (const Json& object : json["stages"]) {
    try {
      file.stages.push_back(stage_of(object));
    } catch (const Error& error) {
      throw FileError(name, 0,
                      fmt::format("stage {}: {}", file.stages.size(), error.what()));
    }
  }
  return file;
}

std::string nanoseconds(Nanoseconds time) { return fmt::format("{}ns", time); }

}  // namespace

PipelineFile read_pipeline_file(std::istream& in, const std::string& name) {
  TextInput text(in, name);
  constexpr std::string_view kBlanks = " \t\r\n";
  while (text.peek() != TextInput::kEnd &&
         kBlanks.find(static_cast<char>(text.peek())) != kBlanks.npos)
    text.take();
  PipelineFile file =
      text.peek() == '{' ? read_json(text) : PipelineFile{read_csv(std::move(text))};
  if (file.stages.empty()) throw FileError(name, 0, "holds no stage");
  return file;
}

PipelineFile read_pipeline_file(const std::string& path) {
  PipelineFile file;
  read_file(path, [&](std::istream& in) { file = read_pipeline_file(in, path); });
  return file;
}

void write_pipeline_file(std::ostream& out, const PipelineFile& file) {
  Json stages = Json::array();
  for (const PipelineStage& stage : file.stages)
    stages.push_back({{"forward", nanoseconds(stage.forward)},
                      {"backward", nanoseconds(stage.backward)},
                      {"weight", nanoseconds(stage.weight)},
                      {"until_backward", stage.until_backward},
                      {"until_weight", stage.until_weight},
                      {"persistent", stage.persistent}});
  out << Json{{"stages", stages},
              {"transfer", nanoseconds(file.transfer)},
              {"once", nanoseconds(file.once)}}
             .dump(1)
      << '\n';
}

}  // namespace espalier
