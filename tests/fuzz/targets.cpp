// The targets of fuzzing: a reader each, fed as the program would feed it, and what is made of what
// it read. To refuse is all that a reader may do with what it does not like: whatever else it
// throws ends the process. RUEDA_FUZZ_TARGET names the target; the entry point is libFuzzer's.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <stdlib.h>
#include <zlib.h>

#include "base/error.hpp"
#include "cli/cli.hpp"
#include "data/cifar10_files.hpp"
#include "model/weights/safetensors.hpp"
#include "model/weights/weights_file.hpp"
#include "record/run_json.hpp"
#include "rueda/data/dataset.hpp"
#include "run/checkpoint/checkpoint.hpp"
#include "run/wiring/tuning_file.hpp"
#include "tests/support/small_graphs.hpp"

namespace {

namespace fs = std::filesystem;

struct Input {
  std::span<const std::uint8_t> bytes;
  fs::path file;  ///< with these bytes, for readers that take a path

  std::string text() const { return {bytes.begin(), bytes.end()}; }
};

template <typename Read>
void read_or_refuse(Read read) {
  try {
    read();
  } catch (const rueda::InputError&) {
  }
}

/// The Python version's files: a pickle that is read and never executed.
void read_pickle(const Input& in) {
  rueda::ImageSet set;
  read_or_refuse([&] { rueda::decode_python(in.bytes, "data_batch_1", set); });
  rueda::python_class_names(in.bytes, "batches.meta");
}

/// The binary version's files.
void read_binary(const Input& in) {
  rueda::ImageSet set;
  read_or_refuse([&] { rueda::decode_binary(in.bytes, "data_batch_1.bin", set); });
  rueda::binary_class_names(in.bytes);
}

/// A file of weights: its header, then the tensors, by themselves and into a network.
void read_weights(const Input& in) {
  read_or_refuse([&] {
    rueda::SafetensorsFile file(in.file);
    for (const rueda::TensorEntry& tensor : file.tensors()) {
      if (tensor.dtype != "F32") continue;
      std::vector<float> values((tensor.end - tensor.begin) / sizeof(float));
      file.read(tensor, values);
    }
  });
  static const rueda::Graph graph = rueda::test::small_one_of_each(rueda::Origin::pytorch);
  std::vector<float> parameters(graph.parameter_count());
  std::vector<float> statistics(graph.statistics_count());
  rueda::load_weights(graph, in.file, parameters, statistics);
}

/// The checksum in a manifest keeps no enemy away, so it is put right.
std::string sealed(std::string text) {
  constexpr std::string_view kField = "\"manifest_crc32\": \"";
  const std::size_t field = text.rfind(kField);
  if (field == text.npos || text.size() - field < kField.size() + 8) return text;
  text.replace(field + kField.size(), 8, "00000000");
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08lx", crc32_z(0, bytes, text.size()));
  return text.replace(field + kField.size(), 8, digits);
}

/// train --resume: a checkpoint's manifest, and the history of finished epochs.
void read_manifest(const Input& in) {
  read_or_refuse([&] {
    rueda::RunRecord run;
    rueda::restore_history(run, in.text(), "history");
  });
  rueda::parse_manifest(sealed(in.text()), "checkpoint");
}

void read_steps(const Input& in) {
  constexpr std::array<std::string_view, 3> kColumns = {"epoch", "seconds", "backward"};
  rueda::for_each_step(in.file, kColumns, [](std::span<const double>) {});
}

void read_tuning(const Input& in) {
  const rueda::Tuning tuning = rueda::parse_tuning(in.text(), "tuning.json");
  rueda::check_tuning(tuning, "tuning.json", "GPU", "9.0.0");
}

struct Target {
  std::string_view name;
  const char* file;  ///< the name that its reader's file has
  void (*read)(const Input&);
};

constexpr Target kTargets[] = {
    {"archive", "set.tar.gz", [](const Input& in) { rueda::read_cifar10(in.file); }},
    {"binary", "data_batch_1.bin", read_binary},
    {"manifest", "manifest.json", read_manifest},
    {"pickle", "data_batch_1", read_pickle},
    {"recipe", "recipe.toml",
     [](const Input& in) {
       rueda::parse_command_line({"train", "--config", in.file.string()});
     }},
    {"safetensors", "weights.safetensors", read_weights},
    {"steps_csv", "steps.csv", read_steps},
    {"tuning", "tuning.json", read_tuning},
};

const Target& chosen_target() {
  const char* const name = std::getenv("RUEDA_FUZZ_TARGET");
  const auto* target = std::ranges::find(kTargets, name == nullptr ? "" : name, &Target::name);
  if (target != std::end(kTargets)) return *target;
  std::fprintf(stderr, "RUEDA_FUZZ_TARGET has to name a target\n");
  std::exit(2);
}

/// A directory of this process, in memory where the system has /dev/shm.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    const bool has_shm = fs::is_directory("/dev/shm", error);
    std::string name = has_shm ? "/dev/shm" : fs::temp_directory_path().string();
    name += "/rueda-fuzz-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path = name;
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  fs::path path;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Target& target = chosen_target();
  static const Scratch scratch;
  const Input input{{data, size}, scratch.path / target.file};
  std::ofstream file(input.file, std::ios::binary);
  file.write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  file.close();
  if (!file) std::abort();
  read_or_refuse([&] { target.read(input); });
  return 0;
}
