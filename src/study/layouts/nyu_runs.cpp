#include <set>
#include <tuple>

#include "display/text.hpp"
#include "study/layouts/layouts.hpp"

namespace rueda {
namespace {

/// The epoch that question 4 asks for.
constexpr std::size_t kFifth = 5;

/// Each configuration once, though it may belong to a weak and to a strong series.
std::vector<const PointFigures*> configurations(const StudyFigures& all) {
  std::set<std::tuple<Subject, std::size_t, std::size_t, double>> seen;
  std::vector<const PointFigures*> points;
  for (const PointFigures* f : points_of(all)) {
    const Point& p = *f->point;
    const Subject& subject = p;
    if (seen.emplace(subject, p.ranks, p.global_batch, p.epoch.value).second) points.push_back(f);
  }
  return points;
}

/// What every row begins with.
Fields named(const PointFigures& f) {
  const Point& p = *f.point;
  std::string what = p.model + ", " + std::string(to_string(p.processor)) + p.source_remark();
  if (!p.variant.empty()) what += ", " + p.variant;
  return {{"model", "Model", Show::text, what},
          {"ranks", ranks_heading(p.processor), Show::count, double(p.ranks)},
          {"rank_batch", "Batch of each", Show::count, count_cell(p.rank_batch)}};
}

Table one_device(const StudyFigures& all) {
  Table table{.id = "nyu_question_1",
              .title = "Question 1: an epoch on one device",
              .notes = {"Time: an epoch after the first. Without loading: less what its steps "
                        "waited for data; the copy to the device is part of it. Nothing where "
                        "loading was not measured."}};
  for (const PointFigures* f : configurations(all)) {
    if (f->ranks() != 1) continue;
    Fields fields = named(*f);
    const double seconds = f->point->epoch.value;
    fields.insert(fields.end(),
                  {{"unloaded_s", "Without loading (sec)", Show::seconds, seconds - loading_of(*f)},
                   {"loading_s", "Loading (sec)", Show::seconds, loading_of(*f)},
                   {"time_s", "Time (sec)", Show::seconds, seconds},
                   {"images_per_second", "Images/s", Show::rate, f->images_per_second.value},
                   {"marks", "Marks", Show::text, marks_of(*f->point, "; ")}});
    table.add_fields(fields);
  }
  return table;
}

/// Null where the run has none.
const EpochFigures* fifth_epoch(const RunResult& run) {
  const auto epoch = std::ranges::find(run.epochs, kFifth, &EpochFigures::epoch);
  if (epoch == run.epochs.end()) return nullptr;
  return &*epoch;
}

Table large_batches(const StudyFigures& all) {
  Table table{.id = "nyu_question_4",
              .title = "Question 4.1: the fifth epoch, by its batch",
              .notes = {"Loss and accuracy: means over the training images of the fifth epoch, "
                        "each by the weights of its step. Of repeats, the run that stands for "
                        "all.",
                        "Runs of fewer epochs are left out; --epochs 5 trains five."}};
  for (const PointFigures* f : configurations(all)) {
    const EpochFigures* epoch = nullptr;
    if (f->run != nullptr) epoch = fifth_epoch(*f->run);
    if (epoch == nullptr) continue;
    Fields fields = named(*f);
    fields.insert(
        fields.end(),
        {{"global_batch", "Batch of all", Show::count, count_cell(f->point->global_batch)},
         {"learning_rate", "Learning rate", Show::ratio, epoch->learning_rate},
         {"train_loss", "Training loss", Show::seconds, epoch->train.loss},
         {"train_accuracy", "Training accuracy (%)", Show::percent, epoch->train.accuracy}});
    table.add_fields(fields);
  }
  return table;
}

}  // namespace

Tables nyu_run_tables(const StudyFigures& all) {
  return without_empty({one_device(all), large_batches(all)});
}

}  // namespace rueda
