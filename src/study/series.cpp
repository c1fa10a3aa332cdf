#include <functional>
#include <set>
#include <stdexcept>
#include <tuple>

#include <fmt/ranges.h>

#include "display/text.hpp"
#include "record/aggregation.hpp"
#include "study/figures.hpp"
#include "train/options.hpp"

namespace rueda {
namespace {

Processor processor_of(const RunResult& run) {
  const std::string& backend = run.ranks.front().backend;
  if (backend == "timed") return Processor::timed;
  if (backend == "cpu") return Processor::cpu;
  return Processor::gpu;
}

/// Threads that compute need a core each; a GPU's host threads and the timed backend's do not.
bool is_oversubscribed(const RunResult& run) {
  return processor_of(run) == Processor::cpu && std::ranges::any_of(run.ranks, lacks_cores);
}

/// Of a mean rank with --balance; else 0 where ranks differ.
std::size_t common_batch(const RunResult& run) {
  const std::vector<std::size_t>& batches = run.rank_batches;
  if (balance_of(run) != "equal" && run.global_batch % run.world_size() == 0)
    return run.global_batch / run.world_size();
  const std::set<std::size_t> values(batches.begin(), batches.end());
  if (values.size() != 1) return 0;
  return *values.begin();
}

std::string unquoted(const std::string& json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  if (!quoted) return json;
  return json.substr(1, json.size() - 2);
}

/// Of an option that was not given.
constexpr const char* kNoValue = "null";

std::string option_of(const RunResult& run, const std::string& name) {
  const auto found = run.options.find(name);
  if (found == run.options.end()) return kNoValue;
  return unquoted(found->second);
}

/// Of the processor or a library, as machine_of() names them.
std::string version_of(const RunResult& run, const std::string& name) {
  const auto machine = machine_of(run);
  const auto found = machine.find(name);
  if (found == machine.end()) return "unknown";
  return found->second;
}

std::string before_comma(const std::string& text) { return text.substr(0, text.find(',')); }

/// "Open MPI v4.1.4, package: ..." without what follows the comma, if that tells the values apart.
std::string shortened(const std::string& value, const std::set<std::string>& values) {
  std::set<std::string> beginnings;
  for (const std::string& one : values) beginnings.insert(before_comma(one));
  if (beginnings.size() < values.size()) return value;
  return before_comma(value);
}

/// Names a value in the variant of observations that do not all have the same.
void tell_apart(const std::vector<Observation*>& all, const std::string& name,
                const std::function<std::string(const RunResult&)>& value_of) {
  std::set<std::string> values;
  for (const Observation* seen : all) values.insert(value_of(*seen->runs.front()));
  if (values.size() < 2) return;
  for (Observation* seen : all) {
    const std::string value = value_of(*seen->runs.front());
    if (value == kNoValue) continue;  // told apart by having none
    add_to_list(seen->variant, name + " " + shortened(value, values));
  }
}

/// The part of --compute that is ms=X, or the rest; kNoValue where there is none.
std::string compute_part(const RunResult& run, bool ms) {
  const std::string text = option_of(run, "compute");
  const std::size_t end = text.starts_with("ms=") ? text.find(',') : 0;
  if (ms) return end == 0 ? kNoValue : text.substr(0, end);
  return end == text.npos ? kNoValue : text.substr(end == 0 ? 0 : end + 1);
}
std::string compute_ms(const RunResult& run) { return compute_part(run, true); }

/// Whether some configuration ran with several values: a strong study on the timed backend gives
/// each batch a time of its own, which is one value for each configuration.
bool repeats_differ_in(const std::vector<Observation*>& all,
                       const std::function<std::string(const RunResult&)>& of) {
  using Configuration = std::tuple<std::string, std::size_t, std::size_t, std::size_t>;
  std::map<Configuration, std::set<std::string>> values;
  for (const Observation* o : all)
    values[{o->model, o->ranks, o->hosts, o->global_batch}].insert(of(*o->runs.front()));
  for (const auto& [configuration, seen] : values)
    if (seen.size() > 1) return true;
  return false;
}

void tell_options_apart(const std::vector<Observation*>& all) {
  for (const TrainOption& option : train_options()) {
    const std::string name = option.name;
    if (option.timing != Timing::variant) continue;
    tell_apart(all, name, [&](const RunResult& run) {
      return name == "compute" ? compute_part(run, false) : option_of(run, name);
    });
  }
  if (repeats_differ_in(all, compute_ms)) tell_apart(all, "compute", compute_ms);
}

void tell_machines_apart(const std::vector<Observation*>& all) {
  std::set<std::string> names;
  for (const Observation* seen : all)
    for (const auto& [name, value] : machine_of(*seen->runs.front())) names.insert(name);
  for (const std::string& name : names)
    tell_apart(all, name, [&](const RunResult& run) { return version_of(run, name); });
}

/// Of an epoch; infinite where they are not known, so that such a repeat comes last.
double sorting_seconds(const Observation* repeat) {
  if (!known(repeat->epoch)) return INFINITY;
  return repeat->epoch.value;
}

/// By the time of their epochs.
Members by_epoch(Members repeats) {
  std::ranges::stable_sort(repeats, {}, sorting_seconds);
  return repeats;
}

/// Takes the range of a time over all repeats.
void widen(Estimate& time, const Members& repeats, Estimate Observation::*what) {
  for (const Observation* repeat : repeats) {
    const Estimate& one = repeat->*what;
    if (!known(one)) continue;
    if (!known(time)) time = one;
    time.low = std::min(time.low, one.low);
    time.high = std::max(time.high, one.high);
  }
}

Series series_of(const Members& members, Scaling scaling, std::size_t batch) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Members> configurations;
  for (const Observation* o : members)
    configurations[{o->ranks, o->hosts, o->global_batch}].push_back(o);
  const Subject& subject = *members.front();
  Series series{subject, "", "", scaling, batch, {}};
  for (const auto& [key, repeats] : configurations) series.points.push_back(merged(repeats));
  return series;
}

bool has_several_ranks(const Members& members) {
  for (const Observation* o : members)
    if (o->ranks != members.front()->ranks) return true;
  return false;
}

/// The series of equal subjects and images.
void add_kind(std::vector<Series>& all, const Members& members) {
  std::set<const Observation*> placed;
  for (const auto& [scaling, batch_of] : {std::pair{Scaling::weak, &Observation::rank_batch},
                                          {Scaling::strong, &Observation::global_batch}}) {
    std::map<std::size_t, Members> groups;  // in the order of the batches
    for (const Observation* o : members) groups[o->*batch_of].push_back(o);
    for (const auto& [batch, group] : groups) {
      if (batch == 0 || !has_several_ranks(group)) continue;
      all.push_back(series_of(group, scaling, batch));
      placed.insert(group.begin(), group.end());
    }
  }
  std::map<std::pair<std::size_t, std::size_t>, Members> alone;
  for (const Observation* o : members) {
    if (!placed.contains(o)) alone[{o->ranks, o->global_batch}].push_back(o);
  }
  for (const auto& [key, repeats] : alone)
    all.push_back(series_of(repeats, Scaling::single, key.second));
}

std::string batch_text(const Series& s) {
  const char* whose = s.scaling == Scaling::weak ? "per rank" : "global";
  return fmt::format("{} {}", s.batch, whose);
}

std::string images_text(double images) {
  if (!std::isfinite(images)) return "images unknown";  // a log may not say how many
  return fmt::format("{:.0f} images", images);
}

/// Puts how several ranks summed gradients in the place of the option, which may be auto.
void name_sums(Series& s) {
  std::set<std::string> names;
  for (const Point& point : s.points)
    for (const RunResult* run : point.runs)
      if (run->world_size() > 1 && !run->all_reduce.empty()) names.insert(run->all_reduce);
  if (names.empty()) return;
  const std::string sums = fmt::format("{}", fmt::join(names, " and "));
  const auto option = s.variant.find("all-reduce ");
  if (option != s.variant.npos)
    s.variant.replace(option, s.variant.find(',', option) - option, sums);
  else
    add_to_list(s.variant, sums);
}

/// Names the sums, and else only what differs somewhere in the study.
void name_all(std::vector<Series>& all) {
  std::set<Processor> processors;
  std::set<std::string> images;
  std::map<std::string, std::set<std::size_t>> pixels;  // by model
  for (const Series& s : all) {
    processors.insert(s.processor);
    images.insert(images_text(s.points[0].images));
    pixels[s.model].insert(s.image_size);
  }
  for (Series& s : all) {
    name_sums(s);
    s.label = s.model + ", " + batch_text(s);
    if (!s.variant.empty()) s.label += ", " + s.variant;
    if (processors.size() > 1 || s.processor == Processor::timed)
      s.label += std::string(", ") + to_string(s.processor);
    s.label += s.source_remark();
    if (s.scaling == Scaling::single) s.label += ", P = " + std::to_string(s.points[0].ranks);
    if (pixels[s.model].size() > 1) s.label += fmt::format(", {} pixels", s.image_size);
    if (images.size() > 1) s.label += ", " + images_text(s.points[0].images);
    s.id = "s" + std::to_string(&s - all.data() + 1);
  }
}

/// Of a point that is `faster` by so much, with so many times the images of the base in a step.
Speedup speedup_of(const Estimate& faster, const Point& base, const Point& point, double images) {
  const auto ranks = double(base.ranks);
  Estimate gain = faster * (images * ranks);
  if (&base == &point) gain = exactly(ranks);
  return {.speedup = gain, .efficiency = gain * (1 / double(point.ranks))};
}

}  // namespace

