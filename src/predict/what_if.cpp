#include "rueda/predict/what_if.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/predict/quantities.hpp"

namespace rueda::predict {
namespace {

using What = Change::What;
enum class Kind { rate, time, factor };

struct Word {
  const char* name;
  What what;
  Kind kind;
};
constexpr std::array kWords = {Word{"bandwidth", What::bandwidth, Kind::rate},
                               Word{"latency", What::latency, Kind::time},
                               Word{"inside-bandwidth", What::inside_bandwidth, Kind::rate},
                               Word{"inside-latency", What::inside_latency, Kind::time},
                               Word{"add-rate", What::add_rate, Kind::rate},
                               Word{"compute-time", What::compute_time, Kind::factor},
                               Word{"noise", What::noise, Kind::factor}};

std::string known_words() {
  std::string text;
  for (const Word& word : kWords) text += (text.empty() ? "" : ", ") + std::string(word.name);
  return text;
}

const Word& word_of(const std::string& name, const std::string& part) {
  for (const Word& word : kWords) {
    if (name == word.name) return word;
  }
  throw InputError("--what-if '" + printable(part) + "': give " + known_words() +
                   ", each as name=value, for example bandwidth=2x or latency=5us");
}

/// The number of "0.5x"; NaN if it is none.
double factor_of(const std::string& text) {
  double factor = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, factor);
  const bool is_factor = error == std::errc{} && std::string(rest, end) == "x";
  return is_factor && std::isfinite(factor) && factor >= 0 ? factor : std::nan("");
}

Change change_of(const std::string& part) {
  const std::size_t equals = part.find('=');
  const Word& word = word_of(part.substr(0, equals), part);
  const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
  const std::string option = std::string("--what-if ") + word.name;
  const double factor = factor_of(value);
  if (!std::isnan(factor)) {
    if (word.kind == Kind::rate && factor == 0) {
      throw InputError(option + " '0x': a rate has to stay above 0");
    }
    return {word.what, factor, true};
  }
  if (word.kind == Kind::factor) {
    throw InputError(option + " '" + printable(value) + "': give a factor, as 0.5x");
  }
  const double amount =
      word.kind == Kind::rate ? parse_rate(option, value) : parse_seconds(option, value);
  return {word.what, amount, false};
}

void set_rate(double& seconds_per_byte, const Change& change) {
  seconds_per_byte = change.is_factor ? seconds_per_byte / change.value : 1 / change.value;
}

void set_time(double& seconds, const Change& change) {
  seconds = change.is_factor ? seconds * change.value : change.value;
}

void scale(ComputeModel& compute, double factor) {
  compute.fixed *= factor;
  compute.per_image *= factor;
  compute.input_per_image *= factor;
  compute.update *= factor;
}

}  // namespace

std::vector<Change> parse_changes(const std::string& text) {
  std::vector<Change> changes;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    changes.push_back(change_of(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return changes;
}

void apply(const Change& change, CostModel& model) {
  switch (change.what) {
    case What::bandwidth:
      return set_rate(model.machine.between.beta, change);
    case What::latency:
      return set_time(model.machine.between.alpha, change);
    case What::inside_bandwidth:
      return set_rate(model.machine.inside.beta, change);
    case What::inside_latency:
      return set_time(model.machine.inside.alpha, change);
    case What::add_rate:
      return set_rate(model.machine.gamma, change);
    case What::compute_time:
      return scale(model.compute, change.value);
    case What::noise:
      model.noise = model.noise.spread_by(change.value);
  }
}

}  // namespace rueda::predict
