#pragma once

#include "base/json/json_fields.hpp"
#include "study/table.hpp"

namespace rueda {

/// A number, a text, or null.
inline nlohmann::ordered_json json_of(const Cell& cell) {
  if (cell.is_number()) return cell.number();
  if (cell.text().empty()) return nullptr;
  return cell.text();
}

inline auto fields_of(const Column&) {
  return std::tuple{Field{"key", &Column::key}, Field{"heading", &Column::heading},
                    Field{"show", &Column::show}};
}
inline auto fields_of(const Table&) {
  return std::tuple{Field{"id", &Table::id}, Field{"title", &Table::title},
                    Field{"columns", &Table::columns}, Field{"rows", &Table::rows},
                    Field{"notes", &Table::notes}};
}

/// An object for each row, by the keys of the columns.
inline nlohmann::ordered_json rows_json(const Table& table) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto one = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) one[table.columns[i].key] = json_of(row[i]);
    rows.push_back(one);
  }
  return rows;
}

}  // namespace rueda
