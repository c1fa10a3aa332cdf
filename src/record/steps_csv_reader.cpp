#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string>
#include <system_error>
#include <vector>

#include "rueda/core/input_file.hpp"
#include "rueda/record/steps_csv.hpp"

namespace rueda {
namespace {

constexpr std::size_t kMostBytes = 10'000'000'000;
constexpr std::size_t kLongestLine = 65'536;

std::vector<std::string_view> cells(std::string_view line) {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= line.size();) {
    const std::size_t end = std::min(line.find(',', begin), line.size());
    result.push_back(line.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

double number(const std::vector<std::string_view>& row, std::size_t column) {
  double value = std::numeric_limits<double>::quiet_NaN();
  if (column >= row.size()) return value;
  const std::string_view cell = row[column];
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

/// The next line, of which no more is held than a line may have.
bool next_line(std::ifstream& stream, const InputFile& file, std::string& line) {
  line.resize(kLongestLine + 1);
  stream.getline(line.data(), static_cast<std::streamsize>(line.size()));
  const auto got = static_cast<std::size_t>(stream.gcount());
  if (stream.fail() && got + 1 >= line.size()) {
    file.refuse("a line has more than " + std::to_string(kLongestLine) + " bytes");
  }
  if (got == 0) return false;
  line.resize(stream.eof() ? got : got - 1);  // the line end counts, where there is one
  return true;
}

}  // namespace

bool for_each_step(const std::filesystem::path& path, std::span<const std::string_view> columns,
                   const std::function<void(std::span<const double>)>& use) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const InputFile file{path, path.string(), "put back the file that rueda train wrote"};
  require_regular_file(file, kMostBytes);
  std::ifstream stream(path, std::ios::binary);
  std::string line;
  if (!stream || !next_line(stream, file, line)) return false;
  const auto names = cells(line);
  std::vector<std::size_t> places;
  for (const std::string_view column : columns) {
    places.push_back(static_cast<std::size_t>(std::ranges::find(names, column) - names.begin()));
  }
  std::vector<double> values(columns.size());
  while (next_line(stream, file, line)) {
    const auto row = cells(line);
    std::ranges::transform(places, values.begin(), [&](std::size_t i) { return number(row, i); });
    use(values);
  }
  return true;
}

}  // namespace rueda
