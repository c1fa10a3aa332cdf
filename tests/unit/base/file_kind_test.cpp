#include "base/file_kind.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/data_files.hpp"
#include "model/weights/safetensors.hpp"
#include "rueda/data/dataset.hpp"

using namespace rueda;
using namespace std::string_literals;
using Catch::Contains;

namespace {

/// A zip archive as far as its first member's name.
std::string zip_of(const std::string& name) {
  return "PK\3\4"s + std::string(22, '\0') + char(name.size()) + "\0\0\0"s + name + "{}";
}

std::string told(const std::string& head, Wanted wanted) {
  const auto other = other_kind(head, wanted, "some/file.ext");
  return other ? other->name + "; " + other->remedy : "";
}

}  // namespace

TEST_CASE("files of other kinds are named, with the line that helps", "[file_kind]") {
  const struct {
    std::string head;
    Wanted wanted;
    const char *name, *remedy;
  } cases[] = {
      {zip_of("model/data.pkl"), Wanted::weights, "a PyTorch file", "some/file.safetensors"},
      {"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.", Wanted::weights,
       "a PyTorch file", "torch.load(sys.argv[1]"},
      {zip_of("metadata.json"), Wanted::weights, "a Keras file", "load_model(sys.argv[1]"},
      {"\x89HDF\r\n\x1a\n\1", Wanted::weights, "an HDF5 file", "load_model(sys.argv[1]"},
      {zip_of("conv.npy"), Wanted::weights, "a NumPy file", "docs/weights.md"},
      {"\x93NUMPY\1", Wanted::weights, "a NumPy file", "docs/weights.md"},
      {zip_of("readme"), Wanted::weights, "a zip archive", "unzip some/file.ext"},
      {"PK\5\6"s, Wanted::archive, "a zip archive", "the directory: unzip some/file.ext"},
      {"\xfd"
       "7zXZ\0\0"s,
       Wanted::archive, "an xz file", "tar -xf some/file.ext"},
      {"BZh91AY&SY..", Wanted::archive, "a bzip2 file", "tar -xf some/file.ext"},
      {"\x28\xb5\x2f\xfd.", Wanted::archive, "a Zstandard file", "tar -xf some/file.ext"},
      {"7z\xbc\xaf\x27\x1c.", Wanted::archive, "a 7z archive", "7z x some/file.ext"},
      {"PAR1\x15.", Wanted::archive, "a Parquet file", "cifar-10-binary.tar.gz"},
      {"\x80\x04\x95.", Wanted::archive, "a Python pickle", "the directory"},
      {"\x80\x04\x95.", Wanted::binary_batch, "a Python pickle", "do not end in .bin"},
      {"\x1f\x8b\x08.", Wanted::python_batch, "a gzip file", "gunzip some/file.ext"},
      {"\x1f\x8b\x08.", Wanted::text, "a gzip file", "gunzip some/file.ext"},
      {std::string(257, 'x') + "ustar", Wanted::text, "a tar archive", "tar -xf some/file.ext"},
      {"\x10\0\0\0\0\0\0\0{}"s, Wanted::archive, "a safetensors file", "rueda synth"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name, int(c.wanted));
    CHECK_THAT(told(c.head, c.wanted), Contains(c.name) && Contains(c.remedy));
  }
}

TEST_CASE("what is wanted, or of no known kind, is left to its reader", "[file_kind]") {
  CHECK(told("\x10\0\0\0\0\0\0\0{}"s, Wanted::weights).empty());
  CHECK(told("\x1f\x8b\x08.", Wanted::archive).empty());
  CHECK(told(std::string(257, 'x') + "ustar", Wanted::archive).empty());
  CHECK(told("\x80\x02}.", Wanted::python_batch).empty());
  CHECK(told("\x1f\x8b\x08.", Wanted::anything).empty());
  for (const char* text : {"", "P", "PAR1 = 2", "PK", "7z", "epochs = 1\n", "{\"a\": 1}", "BZh9"})
    CHECK(told(text, Wanted::text).empty());
}

TEST_CASE("a reader names another kind instead of damage", "[file_kind]") {
  const test::ScratchDirectory folder;
  const auto torch = folder.write("my net's.pth", zip_of("model/data.pkl"));
  CHECK_THAT(test::refusal([&] { SafetensorsFile file(torch); }),
             Contains("my net's.pth: it is a PyTorch file; convert it: python3 -c") &&
                 Contains("my net'\\''s.safetensors'") && !Contains("damaged"));
  const auto set = folder.write("cifar.zip", zip_of("data_batch_1"));
  CHECK_THAT(test::refusal([&] { read_cifar10(set); }),
             Contains("it is a zip archive") && !Contains("download"));
}
