#pragma once

#include "base/json/json_fields.hpp"
#include "commands/doctor/facts.hpp"

// The lists of fields by which facts go to JSON and back: from rank to rank, from
// worker to supervisor, and to --json. All are in the order of the alphabet.

namespace rueda {

inline auto fields_of(const NetworkInterface&) {
  return std::tuple{Field{"address", &NetworkInterface::address},
                    Field{"loopback", &NetworkInterface::loopback},
                    Field{"name", &NetworkInterface::name}, Field{"up", &NetworkInterface::up}};
}

inline auto fields_of(const FileSetting&) {
  return std::tuple{Field{"file", &FileSetting::file}, Field{"line", &FileSetting::line},
                    Field{"name", &FileSetting::name}, Field{"value", &FileSetting::value}};
}

inline auto fields_of(const CudaDevice&) {
  return std::tuple{Field{"memory_bytes", &CudaDevice::memory_bytes},
                    Field{"name", &CudaDevice::name}, Field{"ordinal", &CudaDevice::ordinal},
                    Field{"uuid", &CudaDevice::uuid}};
}

}  // namespace rueda

namespace rueda::doctor {

inline auto fields_of(const LaunchFacts&) {
  return std::tuple{Field{"file_settings", &LaunchFacts::file_settings},
                    Field{"in_slurm", &LaunchFacts::in_slurm},
                    Field{"launcher", &LaunchFacts::launcher},
                    Field{"obstacles", &LaunchFacts::obstacles},
                    Field{"refusal", &LaunchFacts::refusal},
                    Field{"refuses_root", &LaunchFacts::refuses_root},
                    Field{"settings", &LaunchFacts::settings},
                    Field{"slurm_cpus_per_task", &LaunchFacts::slurm_cpus_per_task},
                    Field{"slurm_gpus", &LaunchFacts::slurm_gpus},
                    Field{"slurm_nodes", &LaunchFacts::slurm_nodes},
                    Field{"slurm_tasks", &LaunchFacts::slurm_tasks},
                    Field{"told_by", &LaunchFacts::told_by},
                    Field{"told_size", &LaunchFacts::launched_size}};
}

inline auto fields_of(const CoreFacts&) {
  return std::tuple{Field{"allowed", &CoreFacts::allowed}, Field{"cores", &CoreFacts::cores},
                    Field{"got", &CoreFacts::got},         Field{"launcher", &CoreFacts::launcher},
                    Field{"online", &CoreFacts::online},   Field{"quota", &CoreFacts::quota},
                    Field{"remark", &CoreFacts::remark},   Field{"share", &CoreFacts::share},
                    Field{"team", &CoreFacts::team},       Field{"threads", &CoreFacts::threads}};
}

inline auto fields_of(const DeviceFacts&) {
  return std::tuple{Field{"built", &DeviceFacts::built},
                    Field{"cudnn_compiled", &DeviceFacts::cudnn_compiled},
                    Field{"cudnn_loaded", &DeviceFacts::cudnn_loaded},
                    Field{"driver_version", &DeviceFacts::driver_version},
                    Field{"failure", &DeviceFacts::failure},
                    Field{"free_bytes", &DeviceFacts::free_bytes},
                    Field{"hardware", &DeviceFacts::hardware},
                    Field{"reason", &DeviceFacts::reason},
                    Field{"runtime_version", &DeviceFacts::runtime_version},
                    Field{"takes", &DeviceFacts::takes},
                    Field{"visible", &DeviceFacts::visible},
                    Field{"visible_devices", &DeviceFacts::visible_devices}};
}

inline auto fields_of(const AwarenessFacts&) {
  return std::tuple{
      Field{"aware", &AwarenessFacts::aware}, Field{"compiled", &AwarenessFacts::compiled},
      Field{"reported", &AwarenessFacts::reported}, Field{"why", &AwarenessFacts::why}};
}

inline auto fields_of(const LinkFacts&) {
  return std::tuple{Field{"gb_per_second", &LinkFacts::gb_per_second},
                    Field{"latency_us", &LinkFacts::latency_us}};
}

inline auto fields_of(const DataFacts&) {
  return std::tuple{Field{"class_names", &DataFacts::class_names},
                    Field{"failure", &DataFacts::failure},
                    Field{"files", &DataFacts::files},
                    Field{"fingerprint", &DataFacts::fingerprint},
                    Field{"form", &DataFacts::form},
                    Field{"place", &DataFacts::place},
                    Field{"remarks", &DataFacts::remarks},
                    Field{"test_per_class", &DataFacts::test_per_class},
                    Field{"train_per_class", &DataFacts::train_per_class}};
}

inline auto fields_of(const RankFacts&) {
  return std::tuple{Field{"awareness", &RankFacts::awareness},
                    Field{"backend", &RankFacts::backend},
                    Field{"backend_failure", &RankFacts::backend_failure},
                    Field{"copies_twice", &RankFacts::copies_twice},
                    Field{"cores", &RankFacts::cores},
                    Field{"data", &RankFacts::data},
                    Field{"device", &RankFacts::device},
                    Field{"host", &RankFacts::host},
                    Field{"host_link", &RankFacts::host_link},
                    Field{"host_memory", &RankFacts::host_memory},
                    Field{"host_memory_bytes", &RankFacts::host_memory_bytes},
                    Field{"launch", &RankFacts::launch},
                    Field{"limits", &RankFacts::limits},
                    Field{"local_rank", &RankFacts::local_rank},
                    Field{"local_size", &RankFacts::local_size},
                    Field{"network", &RankFacts::network},
                    Field{"process_memory_bytes", &RankFacts::process_memory_bytes},
                    Field{"rank", &RankFacts::rank},
                    Field{"size", &RankFacts::size},
                    Field{"versions", &RankFacts::versions}};
}

inline auto fields_of(const TransferFacts&) {
  return std::tuple{Field{"detail", &TransferFacts::detail},
                    Field{"device", &TransferFacts::device}, Field{"end", &TransferFacts::end},
                    Field{"link", &TransferFacts::link}};
}

inline auto fields_of(const BatchFacts&) {
  return std::tuple{Field{"failure", &BatchFacts::failure},
                    Field{"image_size", &BatchFacts::image_size},
                    Field{"largest_batch", &BatchFacts::largest_batch},
                    Field{"model", &BatchFacts::model}, Field{"precision", &BatchFacts::precision}};
}

inline auto fields_of(const LargestBatches&) {
  return std::tuple{Field{"backend", &LargestBatches::backend},
                    Field{"memory_bytes", &LargestBatches::memory_bytes},
                    Field{"models", &LargestBatches::models}};
}

inline auto fields_of(const Progress&) {
  return std::tuple{Field{"own", &Progress::own}, Field{"step", &Progress::step},
                    Field{"trouble", &Progress::trouble}};
}

inline auto fields_of(const Finding&) {
  return std::tuple{Field{"change", &Finding::change}, Field{"severity", &Finding::severity},
                    Field{"what", &Finding::what}};
}

}  // namespace rueda::doctor
