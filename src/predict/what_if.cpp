#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/predict/quantities.hpp"

namespace rueda::predict {
namespace {

enum class Kind { rate, time, factor };

struct Word {
  const char* name;
  Kind kind;
  void (*apply)(CostModel& model, const Change& change);
};

void set_rate(double& seconds_per_byte, const Change& change) {
  seconds_per_byte = change.is_factor ? seconds_per_byte / change.value : 1 / change.value;
}

void set_time(double& seconds, const Change& change) {
  seconds = change.is_factor ? seconds * change.value : change.value;
}

void scale_compute(CostModel& model, const Change& change) {
  ComputeModel& c = model.compute;
  for (double* seconds : {&c.fixed, &c.per_image, &c.input_per_image, &c.update})
    *seconds *= change.value;
}

constexpr std::array kWords = {
    Word{"bandwidth", Kind::rate,
         [](CostModel& m, const Change& c) { set_rate(m.machine.between.beta, c); }},
    Word{"latency", Kind::time,
         [](CostModel& m, const Change& c) { set_time(m.machine.between.alpha, c); }},
    Word{"inside-bandwidth", Kind::rate,
         [](CostModel& m, const Change& c) { set_rate(m.machine.inside.beta, c); }},
    Word{"inside-latency", Kind::time,
         [](CostModel& m, const Change& c) { set_time(m.machine.inside.alpha, c); }},
    Word{"add-rate", Kind::rate,
         [](CostModel& m, const Change& c) { set_rate(m.machine.gamma, c); }},
    Word{"compute-time", Kind::factor, scale_compute},
    Word{"noise", Kind::factor,
         [](CostModel& m, const Change& c) { m.noise = m.noise.spread_by(c.value); }}};

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
    return {word.apply, factor, true};
  }
  if (word.kind == Kind::factor) {
    throw InputError(option + " '" + printable(value) + "': give a factor, as 0.5x");
  }
  const double amount =
      word.kind == Kind::rate ? parse_rate(option, value) : parse_seconds(option, value);
  return {word.apply, amount, false};
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

}  // namespace rueda::predict
