#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <utility>

#include <fmt/compile.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "record/json_parts.hpp"
#include "record/run_json.hpp"

namespace rueda {
namespace {

std::string steps_header() {
  return fmt::format(
      "epoch,step,rank,samples,global_samples,seconds,{},all_reduce_busy,all_reduce_add,train_loss,"
      "train_accuracy,learning_rate,prepare_busy,copy_busy,copy_bytes,all_reduce_wait,parts,"
      "part_norm2,gradient_norm2\n",
      fmt::join(kPhaseNames, ","));
}

constexpr std::array<std::pair<const char*, double Spread::*>, 6> kSpreadColumns = {
    {{"min", &Spread::min},
     {"mean", &Spread::mean},
     {"median", &Spread::median},
     {"p90", &Spread::p90},
     {"max", &Spread::max},
     {"deviation", &Spread::deviation}}};

/// Of epochs.csv, whose place in an element of `epochs` has another name.
constexpr std::array<std::pair<const char*, const char*>, 5> kPlacedColumns = {
    {{"joules", "/energy/total_joules"},
     {"noise_scale", "/gradient_noise/scale"},
     {"noise_scale_low", "/gradient_noise/low"},
     {"noise_scale_high", "/gradient_noise/high"},
     {"learning_efficiency", "/gradient_noise/learning_efficiency"}}};

std::string ranks_header() {
  std::string text = fmt::format(
      "epoch,rank,batch,samples,seconds,{},all_reduce_busy,all_reduce_wait,all_reduce_add,"
      "prepare_busy,copy_busy,copy_bytes,core_share,joules,full_steps",
      fmt::join(kPhaseNames, ","));
  for (const char* spread : {"full_step_seconds", "full_step_compute_seconds"})
    for (const auto& [name, member] : kSpreadColumns) text += fmt::format(",{}_{}", spread, name);
  return text + "\n";
}

/// What stands at `index`, or the other value.
template <typename Value>
Value value_at(const std::vector<Value>& values, std::size_t index, Value otherwise) {
  return index < values.size() ? values[index] : otherwise;
}

std::string ranks_row(const EpochRecord& epoch, const RankFigures& r) {
  std::string text =
      fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}", epoch.epoch, r.rank,
                  value_at(epoch.rank_batches, r.rank, {}), r.sums.samples, r.sums.seconds,
                  fmt::join(r.sums.phases, ","), r.sums.busy, r.sums.wait, r.sums.add,
                  r.sums.prepare, r.sums.copy, r.sums.copy_bytes, r.core_share,
                  value_at(epoch.rank_energy, r.rank, {}).gpus, r.full_step.count);
  for (const Spread* spread : {&r.full_step, &r.full_compute})
    for (const auto& [name, member] : kSpreadColumns) text += fmt::format(",{}", spread->*member);
  return text + "\n";
}

std::ptrdiff_t commas_in(std::string_view line) { return std::ranges::count(line, ','); }

/// Whether it is a whole line of an epoch up to `last`.
bool belongs(std::string_view line, std::size_t last, std::ptrdiff_t commas) {
  const std::string_view whole = line;
  const auto epoch = take_number(line);
  return epoch && *epoch <= last && line.starts_with(',') && commas_in(whole) == commas;
}

constexpr std::size_t kMostBytes = 10'000'000'000;
constexpr std::size_t kLongestLine = 65'536;

/// The next line, of which no more is held than a line may have.
bool next_line(std::ifstream& stream, const InputFile& file, std::string& line) {
  line.resize(kLongestLine + 1);
  stream.getline(line.data(), static_cast<std::streamsize>(line.size()));
  const auto got = std::size_t(stream.gcount());
  if (stream.fail() && got + 1 >= line.size())
    file.refuse("a line has more than " + std::to_string(kLongestLine) + " bytes");
  if (got == 0) return false;
  line.resize(got);
  if (!stream.eof()) line.pop_back();  // the line end, which counts
  return true;
}

/// The cells of a line of steps.csv, each with the comma or the line end behind it. A thousand
/// ranks have a million in an epoch, so no format text is read for each, and a number that was in
/// the line before keeps its text: zero, the loss and the learning rate are alike on all ranks.
class StepsRow {
 public:
  /// Valid until the next call.
  std::string_view text(const StepRecord& s, std::size_t rank) {
    cell_ = cells_.data();
    end_ = line_.data();
    for (const std::uint64_t count :
         {std::uint64_t(s.epoch), std::uint64_t(s.step), std::uint64_t(rank),
          std::uint64_t(s.samples), std::uint64_t(s.global_samples)})
      put(count);
    put(s.seconds);
    for (const double seconds : s.phases) put(seconds);
    for (const double value : {s.all_reduce_busy, s.all_reduce_add, s.train_loss, s.train_accuracy,
                               s.learning_rate, s.prepare_busy, s.copy_busy})
      put(value);
    put(s.copy_bytes);
    put(s.all_reduce_wait);
    put_norms(s.norms, rank);
    end_[-1] = '\n';
    return {line_.data(), end_};
  }

 private:
  struct Cell {
    std::uint64_t bits = 0;
    std::size_t length = 0;  // 0: none yet
    std::array<char, 32> text;
  };
  static constexpr std::size_t kCells = 18 + kPhases;

