#include "json_parts.hpp"
#include "rueda/record/run_json.hpp"

namespace rueda {
namespace {

Json fault_json(const InjectedFault& fault) {
  if (fault.kind == InjectedFault::Kind::none) return nullptr;
  return std::string(to_string(fault.kind)) + ":" + std::to_string(fault.rank) + ":" +
         std::to_string(fault.step);
}

/// Null where nothing was given.
Json path_json(const std::string& path) { return path.empty() ? Json() : Json(path); }

void add_training(Json& j, const TrainConfig& c) {
  j["epochs"] = c.epochs;
  j["lr"] = c.lr;
  j["momentum"] = c.momentum;
  j["weight-decay"] = c.weight_decay;
  j["nesterov"] = c.nesterov;
  j["scale-lr"] = to_string(c.scale_lr);
  j["base-batch"] = c.base_batch;
  j["warmup-epochs"] = c.warmup_epochs;
  j["lr-schedule"] = to_string(c.lr_schedule);
  j["seed"] = c.seed;
}

void add_data(Json& j, const TrainConfig& c) {
  j["data"] = c.data;
  j["data-limit"] = c.data_limit;
  j["augment"] = to_string(c.augment);
  j["normalize"] = to_string(c.normalize);
  j["shuffle"] = c.shuffle ? "on" : "off";
  j["shard"] = to_string(c.shard);
  j["last-batch"] = to_string(c.last_batch);
  j["input"] = to_string(c.input);
  j["input-workers"] = c.input_workers;
}

void add_parallel(Json& j, const TrainConfig& c) {
  j["batch-per-rank"] = c.batch_per_rank == kMostThatFits ? Json("max") : Json(c.batch_per_rank);
  j["global-batch"] = c.global_batch;
  j["accumulate"] = c.accumulate;
  j["on-oom"] = to_string(c.on_oom);
  j["backend"] = to_string(c.backend);
  j["compute-ms"] = c.compute_ms != 0 ? Json(c.compute_ms) : Json();
  j["compute-from"] = path_json(c.compute_from);
  j["compute-jitter"] = c.compute_jitter;
  j["precision"] = to_string(c.precision);
  j["recompute"] = to_string(c.recompute);
  j["deterministic"] = c.deterministic;
  j["tuning-file"] = path_json(c.tuning_file);
  j["tune-engines"] = c.tune;
  j["threads"] = c.threads;
  j["all-reduce"] = to_string(c.all_reduce);
  j["segment-kb"] = c.segment_kb;
  j["reduce-table"] = path_json(c.reduce_table);
  j["wire"] = to_string(c.wire);
  j["wire-error-feedback"] = c.wire_error_feedback;
  j["reduce-order"] = to_string(c.reduce_order);
  j["overlap"] = to_string(c.overlap);
  j["bucket-mb"] = c.bucket_mb;
  j["stall-seconds"] = c.stall_seconds;
  j["transport"] = to_string(c.transport);
  j["allow-shared-gpu"] = c.allow_shared_gpu;
}

void add_output(Json& j, const TrainConfig& c) {
  j["check-replicas"] = to_string(c.check_replicas);
  j["verify-messages"] = c.verify_messages;
  j["inject"] = fault_json(c.fault);
  j["eval-every"] = c.eval_every;
  j["target-accuracy"] = c.target_accuracy ? Json(*c.target_accuracy) : Json();
  j["checkpoint-every"] =
      c.checkpoint_every.count > 0 ? Json(to_string(c.checkpoint_every)) : Json();
  j["keep"] = c.keep;
  j["resume"] = path_json(c.resume);
  j["run-dir"] = c.run_dir;
  j["save-weights"] = path_json(c.save_weights);
  j["overwrite"] = c.overwrite;
  j["progress"] = c.progress;
  j["trace"] = path_json(c.trace);
  j["trace-steps"] = c.trace_steps;
}

}  // namespace

Json config_json(const TrainConfig& config) {
  Json j;
  j["model"] = config.model;
  j["image-size"] = config.image_size;
  j["init-weights"] = path_json(config.init_weights);
  add_data(j, config);
  add_training(j, config);
  add_parallel(j, config);
  add_output(j, config);
  return j;
}

std::string options_json(const TrainConfig& config) { return text_of(config_json(config)); }

std::string config_text(const TrainConfig& config) {
  const Json json = config_json(config);
  std::string text;
  for (const auto& [option, value] : json.items()) {
    text += "--" + option + " " + text_of(value) + "\n";
  }
  return text;
}

}  // namespace rueda
