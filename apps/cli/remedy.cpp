// A command line, what is wrong with it, and the line that works: over 300 lines.

#include "cli/remedy.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <numeric>
#include <string_view>
#include <utility>

#include "espalier/model/printable.h"

namespace espalier::cli {
namespace {

// A stretch of the command line: an option with its value, or one word by its place.
struct Item {
  const CLI::Option* option = nullptr;  // null: not known
  std::vector<std::string> words;
};

struct Line {
  const CLI::App* app;             // of the innermost subcommand
  std::vector<std::string> names;  // the program and its subcommands
  std::vector<Item> items;
};

const CLI::Option* option_of(const CLI::App& app, const std::string& name) {
  return app.get_option_no_throw(name);
}

const CLI::Option* place_of(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options())
    if (option->get_positional()) return option;
  return nullptr;
}

const CLI::App* subcommand_of(const CLI::App& app, const std::string& name) {
  for (const CLI::App* each : app.get_subcommands(nullptr))
    if (each->get_name() == name) return each;
  return nullptr;
}

bool takes_value(const CLI::Option* option) {
  return option != nullptr && option->get_items_expected_max() > 0;
}

Line parse(const CLI::App& program, std::span<const std::string> words) {
  Line line{&program, {words.front()}, {}};
  std::size_t at = 1;
  for (; at < words.size(); ++at) {
    const CLI::App* inner = subcommand_of(*line.app, words[at]);
    if (inner == nullptr) break;
    line.app = inner;
    line.names.push_back(words[at]);
  }
  bool by_place = false;  // after --
  for (; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (by_place || !word.starts_with("--")) {
      line.items.push_back({place_of(*line.app), {word}});
      continue;
    }
    by_place = word == "--";
    const std::size_t equals = word.find('=');
    Item item{option_of(*line.app, word.substr(0, equals)), {word}};
    if (equals == std::string::npos && takes_value(item.option) && at + 1 < words.size())
      item.words.push_back(words[++at]);
    line.items.push_back(std::move(item));
  }
  return line;
}

void apply(Line& line, const Edit& edit) {
  auto& items = line.items;
  if (edit.kind == Edit::Kind::kRename) {
    for (std::string& name : line.names)
      if (name == edit.option) name = edit.value;
    for (Item& item : items) {
      std::string& word = item.words.front();
      const std::size_t length = std::min(word.find('='), word.size());
      if (word.substr(0, length) == edit.option) word.replace(0, length, edit.value);
    }
    return;
  }
  const CLI::Option* option = option_of(*line.app, edit.option);
  const auto same = [&](const Item& item) {
    return option != nullptr ? item.option == option : item.words.front() == edit.option;
  };
  if (edit.kind == Edit::Kind::kDrop && option == nullptr) {  // a word, where it is last
    const auto last = std::find_if(items.rbegin(), items.rend(), same);
    if (last != items.rend()) items.erase(std::next(last).base());
    return;
  }
  const auto found = std::ranges::find_if(items, same);
  const auto place = found - items.begin();
  std::erase_if(items, same);
  if (edit.kind == Edit::Kind::kDrop) return;
  Item item{option, {edit.option}};
  if (!edit.value.empty()) item.words.push_back(edit.value);
  items.insert(items.begin() + place, std::move(item));
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Least number of letters to change, add, take away or exchange with the next one; of
// small and capital letters alike.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> rows(a.size() + 1,
                                             std::vector<std::size_t>(b.size() + 1));
  std::iota(rows[0].begin(), rows[0].end(), 0);
  const auto same = [&](std::size_t i, std::size_t j) {
    return lower(a[i - 1]) == lower(b[j - 1]);
  };
  for (std::size_t i = 1; i <= a.size(); ++i) {
    rows[i][0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      rows[i][j] = std::min({rows[i - 1][j - 1] + (same(i, j) ? 0 : 1),
                             rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j))
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
    }
  }
  return rows[a.size()][b.size()];
}

bool is_begin(std::string_view word, std::string_view choice) {
  return word.find_first_not_of('-') != word.npos && choice.starts_with(word);
}

