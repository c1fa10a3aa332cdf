#include <functional>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/text.hpp"
#include "study/observation.hpp"
#include "study/tables/point_table.hpp"

namespace rueda {
namespace {

void add_run(Table& table, const RunResult& run) {
  std::string model = run.config.model.name;
  double seconds = kUnknown, accuracy = kUnknown;
  if (!run.epochs.empty()) {
    const Observation seen = observe(run);
    if (seen.processor == Processor::timed) model += " (nothing computed)";
    seconds = seen.epoch.value;
    if (run.epochs.back().test) accuracy = run.epochs.back().test->accuracy;
  }
  std::string outcome = run.outcome;
  if (run.summary.diverged) outcome += ", diverged";
  table.add({folder_name(run.file), model, double(run.world_size()), double(run.global_batch),
             double(run.epochs.size()), seconds, accuracy, outcome,
             run.summary.failure.value_or("")});
}

std::size_t batch_of_rank(const Attempt& attempt) {
  if (attempt.rank_batch > 0) return attempt.rank_batch;
  return attempt.global_batch / attempt.ranks;
}

std::size_t batch_of_all(const Attempt& attempt) {
  if (attempt.global_batch > 0) return attempt.global_batch;
  return attempt.rank_batch * attempt.ranks;
}

/// Memory of the rank that holds most.
double most_memory(const Point& point) {
  double most = kUnknown;
  for (const RunResult* run : point.runs) most = std::fmax(most, run->memory_bytes);
  return most;
}

/// By depth, model, P and batch of a rank, in this order.
using Batches = std::map<std::tuple<std::size_t, std::string, std::size_t, std::size_t>, Fields>;

/// Times and memory are unknown where the batch was refused.
void add_batch(Batches& batches, const std::string& model, const Point& p, const char* marks) {
  batches[{depth_of(model), model, p.ranks, p.rank_batch}] = {
      {"model", "model", Show::text, model},
      {"ranks", "P", Show::count, double(p.ranks)},
      {"rank_batch", "batch per rank", Show::count, double(p.rank_batch)},
      {"global_batch", "global batch", Show::count, double(p.rank_batch * p.ranks)},
      {"images_per_second", "images/s", Show::rate, per(p.images, p.epoch).value},
      {"epoch_seconds", "epoch, s", Show::seconds, p.epoch.value},
      {"full_step_seconds", "full step, ms", Show::millis, p.full_step.value},
      {"memory_bytes", "memory of a rank", Show::bytes, most_memory(p)},
      {"marks", "marks", Show::text, marks}};
}

/// Seconds of the slowest rank.
double startup_seconds(const RunResult* run, const std::string& item) {
  if (run == nullptr) return kUnknown;
  for (const auto& [name, seconds] : run->startup)
    if (name == item) return seconds.max;
  return kUnknown;
}

/// Of all items; unknown where that was not measured.
double startup_seconds(const RunResult* run) {
  if (run == nullptr || !(run->summary.startup_seconds > 0)) return kUnknown;
  return run->summary.startup_seconds;
}

bool same_processor(const Observation& a, const Observation& b) {
  return a.source == b.source && a.processor == b.processor;
}

/// Whether the ratio of their times is one of processors.
bool same_work(const Observation& a, const Observation& b) {
  return a.model == b.model && a.image_size == b.image_size && a.global_batch == b.global_batch &&
         same_images(a, b);
}

std::string processor_name(const Observation& o) {
  std::string text = std::string(to_string(o.processor)) + " (" + o.source;
  if (!o.variant.empty()) text += ", " + o.variant;
  return text + ")";
}

void add_row(Table& table, const Observation& slow, const Observation& fast) {
  const Estimate first = slow.first_epoch / fast.first_epoch;
  const Estimate steady = slow.epoch / fast.epoch;
  const Estimate printed = slow.printed_epoch / fast.printed_epoch;
  table.add_fields(
      {{"model", "Model", Show::text, slow.model},
       {"image_size", "Pixels", Show::count, count_cell(slow.image_size)},
       {"batch", "Batch", Show::count, count_cell(slow.global_batch)},
       {"slower", "Slower", Show::text, processor_name(slow)},
       {"faster", "Faster", Show::text, processor_name(fast)},
       {"first_slower_s", "First epoch, slower (s)", Show::seconds, slow.first_epoch.value},
       {"first_faster_s", "First epoch, faster (s)", Show::seconds, fast.first_epoch.value},
       {"first_ratio", "Ratio of first epochs", Show::ratio, first.value},
       {"steady_slower_s", "Steady epoch, slower (s)", Show::seconds, slow.epoch.value},
       {"steady_faster_s", "Steady epoch, faster (s)", Show::seconds, fast.epoch.value},
       {"steady_ratio", "Ratio of steady epochs", Show::ratio, steady.value},
       {"steady_ratio_low", "at least", Show::ratio, low_of(steady)},
       {"steady_ratio_high", "at most", Show::ratio, high_of(steady)},
       {"printed_ratio", "Ratio as printed", Show::ratio, printed.value},
       {"printed_ratio_low", "at least", Show::ratio, low_of(printed)},
       {"printed_ratio_high", "at most", Show::ratio, high_of(printed)}});
}

double epoch_seconds(const Observation& o) { return o.epoch.value; }

/// The repeats of each processor and its options.
using Machines = std::vector<Members>;

void add_to_machine(Machines& machines, const Observation& seen) {
  const auto is_same = [&](const Members& repeats) {
    return same_processor(*repeats.front(), seen) && repeats.front()->variant == seen.variant;
  };
  group_of(machines, is_same).push_back(&seen);
}

/// Every two processors that did the same work, the slower one first.
void add_pairs(Table& table, const Machines& all) {
  Observations machines = values_of(all, merged);
  std::ranges::stable_sort(machines, std::greater(), epoch_seconds);
  for (auto slow = machines.begin(); slow != machines.end(); ++slow) {
    for (auto fast = slow + 1; fast != machines.end(); ++fast)
      if (!same_processor(*slow, *fast)) add_row(table, *slow, *fast);
  }
}

Fields cost_row(const PointFigures& f) {
  return {{"device_seconds_per_epoch", "P x epoch, s", Show::seconds, f.device_seconds},
          {"device_hours_per_100_epochs", "h for 100 epochs", Show::rate,
           f.device_seconds * 100 / 3600},
          {"epoch_seconds", "epoch, s", Show::seconds, f.point->epoch.value},
          {"watt_hours_per_epoch", "Wh per epoch", Show::rate, f.energy.total() / 3600},
          {"joules_per_image", "J per image", Show::rate, f.energy.total() / f.point->images},
          {"energy_of", "energy of", Show::text, f.energy.includes()}};
}

Table cost_table(const StudyFigures& all) {
  return point_table(
      "cost", "Device hours and energy", all, cost_row,
      {"Device hours: ranks x epoch time, as a site bills them, without start-up "
       "and evaluation. A rank is one GPU or the threads of one rank.",
       "Energy: of the training steps, by the counters of GPUs (NVML) and of hosts "
       "(RAPL: processors and memory), which count for all programs on them. Compare "
       "only rows that include the same. A dash: not measured."});
}

/// Of all runs, in their order.
Texts startup_item_names(const StudyFigures& all) {
  Texts items;
  for (const PointFigures* f : points_of(all)) {
    if (f->run == nullptr) continue;
    for (const auto& [item, seconds] : f->run->startup) items.push_back(item);
  }
  return each_once(items);
}

Fields startup_row(const PointFigures& f, const Texts& items) {
  Fields fields;
  const Point& p = *f.point;
  if (f.run == nullptr && !known(p.first_epoch)) return fields;
  fields = {{"startup_seconds", "start-up, s", Show::seconds, startup_seconds(f.run)}};
  for (const std::string& item : items)
    fields.push_back({item + "_seconds", item, Show::seconds, startup_seconds(f.run, item)});
  fields.push_back({"first_epoch_seconds", "first epoch, s", Show::seconds, p.first_epoch.value});
  fields.push_back({"first_epoch_excess_seconds", "more than steady, s", Show::seconds,
                    p.first_epoch.value - p.epoch.value});
  return fields;
}

Table startup_table(const StudyFigures& all) {
  const Texts items = startup_item_names(all);
  const auto row = [&](const PointFigures& f) { return startup_row(f, items); };
  return point_table("startup", "Start-up and the first epoch", all, row,
                     {"Start-up: everything before the first step, of the rank that took longest. "
                      "Each item is the longest of a rank, so they may add up to more. It belongs "
                      "to no epoch here; frameworks book most of it on the first.",
                      "First epoch: the time beyond the steady ones went to caches, page faults, "
                      "new connections, and kernels that were chosen or compiled."});
}

/// The model and all but P and batch in which series of this study differ.
std::string subject_of(const Series& series, const StudyFigures& all) {
  std::set<Processor> processors;
  std::set<std::size_t> pixels;
  for (const SeriesFigures& other : all) {
    processors.insert(other.series->processor);
    if (other.series->model == series.model) pixels.insert(other.series->image_size);
  }
  std::string name = series.model;
  if (!series.variant.empty()) name += ", " + series.variant;
  if (processors.size() > 1) name += std::string(", ") + to_string(series.processor);
  if (pixels.size() > 1) name += fmt::format(", {} pixels", series.image_size);
  return name + series.source_remark();
}

Table batch_table(const Study& study, const StudyFigures& all) {
  Batches batches;
  for (const PointFigures* f : points_of(all)) {
    if (f->point->rank_batch == 0) continue;
    const char* marks = f->point->processor == Processor::timed ? "nothing computed" : "";
    add_batch(batches, subject_of(*f->series, all), *f->point, marks);
  }
  for (const Attempt& a : study.failed) {
    Point refused;
    refused.ranks = a.ranks;
    refused.rank_batch = batch_of_rank(a);
    const bool memory = a.message.find("memory") != std::string::npos;
    add_batch(batches, a.model, refused, memory ? "refused: memory" : "failed");
  }
  Table table{
      .id = "batches",
      .title = "Throughput over the batch",
      .notes = {
          "Memory: of training on the device of the rank that holds most. *Refused*: the plan of "
          "this batch did not fit into the free memory, so the run did not begin."}};
  for (const auto& [key, fields] : batches) table.add_fields(fields);
  return table;
}

Table run_table(const Study& study) {
  Table table{.id = "runs",
              .title = "Runs",
              .columns = {{"run", "run", Show::text},
                          {"model", "model", Show::text},
                          {"ranks", "P", Show::count},
                          {"global_batch", "global batch", Show::count},
                          {"epochs", "epochs", Show::count},
                          {"epoch_seconds", "epoch, s", Show::seconds},
                          {"val_accuracy", "val. accuracy, %", Show::percent},
                          {"outcome", "outcome", Show::text},
                          {"message", "message", Show::text}}};
  for (const RunResult& run : study.runs) add_run(table, run);
  for (const RunResult& run : study.empty_runs) add_run(table, run);
  for (const Attempt& a : study.failed) {
    const char* outcome = a.exit_code == 2 ? "refused" : "failed";
    table.add({folder_name(a.file), a.model, double(a.ranks), double(batch_of_all(a)), Cell(),
               Cell(), Cell(), outcome, a.message});
  }
  for (const Unreadable& file : study.unreadable) {
    const Cell none;
    table.add(
        {folder_name(file.file), none, none, none, none, none, none, "not readable", file.why});
  }
  return table;
}

/// Whether the book ran something on one processor.
bool has_book(const Observations& observations) {
  for (const Observation& o : observations)
    if (o.source == kBookSource && o.ranks == 1) return true;
  return false;
}

}  // namespace

Table acceleration_table(const Observations& observations) {
  std::vector<Machines> works;  // as they were given
  for (const Observation& seen : observations) {
    if (seen.ranks != 1 || seen.global_batch == 0) continue;
    const auto is_same = [&](const Machines& work) {
      return same_work(*work.front().front(), seen);
    };
    add_to_machine(group_of(works, is_same), seen);
  }
  Table table{.id = "acceleration",
              .title = "Acceleration: one processor against another",
              .notes = {"One processor or GPU each (P = 1), the same model, images and batch: this "
                        "is acceleration by other hardware, not scaling.",
                        "Ratio = time of the slower / time of the faster. At least and at most: "
                        "what repeats or rounding leave.",
                        "As printed: from the rounded seconds of an epoch in a log; the ratio "
                        "before uses the printed time per step, too, where there is one."}};
  for (const auto& machines : works) add_pairs(table, machines);
  if (has_book(observations)) {
    table.notes.push_back(
        "The \"nearly 10x\" of Torres 2026, ch. 10 is 220 s / 24 s of first epochs; steady it is "
        "215 s / 14 s = 15.4, and 15.0 with the 73 ms per step that the same log prints.");
  }
  return table;
}

Tables study_tables(const Study& study, const StudyFigures& all) {
  Tables tables = point_tables(all);
  tables.insert(tables.end(),
                {cost_table(all), startup_table(all), batch_table(study, all), run_table(study)});
  return without_empty(std::move(tables));
}

}  // namespace rueda
