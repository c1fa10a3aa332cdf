#include "rueda/study/run_result.hpp"

#include <algorithm>

#include "json_view.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

const std::string kRemedy = "give the run.json of a rueda run, whole";

OverRanks range(const JsonView& j, const std::string& name) {
  if (!j.has(name)) return {};
  const JsonView r = j.at(name);
  return {r.number_if_any("min"), r.number_if_any("mean"), r.number_if_any("max")};
}

Spread spread(const JsonView& j, const std::string& name) {
  if (!j.has(name)) return spread_of({});
  const JsonView s = j.at(name);
  Spread result = spread_of({});
  result.count = s.count("count");
  result.min = s.number_if_any("min");
  result.mean = s.number_if_any("mean");
  result.median = s.number_if_any("median");
  result.p90 = s.number_if_any("p90");
  result.max = s.number_if_any("max");
  result.deviation = s.number_if_any("deviation");
  return result;
}

std::array<OverRanks, kPhases> phases(const JsonView& j) {
  std::array<OverRanks, kPhases> result;
  if (!j.has("phases")) return result;
  for (std::size_t p = 0; p < kPhases; ++p) {
    result[p] = range(j.at("phases"), std::string(kPhaseNames[p]));
  }
  return result;
}

MeanStep mean_step(const JsonView& above, const std::string& name) {
  if (!above.has(name)) return {};
  const JsonView j = above.at(name);
  return {.count = j.count("count"),
          .seconds = range(j, "seconds"),
          .phases = phases(j),
          .busy = range(j, "all_reduce_busy"),
          .wait = range(j, "all_reduce_wait"),
          .transfer = range(j, "all_reduce_transfer"),
          .add = range(j, "all_reduce_add")};
}

CommunicationResult communication(const JsonView& above, const std::string& name) {
  if (!above.has(name)) return {};
  const JsonView j = above.at(name);
  CommunicationResult result{.bytes = j.number_if_any("bytes_per_step"),
                             .busy = range(j, "busy"),
                             .exposed = range(j, "exposed"),
                             .wait = range(j, "wait"),
                             .transfer = range(j, "transfer"),
                             .add = range(j, "add"),
                             .busy_slowest_rank = j.number_if_any("busy_slowest_rank"),
                             .algbw = j.number_if_any("algbw_GBps"),
                             .busbw = j.number_if_any("busbw_GBps"),
                             .buckets = {}};
  for (const JsonView& b : j.items("buckets")) {
    result.buckets.push_back({b.number_if_any("bytes"), spread(b, "queued"), spread(b, "busy"),
                              spread(b, "wait"), spread(b, "transfer"), spread(b, "add")});
  }
  return result;
}

EpochResult epoch(const JsonView& j) {
  EpochResult e;
  e.epoch = j.count("epoch");
  e.steps = j.count("steps");
  e.images = j.number("samples");
  e.seconds = j.number("seconds");
  e.images_per_second = j.number_if_any("images_per_second");
  e.loss = j.number_if_any("loss");
  e.accuracy = j.number_if_any("accuracy");
  e.val_accuracy = j.number_if_any("val_accuracy");
  e.resumed = j.has("resumed_at_step");
  if (j.has("energy")) e.joules = j.at("energy").number_if_any("joules");
  e.phases = phases(j);
  e.full_step = spread(j, "full_step_seconds");
  e.mean_full_step = mean_step(j, "full_step");
  for (const JsonView& r : j.items("ranks")) {
    e.ranks.push_back({r.count("rank"), r.number("seconds"), spread(r, "full_step_seconds"),
                       spread(r, "full_step_compute_seconds")});
  }
  if (!(e.seconds > 0)) j.at("seconds").refuse("is not positive");
  if (!(e.images >= 0)) j.at("samples").refuse("is negative");
  return e;
}

void read_identity(RunResult& run, const JsonView& j) {
  run.started_at = j.text_if_any("started_at");
  run.outcome = j.text("outcome");
  if (j.has("versions")) run.version = j.at("versions").text_if_any("rueda");
  for (const auto& [name, value] : j.fields("config")) run.options[name] = value.json().dump();
}