// What begins with the word, else what is spelt most like it.
std::string closest(std::string_view word, const std::vector<std::string>& choices) {
  return *std::ranges::min_element(choices, {}, [&](const std::string& choice) {
    return std::pair(!is_begin(word, choice), distance(word, choice));
  });
}

bool is_close(std::string_view word, std::string_view choice) {
  return is_begin(word, choice) || 3 * distance(word, choice) <= choice.size();
}

// Values that stand as they are in "SIZE|min|xFACTOR|auto|none": min, auto, none.
std::vector<std::string> literal_values(const CLI::Option& option) {
  std::vector<std::string> values;
  const std::string names = option.get_type_name();
  if (names.find('|') == std::string::npos) return values;
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find('|', begin), names.size());
    std::string value = names.substr(begin, end - begin);
    const bool literal = std::ranges::none_of(
        value, [](char c) { return (c >= 'A' && c <= 'Z') || c == ' '; });
    if (literal && !value.empty()) values.push_back(std::move(value));
    begin = end + 1;
  }
  return values;
}

// Of an option that is given twice: the last value. Of one whose value cannot be: the
// value that is closest to it, else the default, of a count 1, else none at all.
Remedy other_value(const CLI::Option& option, const Line& line) {
  const std::string name = option.get_name();
  if (std::ranges::count(line.items, &option, &Item::option) > 1) {
    const auto last =
        std::ranges::find(line.items.rbegin(), line.items.rend(), &option, &Item::option);
    const std::string& word = last->words.back();
    const std::size_t equals = last->words.size() > 1 ? word.npos : word.find('=');
    return set_option(name, equals == word.npos ? word : word.substr(equals + 1));
  }
  const std::vector<std::string> values = literal_values(option);
  const auto item = std::ranges::find(line.items, &option, &Item::option);
  if (!values.empty() && item != line.items.end())
    return set_option(name, closest(item->words.back(), values));
  if (!option.get_default_str().empty())
    return set_option(name, option.get_default_str());
  // "N:INT in [1 - 9]" where it has a range.
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':')) == "N" ? set_option(name, "1")
                                               : drop_option(name);
}

// The options that a message names, in order; the first may be of a file by its place.
std::vector<const CLI::Option*> options_in(const std::string& message,
                                           const CLI::App& app) {
  std::vector<const CLI::Option*> found;
  const CLI::Option* const place = place_of(app);
  if (place != nullptr && message.starts_with(place->get_name() + ": "))
    found.push_back(place);
  for (std::size_t at = message.find("--"); at != std::string::npos;
       at = message.find("--", at + 2)) {
    const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", at);
    const CLI::Option* option =
        option_of(app, message.substr(at, std::min(end, message.size()) - at));
    if (option != nullptr) found.push_back(option);
  }
  return found;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> subcommand_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* each : app.get_subcommands(nullptr))
    names.push_back(each->get_name());
  return names;
}