  template <typename Number>
  void put(Number number) {
    Cell& cell = *cell_++;
    const auto bits = std::bit_cast<std::uint64_t>(number);
    if (cell.length == 0 || cell.bits != bits) {
      char* end = fmt::format_to(cell.text.data(), FMT_COMPILE("{},"), number);
      cell.bits = bits;
      cell.length = std::size_t(end - cell.text.data());
    }
    end_ = std::copy_n(cell.text.data(), cell.length, end_);
  }

  /// They are the step's, so rank 0 alone has them; empty where they were not measured.
  void put_norms(const StepNorms& norms, std::size_t rank) {
    if (rank > 0 || !norms.measured()) {
      end_ = std::ranges::copy(std::string_view(",,,"), end_).out;
      return;
    }
    for (const double norm : {norms.parts, norms.part_norm2, norms.gradient_norm2}) put(norm);
  }

  std::array<Cell, kCells> cells_;
  std::array<char, kCells * sizeof(Cell::text)> line_;
  Cell* cell_ = nullptr;
  char* end_ = nullptr;
};

void write_rows(const std::filesystem::path& path, bool first,
                const std::function<void(const TextSink&)>& write) {
  if (first) return write_output(path, write);
  append_to_file(path, write);
}

bool is_finite(const Json& value) {
  return value.is_number() && std::isfinite(value.get<double>());
}

}  // namespace

std::string epochs_csv(std::span<const EpochRecord> epochs, const RunRecord& run, bool head) {
  const std::string names =
      "epoch,ranks,steps,samples,loss,accuracy,val_loss,val_accuracy,learning_rate,seconds,"
      "val_seconds,images_per_second,images_per_second_per_rank,resumed_at_step";
  std::vector<std::string> places;  // in an element of `epochs`
  for (const std::string& name : split_words(names)) places.push_back("/" + name);
  for (const auto phase : kPhaseNames) places.push_back(fmt::format("/phases/{}/mean", phase));
  std::string text = fmt::format("{},{}_seconds", names, fmt::join(kPhaseNames, "_seconds,"));
  for (const auto& [name, place] : kPlacedColumns) {
    text += fmt::format(",{}", name);
    places.emplace_back(place);
  }
  text += "\r\n";
  if (!head) text.clear();
  for (const EpochRecord& epoch : epochs) {
    const Json j = epoch_json(epoch, run);
    for (const std::string& place : places) {
      const Json::json_pointer at(place);
      const Json value = j.value(at, Json());
      if (is_finite(value)) text += value.dump();
      if (value.is_array()) text += std::to_string(value.size());
      text += place == places.back() ? "\r\n" : ",";
    }
  }
  return text;
}

void append_steps_csv(const std::filesystem::path& path, const EpochRecord& epoch, bool first) {
  write_rows(path, first, [&](const TextSink& put) {
    if (first) put(steps_header());
    StepsRow row;
    const auto& ranks = epoch.step_records;
    for (std::size_t i = 0; !ranks.empty() && i < ranks.front().size(); ++i)
      for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        put(row.text(ranks[rank].at(i), rank));
  });
}

void append_ranks_csv(const std::filesystem::path& path, const EpochRecord& epoch, bool first) {
  write_rows(path, first, [&](const TextSink& put) {
    if (first) put(ranks_header());
    for (const RankFigures& rank : epoch.of_ranks) put(ranks_row(epoch, rank));
  });
}

void copy_rows(const std::filesystem::path& from, const std::filesystem::path& to,
               std::size_t last) {
  const std::string head = to.filename() == kRanksCsvName ? ranks_header() : steps_header();
  write_output(to, [&](const TextSink& put) {
    put(head);
    std::error_code none;
    if (!std::filesystem::is_regular_file(from, none)) return;
    std::ifstream in(from);
    std::string line;
    if (!std::getline(in, line) || !head.starts_with(line)) return;
    const auto commas = commas_in(line);
    // An older version had fewer columns.
    const std::string more(std::size_t(commas_in(head) - commas), ',');
    // A line without its end was cut off: what it lacks may be digits.
    while (std::getline(in, line) && !in.eof()) {
      if (belongs(line, last, commas)) put(line + more + '\n');
    }
  });
}

bool for_each_step(const std::filesystem::path& path, std::span<const std::string_view> columns,
                   const std::function<void(std::span<const double>)>& use) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return false;
  const InputFile file{path, path.string(), "put back the file that rueda train wrote"};
  require_regular_file(file, kMostBytes);
  std::ifstream stream(path, std::ios::binary);
  std::string line;
  if (!stream || !next_line(stream, file, line)) return false;
  const auto names = split_words<std::string_view>(line);
  std::vector<std::size_t> positions;
  for (const std::string_view column : columns) {
    auto at = std::size_t(std::ranges::find(names, column) - names.begin());
    if (at == names.size()) at = std::string::npos;
    positions.push_back(at);
  }
  std::vector<double> values(columns.size());
  while (next_line(stream, file, line)) {
    const auto row = split_words<std::string_view>(line);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::string_view cell;
      if (positions[i] < row.size()) cell = row[positions[i]];
      values[i] = take_number<double>(cell).value_or(NAN);
    }
    use(values);
  }
  return true;
}

}  // namespace rueda
