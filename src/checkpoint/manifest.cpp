#include "rueda/checkpoint/manifest.hpp"

#include <string_view>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "checkpoint_files.hpp"
#include "core/json_fields.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/train/config.hpp"

namespace rueda {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// The last field of the text. While the sum is taken, its digits are zeros.
constexpr std::string_view kOwnSum = "\"manifest_crc32\": \"";
constexpr std::string_view kNoSum = "00000000";

constexpr std::size_t kMostRanks = 1'000'000;                    // memory is taken for each
constexpr std::size_t kMostGlobalBatch = std::size_t{1} << 40U;  // products of it still fit

std::string hex(std::uint32_t sum) { return fmt::format("{:08x}", sum); }

std::uint32_t sum_of(const Json& j) {
  const std::string text = j;
  std::size_t used = 0;
  if (text.size() == 8 && text.find_first_not_of("0123456789abcdef") == text.npos)
    return static_cast<std::uint32_t>(std::stoul(text, &used, 16));
  throw InputError("'" + printable(text) + "' is no checksum");
}

/// Puts the sum of the text into its place.
std::string sealed(std::string text) {
  const std::size_t at = text.rfind(kOwnSum) + kOwnSum.size();
  return text.replace(at, kNoSum.size(), hex(crc32(text)));
}

bool is_sealed(const std::string& text) {
  const std::size_t field = text.rfind(kOwnSum);
  if (field == text.npos || field + kOwnSum.size() + kNoSum.size() > text.size()) return false;
  std::string open = text;
  open.replace(field + kOwnSum.size(), kNoSum.size(), kNoSum);
  return sealed(std::move(open)) == text;
}

const std::tuple kPositionFields{Field{"epochs", &TrainPosition::epochs},
                                 Field{"steps", &TrainPosition::steps}};
/// The loss is NaN where nothing was computed.
const std::tuple kTotalsFields{NanField{"loss_so_far", &Totals::loss},
                               NanField{"correct_so_far", &Totals::correct},
                               Field{"samples_so_far", &Totals::samples}};
const std::tuple kTimeFields{Field{"seconds_so_far", &TrainPosition::seconds},
                             Field{"spent_seconds", &TrainPosition::spent}};
const std::tuple kSizeFields{Field{"world_size", &Manifest::world},
                             Field{"micro_batches", &Manifest::micro_batches},
                             Field{"global_batch", &Manifest::global_batch}};
const std::tuple kOriginFields{Field{"data", &Manifest::data},
                               Field{"machines", &Manifest::machines}};

Json position_json(const Manifest& m) {
  Json j = fields_json(m.position, kPositionFields);
  j["global_step"] = m.global_step();
  j["steps_per_epoch"] = m.steps_per_epoch;
  put_fields(j, m.position.so_far, kTotalsFields);
  put_fields(j, m.position, kTimeFields);
  return j;
}

void read_position(const Json& j, Manifest& m) {
  m.steps_per_epoch = whole_number(j, "steps_per_epoch");
  read_fields(j, m.position, kPositionFields);
  read_fields(j, m.position.so_far, kTotalsFields);
  read_fields(j, m.position, kTimeFields);
  if (m.position.steps > m.steps_per_epoch)
    throw InputError(
        fmt::format("it has {} steps of an epoch of {}", m.position.steps, m.steps_per_epoch));
}

Json files_json(const std::vector<CheckpointFile>& files) {
  Json j = Json::object();
  for (const CheckpointFile& file : files)
    j[file.name] = {{"bytes", file.bytes}, {"crc32", hex(file.crc32)}};
  return j;
}

std::vector<CheckpointFile> read_files(const Json& j) {
  std::vector<CheckpointFile> files;
  for (const auto& [name, file] : j.items()) {
    // A name that leads elsewhere is none of ours.
    if (name.empty() || name.find('/') != name.npos || name == "." || name == "..")
      throw InputError("it names the file '" + printable(name) + "'");
    files.push_back({name, whole_number(file, "bytes"), sum_of(file.at("crc32"))});
    if (files.back().bytes > kMostFileBytes)
      throw InputError("it names a file of more than 64 GiB");
  }
  return files;
}

void check_schema(const Json& j) {
  if (j.at("schema") != "rueda-checkpoint") throw InputError("it is none of rueda's");
  const std::size_t version = whole_number(j, "schema_version");
  if (version != kCheckpointSchemaVersion)
    throw InputError(fmt::format("its schema_version is {}, this program reads {}", version,
                                 kCheckpointSchemaVersion));
}

Manifest read_manifest(const Json& j) {
  check_schema(j);
  Manifest m;
  read_position(j.at("position"), m);
  read_fields(j, m, kSizeFields);
  m.written_at = j.at("written_at");
  for (const auto& [name, version] : j.at("versions").items())
    m.versions.emplace_back(name, version);
  m.config = j.at("config").dump();
  read_fields(j, m, kOriginFields);
  m.files = read_files(j.at("files"));
  if (m.world == 0 || m.micro_batches == 0 || m.global_batch == 0)
    throw InputError("a count in it is 0");
  if (m.world > kMostRanks) throw InputError("it is of more than a million ranks");
  if (m.micro_batches > kMostSamples)
    throw InputError("it has more than a million micro-batches per rank and step");
  if (m.global_batch > kMostGlobalBatch) throw InputError("its global batch is beyond any use");
  return m;
}

}  // namespace

std::string to_json(const Manifest& m) {
  Json j;
  j["schema"] = "rueda-checkpoint";
  j["schema_version"] = kCheckpointSchemaVersion;
  j["written_at"] = m.written_at;
  j["position"] = position_json(m);
  put_fields(j, m, kSizeFields);
  j["versions"] = Json::object();
  for (const auto& [name, version] : m.versions) j["versions"][name] = version;
  put_fields(j, m, kOriginFields);
  j["config"] = Json::parse(m.config);
  j["files"] = files_json(m.files);
  j["manifest_crc32"] = kNoSum;
  return sealed(j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

Manifest parse_manifest(const std::string& text, const fs::path& path) {
  const InputFile file = checkpoint_file(path);
  if (!is_sealed(text)) file.refuse("its manifest is damaged");
  try {
    if (const std::string fault = fault_of_json(text); !fault.empty()) throw InputError(fault);
    return read_manifest(Json::parse(text));
  } catch (const Json::exception& error) {
    file.refuse(std::string("its manifest is not as expected: ") + error.what());
  } catch (const InputError& error) {
    file.refuse(std::string("its manifest is not as expected: ") + error.what());
  }
}

}  // namespace rueda