// Of the first word: the choice of closest spelling, if there is one.
Remedy known_front(const Line& line, const std::vector<std::string>& choices) {
  if (line.items.empty() || choices.empty()) return {};
  const std::string& front = line.items.front().words.front();
  const std::string word = front.substr(0, front.find('='));
  const std::string choice = closest(word, choices);
  if (!is_close(word, choice)) return {};
  return {.edits = {{Edit::Kind::kRename, word, choice}}};
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

// What a word that is no option may be instead, by its place: an option with a value
// where one may follow, a flag where nothing follows that must be one.
std::vector<std::string> options_in_place(const Line& line, std::size_t place) {
  const std::string& word = line.items[place].words.front();
  const bool assigned = word.find('=') != word.npos;
  const bool last = place + 1 == line.items.size();
  const std::string next = last ? "" : line.items[place + 1].words.front();
  const bool followed = !last && !next.starts_with("--");
  std::vector<std::string> fitting;
  for (const std::string& name : option_names(*line.app)) {
    const bool fits = takes_value(option_of(*line.app, name))
                          ? assigned || followed
                          : !assigned && (!followed || is_there(next));
    if (fits) fitting.push_back(name);
  }
  return fitting;
}

// The option of closest spelling; else an option less, with what looks like its value, or
// a word less where there is a file already.
Remedy known_words(const Line& line) {
  Remedy remedy;
  bool has_file = place_of(*line.app) == nullptr, unknown = false;
  for (std::size_t i = 0; i < line.items.size(); ++i) {
    const Item& item = line.items[i];
    const std::string& front = item.words.front();
    if (!front.starts_with("--")) {
      const bool is_value = unknown && !is_there(front);
      if (is_value || has_file) remedy.edits.push_back({Edit::Kind::kDrop, front});
      has_file |= !is_value;
      unknown = false;
      continue;
    }
    unknown = false;
    if (item.option != nullptr) continue;
    const std::string word = front.substr(0, front.find('='));
    const std::vector<std::string> options = options_in_place(line, i);
    const std::string choice = options.empty() ? "" : closest(word, options);
    const bool known = !options.empty() && is_close(word, choice);
    unknown = !known && word.size() == front.size();
    remedy.edits.push_back(known ? Edit{Edit::Kind::kRename, word, choice}
                                 : Edit{Edit::Kind::kDrop, front});
  }
  return remedy;
}

// Of words that are not expected. A misspelt subcommand may stand where a file can, and
// without one the options are all unknown.
Remedy expected_words(const Line& line) {
  const Remedy command = known_front(line, subcommand_names(*line.app));
  if (!command.empty()) return command;
  return line.names.size() == 1 ? known_front(line, option_names(*line.app))
                                : known_words(line);
}

// Of bytes that no terminal shows; line ends at its end are lost.
std::string by_printf(std::string_view word) {
  std::string text = "\"$(printf '";
  for (const char c : word) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '%')
      text += "%%";
    else if (c == '\\' || c == '\'' || code < 0x20 || code >= 0x7F)
      text += fmt::format("\\{:03o}", code);
    else
      text += c;
  }
  return text + "')\"";
}

std::string quoted(const std::string& word) {
  if (!is_printable(word)) return by_printf(word);
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) {
    if (c == '\'')
      text += "'\\''";
    else
      text += c;
  }
  return text + "'";
}

}  // namespace

Remedy operator+(Remedy first, const Remedy& second) {
  first.edits.insert(first.edits.end(), second.edits.begin(), second.edits.end());
  return first;
}

Remedy set_option(std::string option, std::string value) {
  return {.edits = {{Edit::Kind::kSet, std::move(option), std::move(value)}}};
}

Remedy set_flag(std::string option) { return set_option(std::move(option), ""); }

Remedy drop_option(std::string option) {
  return {.edits = {{Edit::Kind::kDrop, std::move(option)}}};
}

Remedy raise_memory(Bytes bytes, std::string option) {
  constexpr Bytes kWorth = 64;
  Bytes unit = 1;
  std::string_view name;
  for (const std::string_view next : {"KiB", "MiB", "GiB"}) {
    if (bytes / kWorth / 1024 < unit) break;
    unit *= 1024;
    name = next;
  }
  const Bytes count = bytes / unit + (bytes % unit != 0);
  return set_option(std::move(option), fmt::format("{}{}", count, name));
}

std::vector<std::string> edited(const CLI::App& program,
                                std::span<const std::string> words,
                                const Remedy& remedy) {
  Line line = parse(program, words);
  for (const Edit& edit : remedy.edits) apply(line, edit);
  std::vector<std::string> result = std::move(line.names);
  for (const Item& item : line.items)
    result.insert(result.end(), item.words.begin(), item.words.end());
  return result;
}

Remedy remedy_of(const CLI::ParseError& error, const CLI::App& program,
                 std::span<const std::string> words) {
  const Line line = parse(program, words);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr)
    return expected_words(line);
  if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr) {
    const std::vector<std::string> commands = subcommand_names(*line.app);
    const Remedy known = known_front(line, commands);
    return known.empty() && !commands.empty() ? set_flag("--help") : known;
  }
  const auto named = options_in(error.what(), *line.app);
  if (named.empty()) return {};
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr)
    return drop_option(named.back()->get_name());
  if (dynamic_cast<const CLI::RequiresError*>(&error) != nullptr)
    return takes_value(named.back()) ? drop_option(named.front()->get_name())
                                     : set_flag(named.back()->get_name());
  return other_value(*named.front(), line);
}

std::string quoted(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted(word);
  return text;
}

}  // namespace espalier::cli
