#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "facts.hpp"
#include "findings.hpp"

// Facts to JSON and back, by the names of their members.

namespace rueda::doctor {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LaunchFacts, launcher, told_size, told_by, refusal, in_slurm,
                                   slurm_tasks, slurm_nodes, slurm_cpus_per_task, slurm_gpus)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CoreFacts, allowed, online, quota, share, threads, remark)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuFacts, ordinal, name, uuid, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceFacts, built, hardware, visible, reason, takes, free_bytes,
                                   failure, driver_version, runtime_version, visible_devices,
                                   cudnn_compiled, cudnn_loaded)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(AwarenessFacts, compiled, reported, aware, why)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LinkFacts, latency_us, gb_per_second)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DataFacts, failure, form, place, files, class_names,
                                   train_per_class, test_per_class, fingerprint, remarks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(RankFacts, rank, size, local_rank, local_size, host, backend,
                                   backend_failure, versions, host_memory_bytes, launch, cores,
                                   device, awareness, host_link, data)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(BatchFacts, model, image_size, precision, largest_batch, failure)

using End = TransferFacts::End;
NLOHMANN_JSON_SERIALIZE_ENUM(End, {{End::not_tried, "not tried"},
                                   {End::arrived, "arrived"},
                                   {End::wrong, "wrong"},
                                   {End::failed, "failed"},
                                   {End::crashed, "crashed"},
                                   {End::stalled, "stalled"},
                                   {End::waited, "waited"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TransferFacts, end, device, detail, link)

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Progress, step, trouble, own)
NLOHMANN_JSON_SERIALIZE_ENUM(Severity, {{Severity::remark, "remark"}, {Severity::fault, "fault"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Finding, severity, what, change)

/// What --json writes: the verdict, the findings, and all facts.
std::string report_json(const ClusterFacts& cluster, const Findings& findings);

/// One line without its end, whatever bytes the texts hold.
std::string line_of(const nlohmann::json& json);

}  // namespace rueda::doctor
