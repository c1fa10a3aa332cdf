#include "reduce/reduce_table.hpp"

#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostRows = 1000;

[[noreturn]] void refuse(std::string_view row) {
  throw InputError("'" + printable(row) + "' is no way to sum and its longest length");
}

Algorithm algorithm_named(std::string_view word) {
  constexpr auto words = words_of(Algorithm{});
  const auto* found = std::ranges::find(words, word);
  if (found == words.end() || *found == std::string_view(words.front())) refuse(word);
  return Algorithm(found - words.begin());
}

/// The number behind `mark`, which it takes off the end; `absent` without one.
std::size_t take_end(std::string_view& row, char mark, std::size_t absent) {
  const std::size_t at = row.rfind(mark);
  if (at == row.npos) return absent;
  std::string_view digits = row.substr(at + 1);
  const auto number = take_number(digits);
  if (!number || !digits.empty()) refuse(row);
  row = row.substr(0, at);
  return *number;
}

ReduceTable::Row parse_row(std::string_view row) {
  const std::size_t most_bytes = take_end(row, ':', SIZE_MAX);
  const std::size_t segment_bytes = take_end(row, '/', 0);
  return {most_bytes, {algorithm_named(row), segment_bytes}};
}

}  // namespace

std::string table_text(const ReduceTable& table) {
  std::string text;
  for (const auto& [most_bytes, way] : table.rows) {
    if (!text.empty()) text += ',';
    text += to_string(way.algorithm);
    if (way.segment_bytes > 0) text += '/' + std::to_string(way.segment_bytes);
    if (most_bytes != SIZE_MAX) text += ':' + std::to_string(most_bytes);
  }
  return text;
}

ReduceTable parse_reduce_table(const std::string& text) {
  ReduceTable table;
  for (const std::string& row : split_words(text)) {
    const ReduceTable::Row parsed = parse_row(row);
    const bool follows = table.rows.empty() || table.rows.back().most_bytes < parsed.most_bytes;
    if (!follows || table.rows.size() == kMostRows) refuse(row);
    table.rows.push_back(parsed);
  }
  if (table.rows.empty() || table.rows.back().most_bytes != SIZE_MAX) refuse(text);
  return table;
}

}  // namespace rueda
