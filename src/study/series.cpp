#include "rueda/study/series.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

namespace rueda {
namespace {

/// What all observations of a series share, and its batch of the scaling that is looked for.
using Kind = std::tuple<std::string, std::string, std::string, Processor, std::size_t, double>;
using Place = std::tuple<std::size_t, std::size_t, std::size_t>;  // ranks, hosts, global batch

Kind kind_of(const Observation& o) {
  const double images = std::isnan(o.images) ? 0 : o.images;  // NaN has no place in an order
  return {o.source, o.model, o.variant, o.processor, o.image_size, images};
}

Estimate together(const std::vector<const Observation*>& repeats, Estimate Observation::*what) {
  std::vector<Estimate> estimates;
  for (const Observation* o : repeats) estimates.push_back(o->*what);
  return over_repeats(estimates);
}

Point point_of(const std::vector<const Observation*>& repeats) {
  const Observation& first = *repeats.front();
  Point point{.ranks = first.ranks,
              .hosts = first.hosts,
              .rank_batch = first.rank_batch,
              .global_batch = first.global_batch,
              .images = first.images,
              .steps = first.steps,
              .repeats = repeats.size(),
              .epoch = together(repeats, &Observation::epoch),
              .first_epoch = together(repeats, &Observation::first_epoch),
              .full_step = together(repeats, &Observation::full_step),
              .mean_step = together(repeats, &Observation::mean_step),
              .printed_epoch = together(repeats, &Observation::printed_epoch),
              .oversubscribed = first.oversubscribed,
              .includes_warm_up = first.includes_warm_up,
              .runs = {}};
  for (const Observation* o : repeats) {
    point.oversubscribed |= o->oversubscribed;
    point.includes_warm_up |= o->includes_warm_up;
    if (o->run != nullptr) point.runs.push_back(o->run);
  }
  return point;
}

std::vector<Point> points_of(const std::vector<const Observation*>& members) {
  std::map<Place, std::vector<const Observation*>> places;
  for (const Observation* o : members) places[{o->ranks, o->hosts, o->global_batch}].push_back(o);
  std::vector<Point> points;
  for (const auto& [place, repeats] : places) points.push_back(point_of(repeats));
  return points;
}

Series series_of(const std::vector<const Observation*>& members, Scaling scaling,
                 std::size_t batch) {
  const Observation& first = *members.front();
  return {.id = "",
          .label = "",
          .source = first.source,
          .model = first.model,
          .variant = first.variant,
          .processor = first.processor,
          .image_size = first.image_size,
          .scaling = scaling,
          .batch = batch,
          .points = points_of(members)};
}

bool has_several_ranks(const std::vector<const Observation*>& members) {
  return std::ranges::any_of(
      members, [&](const Observation* o) { return o->ranks != members.front()->ranks; });
}

/// Groups of one batch, in the order of the batches.
using Groups = std::map<std::size_t, std::vector<const Observation*>>;

/// Appends the series of one scaling to `all`; tells which observations are in one.
void add_scaling(std::vector<Series>& all, std::set<const Observation*>& placed,
                 const Groups& groups, Scaling scaling) {
  for (const auto& [batch, members] : groups) {
    if (batch == 0 || !has_several_ranks(members)) continue;
    all.push_back(series_of(members, scaling, batch));
    placed.insert(members.begin(), members.end());
  }
}

void add_kind(std::vector<Series>& all, const std::vector<const Observation*>& members) {
  Groups by_rank_batch, by_global_batch;
  for (const Observation* o : members) {
    by_rank_batch[o->rank_batch].push_back(o);
    by_global_batch[o->global_batch].push_back(o);
  }
  std::set<const Observation*> placed;
  add_scaling(all, placed, by_rank_batch, Scaling::weak);
  add_scaling(all, placed, by_global_batch, Scaling::strong);
  std::map<std::pair<std::size_t, std::size_t>, std::vector<const Observation*>> alone;
  for (const Observation* o : members) {
    if (!placed.contains(o)) alone[{o->ranks, o->global_batch}].push_back(o);
  }
  for (const auto& [place, repeats] : alone)
    all.push_back(series_of(repeats, Scaling::single, place.second));
}

std::string batch_text(const Series& s) {
  return std::to_string(s.batch) + (s.scaling == Scaling::weak ? " per rank" : " global");
}

const char* processor_text(Processor processor) {
  if (processor == Processor::timed) return "timed";
  return processor == Processor::cpu ? "CPU" : "GPU";
}

/// Logs may not tell it.
std::string images_text(double images) {
  constexpr double kMost = 1e15;
  if (!(images >= 0 && images <= kMost)) return "images unknown";
  return std::to_string(static_cast<long long>(images)) + " images";
}

/// Names only what differs somewhere in the study.
void name_all(std::vector<Series>& all) {
  std::set<Processor> processors;
  for (const Series& s : all) processors.insert(s.processor);
  std::map<std::string, int> seen;
  for (Series& s : all) {
    s.label = s.model + ", " + batch_text(s);
    if (!s.variant.empty()) s.label += ", " + s.variant;
    if (processors.size() > 1) s.label += std::string(", ") + processor_text(s.processor);
    if (s.source != "rueda") s.label += " (" + s.source + ")";
    if (s.scaling == Scaling::single) s.label += ", P = " + std::to_string(s.points[0].ranks);
    const int before = seen[s.label]++;
    if (before > 0) s.label += ", " + images_text(s.points[0].images);
    s.id = "s" + std::to_string(&s - all.data() + 1);
  }
}

Speedup relative_to(const Estimate& gain, double ranks) {
  return {.speedup = gain, .efficiency = gain * (1 / ranks)};
}

}  // namespace

const char* to_string(Scaling scaling) {
  if (scaling == Scaling::weak) return "weak";
  return scaling == Scaling::strong ? "strong" : "single";
}

std::vector<Series> make_series(const std::vector<Observation>& observations) {
  std::vector<Kind> order;  // as they were given
  std::map<Kind, std::vector<const Observation*>> kinds;
  for (const Observation& o : observations) {
    auto& members = kinds[kind_of(o)];
    if (members.empty()) order.push_back(kind_of(o));
    members.push_back(&o);
  }
  std::vector<Series> all;
  for (const Kind& kind : order) add_kind(all, kinds[kind]);
  name_all(all);
  return all;
}

Speedup epoch_speedup(const Series& series, const Point& point) {
  const Point& base = series.points.front();
  if (&base == &point) return relative_to(exactly(double(base.ranks)), double(base.ranks));
  return relative_to(base.epoch / point.epoch * double(base.ranks), double(point.ranks));
}

Speedup step_speedup(const Series& series, const Point& point) {
  const Point& base = series.points.front();
  if (&base == &point) return relative_to(exactly(double(base.ranks)), double(base.ranks));
  const double images = double(point.global_batch) / double(base.global_batch);
  return relative_to(base.full_step / point.full_step * (images * double(base.ranks)),
                     double(point.ranks));
}

Estimate throughput(const Point& point) { return per(point.images, point.epoch); }

}  // namespace rueda