std::string Subject::source_remark() const {
  if (source == "rueda") return "";
  return " (" + source + ")";
}

Observation observe(const RunResult& run) {
  const auto steady = steady_epochs(run);
  if (steady.empty()) throw std::invalid_argument("no epoch was finished");
  Observation seen;
  seen.source = "rueda";
  seen.model = run.config.model.name;
  seen.processor = processor_of(run);
  seen.image_size = image_size_of(run);
  seen.ranks = run.world_size();
  seen.hosts = run.hosts();
  seen.rank_batch = common_batch(run);
  seen.global_batch = run.global_batch;
  seen.images = double(steady.front().train.samples);
  seen.steps = steady.front().steps;
  seen.epoch = exactly(median_of(values_of(steady, &EpochFigures::seconds)));
  seen.first_epoch = exactly(run.epochs.front().seconds);
  seen.full_step = exactly(run.summary.full_step.slowest.median);
  seen.mean_step = exactly(seen.epoch.value / double(seen.steps));
  seen.oversubscribed = is_oversubscribed(run);
  seen.includes_warm_up = includes_warm_up(run);
  seen.disturbed =
      !seen.oversubscribed && std::ranges::any_of(steady, is_disturbed, least_core_share);
  seen.runs = {&run};
  return seen;
}

std::map<std::string, std::string> machine_of(const RunResult& run) {
  const Processor processor = processor_of(run);
  std::map<std::string, std::string> machine;
  std::set<std::string> devices;
  for (const RankInfo& rank : run.ranks) devices.insert(rank.device);
  devices.erase("");
  const bool computes = processor != Processor::timed;
  if (!devices.empty() && computes)
    machine[processor == Processor::gpu ? "GPU" : "processor"] =
        fmt::format("{}", fmt::join(devices, " and "));
  for (const auto& [name, version] : run.versions) {
    const bool of_host = name == "oneDNN";
    const bool used = name == "MPI" || (computes && of_host == (processor == Processor::cpu));
    if (name != "rueda" && used) machine[name] = version;
  }
  return machine;
}

