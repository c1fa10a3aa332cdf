#include "layout_words.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "rueda/display/number_text.hpp"

namespace rueda {

std::string processor_word(Processor processor) {
  if (processor == Processor::timed) return "timed";
  return processor == Processor::cpu ? "CPU" : "GPU";
}

std::string ranks_heading(Processor processor) {
  return processor == Processor::gpu ? "GPUs" : "Ranks";
}

std::string scaling_note(const Series& series) {
  const std::string images = count_text(series.batch);
  if (series.scaling == Scaling::strong)
    return fmt::format("Strong scaling: {} images per step over all ranks.", images);
  return fmt::format(
      "Weak scaling: {} images per step on every rank; an epoch has fewer steps the more ranks "
      "there "
      "are.",
      images);
}

std::string speedup_note(const Series& series) {
  const std::size_t fewest = series.points.front().ranks;
  if (fewest == 1) return "Speedup S(P) = T(1) / T(P); efficiency = S(P) / P.";
  return fmt::format("No run on one rank: speedup S(P) = {0} T({0}) / T(P); efficiency = S(P) / P.",
                     fewest);
}

std::string remark(const Point& point) {
  std::string text = point.oversubscribed ? "more threads than cores" : "";
  if (point.includes_warm_up) text += (text.empty() ? "" : ", ") + std::string("includes warm-up");
  return text;
}

std::set<std::size_t> all_ranks(const std::vector<const SeriesFigures*>& group) {
  std::set<std::size_t> ranks;
  for (const SeriesFigures* series : group) {
    for (const PointFigures& point : series->points) ranks.insert(point.point->ranks);
  }
  return ranks;
}

const PointFigures* point_at(const SeriesFigures& series, std::size_t ranks) {
  const auto found = std::ranges::find_if(
      series.points, [&](const PointFigures& point) { return point.point->ranks == ranks; });
  return found == series.points.end() ? nullptr : &*found;
}

}  // namespace rueda
