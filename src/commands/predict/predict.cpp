#include "predict.hpp"

#include <filesystem>
#include <ostream>

#include <nlohmann/json.hpp>

#include "prediction_tables.hpp"
#include "rueda/core/files.hpp"
#include "run/output_file.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
Json cell_json(const Cell& cell) {
  if (cell.is_number()) return cell.number();
  return cell.text().empty() ? Json() : Json(cell.text());
}

Json table_json(const Table& table) {
  Json rows = Json::array();
  for (const auto& row : table.rows) {
    Json one = Json::object();
    for (std::size_t i = 0; i < row.size(); ++i) one[table.columns[i].key] = cell_json(row[i]);
    rows.push_back(one);
  }
  return {{"title", table.title}, {"rows", rows}, {"notes", table.notes}};
}

std::string json_of(const std::vector<Table>& tables) {
  Json json = {{"rueda_predict", kFormat}};
  for (const Table& table : tables) json[table.id] = table_json(table);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

void write_folder(const std::string& folder, const std::vector<Table>& tables) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const std::filesystem::path at(folder);
  check_output_file("--out", (at / "predict.md").string());
  std::string text = "# Prediction\n";
  for (const Table& table : tables) {
    text += '\n' + to_markdown(table);
    write_atomically(at / (table.id + ".csv"), to_csv(table));
  }
  write_atomically(at / "predict.md", text);
  write_atomically(at / "predict.json", json_of(tables));
}

}  // namespace

void run_predict(const PredictOptions& options, std::ostream& out) {
  check_output_file("--json", options.json);
  const auto tables = prediction_tables(options, read_study(options));
  for (const Table& table : tables) out << to_text(table) << '\n';
  if (!options.json.empty()) write_atomically(options.json, json_of(tables));
  if (!options.out.empty()) write_folder(options.out, tables);
}

}  // namespace rueda