Observations observe_all(const Runs& runs) {
  Observations all;
  for (const RunResult& run : runs)
    if (!run.epochs.empty()) all.push_back(observe(run));
  std::vector<Observation*> every;
  std::map<Processor, std::vector<Observation*>> by_processor;
  for (Observation& seen : all) {
    every.push_back(&seen);
    by_processor[seen.processor].push_back(&seen);
  }
  tell_options_apart(every);
  for (const auto& [processor, of_kind] : by_processor) tell_machines_apart(of_kind);
  return all;
}

Observation merged(const Members& repeats) {
  const Members sorted = by_epoch(repeats);
  const Observation& middle = *sorted.at((sorted.size() - 1) / 2);
  Observation all = middle;
  all.repeats = repeats.size();
  for (const auto what : {&Observation::epoch, &Observation::first_epoch, &Observation::full_step,
                          &Observation::mean_step, &Observation::printed_epoch}) {
    widen(all.*what, repeats, what);
  }
  for (const Observation* repeat : repeats) {
    all.oversubscribed |= repeat->oversubscribed;
    all.includes_warm_up |= repeat->includes_warm_up;
    all.disturbed |= repeat->disturbed;
    if (repeat != &middle)
      all.runs.insert(all.runs.end(), repeat->runs.begin(), repeat->runs.end());
  }
  return all;
}

std::vector<Series> make_series(const Observations& observations) {
  std::vector<Members> kinds;
  for (const Observation& o : observations) {
    const Subject& subject = o;
    group_of(kinds, [&](const Members& kind) {
      return subject == *kind.front() && same_images(*kind.front(), o);
    }).push_back(&o);
  }
  std::vector<Series> all;
  for (const Members& members : kinds) add_kind(all, members);
  name_all(all);
  return all;
}

Speedup epoch_speedup(const Series& series, const Point& point, Estimate Point::*time) {
  if (series.scaling == Scaling::single) return {};
  const Point& base = series.points.front();
  return speedup_of(base.*time / point.*time, base, point, 1);
}

Speedup step_speedup(const Series& series, const Point& point) {
  if (series.scaling == Scaling::single) return {};
  const Point& base = series.points.front();
  const double images = double(point.global_batch) / double(base.global_batch);
  return speedup_of(base.full_step / point.full_step, base, point, images);
}

}  // namespace rueda
