#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "rueda/study/figures.hpp"

namespace rueda {
namespace {

using Members = std::vector<const Observation*>;

Series series_of(const Members& members, Scaling scaling, std::size_t batch) {
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, Members> configurations;
  for (const Observation* o : members) {
    configurations[{o->ranks, o->hosts, o->global_batch}].push_back(o);
  }
  Series series{*members.front(), "", "", scaling, batch, {}};
  for (const auto& [key, repeats] : configurations) series.points.push_back(merged(repeats));
  return series;
}

bool has_several_ranks(const Members& members) {
  return std::ranges::any_of(
      members, [&](const Observation* o) { return o->ranks != members.front()->ranks; });
}

/// Groups of one batch, in the order of the batches.
using Groups = std::map<std::size_t, Members>;

/// Appends the series of one scaling to `all`, and their observations to `placed`.
void add_scaling(std::vector<Series>& all, std::set<const Observation*>& placed,
                 const Groups& groups, Scaling scaling) {
  for (const auto& [batch, members] : groups) {
    if (batch == 0 || !has_several_ranks(members)) continue;
    all.push_back(series_of(members, scaling, batch));
    placed.insert(members.begin(), members.end());
  }
}

void add_kind(std::vector<Series>& all, const Members& members) {
  Groups by_rank_batch, by_global_batch;
  for (const Observation* o : members) {
    by_rank_batch[o->rank_batch].push_back(o);
    by_global_batch[o->global_batch].push_back(o);
  }
  std::set<const Observation*> placed;
  add_scaling(all, placed, by_rank_batch, Scaling::weak);
  add_scaling(all, placed, by_global_batch, Scaling::strong);
  std::map<std::pair<std::size_t, std::size_t>, Members> alone;
  for (const Observation* o : members) {
    if (!placed.contains(o)) alone[{o->ranks, o->global_batch}].push_back(o);
  }
  for (const auto& [key, repeats] : alone)
    all.push_back(series_of(repeats, Scaling::single, key.second));
}

std::string batch_text(const Series& s) {
  return std::to_string(s.batch) + (s.scaling == Scaling::weak ? " per rank" : " global");
}

std::string images_text(double images) {
  constexpr double kMost = 1e15;
  if (!(images >= 0 && images <= kMost)) return "images unknown";  // as in a log
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
    if (processors.size() > 1) s.label += std::string(", ") + to_string(s.processor);
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
  std::vector<std::pair<const Observation*, Members>> kinds;  // as they were given
  for (const Observation& o : observations) {
    const auto same = [&](const auto& kind) {
      const Observation& first = *kind.first;
      const bool both_unknown = std::isnan(first.images) && std::isnan(o.images);
      return Subject(first) == Subject(o) && (first.images == o.images || both_unknown);
    };
    auto found = std::ranges::find_if(kinds, same);
    if (found == kinds.end()) found = kinds.insert(kinds.end(), {&o, {}});
    found->second.push_back(&o);
  }
  std::vector<Series> all;
  for (const auto& [first, members] : kinds) add_kind(all, members);
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

}  // namespace rueda
