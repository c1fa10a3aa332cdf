#include <set>

#include "rueda/predict/cost_fit.hpp"
#include "study/json_view.hpp"

namespace rueda::predict {
namespace {

constexpr std::size_t kFormat = 1;
const std::string kRemedy = "give a file that rueda bench all-reduce --json wrote";

BenchRow row_of(const JsonView& j) {
  BenchRow row{j.text("algorithm"), j.number("bytes"), j.number("median_seconds"), {}};
  if (!(row.bytes > 0)) j.at("bytes").refuse("is not positive");
  if (!(row.median > 0)) j.at("median_seconds").refuse("is not positive");
  for (const JsonView& s : j.items("seconds")) row.seconds.push_back(s.number());
  return row;
}

}  // namespace

BenchResult read_bench(const std::filesystem::path& file) {
  const InputFile input{file, file.string(), kRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  if (!j.has("rueda_bench") || !j.has("results")) j.refuse("is no record of rueda bench");
  if (j.count("rueda_bench") != kFormat) j.at("rueda_bench").refuse("is not 1");
  BenchResult result;
  result.file = file;
  result.ranks = j.count("ranks");
  std::set<std::string> hosts;
  for (const JsonView& host : j.items("hosts")) hosts.insert(host.text());
  result.hosts = hosts.size();
  for (const JsonView& row : j.items("results")) result.rows.push_back(row_of(row));
  if (result.hosts == 0) j.at("hosts").refuse("names no host");
  return result;
}

}  // namespace rueda::predict