void read_work(RunResult& run, const JsonView& j) {
  const JsonView model = j.at("model");
  run.model = model.text("name");
  run.image_size = model.count("image_size");
  run.parameters = model.number_if_any("trainable_parameters");
  run.train_flops_per_image = model.number_if_any("train_flops_per_image");
  run.precision = j.at("config").text_if_any("precision");
  run.train_images = j.at("data").count("train_images");
  const JsonView batch = j.at("batch");
  run.global_batch = batch.positive("global");
  for (const JsonView& b : batch.items("per_rank")) run.rank_batches.push_back(b.positive());
  run.micro_batches = batch.positive("micro_batches");
  run.steps_per_epoch = batch.positive("steps_per_epoch");
  if (!j.has("timed")) return;
  run.timed_seconds = j.at("timed").number_if_any("seconds");
  run.timed_images = j.at("timed").number_if_any("images");
}

void read_all_reduce(RunResult& run, const JsonView& j) {
  run.all_reduce = j.text("algorithm");
  run.transport = j.text_if_any("transport");
  run.overlaps = j.has("overlaps_backward") && j.at("overlaps_backward").flag();
  run.gradient_bytes = j.number_if_any("gradient_bytes");
  for (const JsonView& b : j.items("bucket_bytes")) run.bucket_bytes.push_back(b.number());
}

void read_ranks(RunResult& run, const JsonView& j) {
  for (const JsonView& host : j.items("hosts")) run.hosts.push_back(host.text());
  for (const JsonView& r : j.items("ranks")) {
    run.ranks.push_back({r.count("rank"), r.text("host"), r.text("backend"),
                         r.text_if_any("device"), r.number_if_any("threads"),
                         r.number_if_any("cores"), r.number_if_any("memory_bytes")});
  }
  if (run.ranks.empty() || run.ranks.size() != run.rank_batches.size()) {
    j.at("ranks").refuse("does not have an entry for each rank of batch.per_rank");
  }
  for (const auto& [name, value] : j.fields("startup")) {
    run.startup.emplace_back(name, range(j.at("startup"), name));
  }
}

void read_summary(RunResult& run, const JsonView& j) {
  run.failure = j.text_if_any("failure");
  run.steady_full_step = mean_step(j, "steady_full_step");
  run.steady_full_step_seconds = spread(j, "steady_full_step_seconds");
  run.steady_communication = communication(j, "steady_communication");
  run.startup_seconds = j.number_if_any("startup_seconds");
  run.evaluation_seconds = j.number_if_any("evaluation_seconds");
  run.total_seconds = j.number_if_any("total_seconds");
}

void check_schema(const JsonView& j) {
  if (!j.has("schema") || j.json()["schema"] != "rueda-run") j.refuse("is no run.json");
  if (j.count("schema_version") != static_cast<std::size_t>(kRunSchemaVersion)) {
    j.at("schema_version").refuse("is not " + std::to_string(kRunSchemaVersion));
  }
}

}  // namespace

RunResult read_run(const std::filesystem::path& file) {
  const InputFile input{file, file.string(), kRemedy};
  const JsonView::Json json = read_json(input);
  const JsonView j(json, input);
  check_schema(j);
  RunResult run;
  run.file = file;
  read_identity(run, j);
  read_work(run, j);
  read_all_reduce(run, j.at("all_reduce"));
  read_ranks(run, j);
  for (const JsonView& e : j.items("epochs")) run.epochs.push_back(epoch(e));
  read_summary(run, j.at("summary"));
  return run;
}

std::vector<const EpochResult*> steady_epochs(const RunResult& run) {
  std::vector<const EpochResult*> steady;
  const auto& all = run.epochs;
  const auto is_first = [&all](std::size_t i) { return i == 0 || all[i].resumed; };
  std::size_t end = all.size();
  while (end > 0 && is_first(end - 1)) --end;
  std::size_t begin = end;
  while (begin > 0 && !is_first(begin - 1)) --begin;
  const bool elsewhere = begin < end && all[begin].ranks.size() != all.back().ranks.size();
  for (std::size_t i = begin; i < end && !elsewhere; ++i) steady.push_back(&all[i]);
  if (steady.empty() && !all.empty()) steady.push_back(&all.back());
  return steady;
}

}  // namespace rueda
