#include "base/file_kind.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "../../support/data_files.hpp"
#include "base/json/json_view.hpp"
#include "data/cifar10.hpp"
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
      {zip_of("conv.npy"), Wanted::weights, "a NumPy file", "docs/checkpoints.md"},
      {"\x93NUMPY\1", Wanted::weights, "a NumPy file", "docs/checkpoints.md"},
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
      {"\x08\x07\x12\x07pytorch\x1a\x05", Wanted::weights, "an ONNX file", "onnx.load(sys.argv[1]"},
      {"GGUF\3\0"s, Wanted::weights, "a GGUF file", "docs/checkpoints.md"},
      {"MATLAB 5.0 MAT-file, Platform: GLNXA64", Wanted::archive, "a MATLAB file", "rueda synth"},
      {"\x89PNG\r\n\x1a\n", Wanted::archive, "a picture", "jobs/data.sh convert"},
      {"{\n  \"metadata\": {},\n  \"weight_map\": {\"a\": \"b\"}", Wanted::weights,
       "the index of a network", "'weight_map']"},
      {"{\"message\": \"Not Found\"}", Wanted::weights, "a text", "docs/checkpoints.md"},
      {"Not found", Wanted::archive, "a text", "rueda synth"},
  };
  for (const auto& c : cases) {
    CAPTURE(c.name, int(c.wanted));
    CHECK_THAT(told(c.head, c.wanted), Contains(c.name) && Contains(c.remedy));
  }
}

TEST_CASE("what stands for a file is named to every reader, with the way to the file",
          "[file_kind]") {
  const struct {
    const char *head, *name, *remedy;
  } cases[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 61\n", "a Git LFS pointer",
       "git lfs pull"},
      {"/annex/objects/SHA256E-s3--1.bin\n", "a git-annex pointer", "git annex get"},
      {"<!doctype html><title>", "an HTML page", "browser"},
      {"\xEF\xBB\xBF\r\n <!DOCTYPE HTML PUBLIC", "an HTML page", "browser"},
      {"<!-- portal -->\n<html lang=en>", "an HTML page", "browser"},
      {"<?xml version=\"1.0\"?><!DOCTYPE html PUBLIC", "an HTML page", "browser"},
      {"<?xml version=\"1.0\"?>\n<Error><Code>AccessDenied", "an XML text", "reason"},
      {"<Error><Code>NoSuchKey</Code>", "an XML text", "reason"},
  };
  for (const auto& c : cases)
    for (const Wanted wanted : {Wanted::text, Wanted::weights, Wanted::archive,
                                Wanted::binary_batch, Wanted::python_batch, Wanted::anything}) {
      CAPTURE(c.head, int(wanted));
      CHECK_THAT(told(c.head, wanted), Contains(c.name) && Contains(c.remedy));
    }
}

TEST_CASE("what is wanted, or of no known kind, is left to its reader", "[file_kind]") {
  CHECK(told("\x10\0\0\0\0\0\0\0{}"s, Wanted::weights).empty());
  CHECK(told("\x1f\x8b\x08.", Wanted::archive).empty());
  CHECK(told(std::string(257, 'x') + "ustar", Wanted::archive).empty());
  CHECK(told("\x80\x02}.", Wanted::python_batch).empty());
  CHECK(told("\x1f\x8b\x08.", Wanted::anything).empty());
  CHECK(told("(dp0\nS'data'", Wanted::python_batch).empty());
  CHECK(told("\x08\x07\x12\x02\x01\x02", Wanted::weights).empty());
  for (const char* text : {"", "P", "PAR1 = 2", "PK", "7z", "epochs = 1\n", "{\"a\": 1}", "BZh9"})
    CHECK(told(text, Wanted::text).empty());
}

TEST_CASE("the marks of a kind tell it as its files do", "[file_kind]") {
  const std::vector<KindMarks> kinds = kinds_but_text();
  CHECK(kinds.size() > 15);
  for (const KindMarks& kind : kinds) {
    CAPTURE(kind.name);
    for (const auto& [bytes, offset] : kind.magics)
      CHECK_THAT(told(std::string(offset, 'x') + std::string(bytes) + "x", Wanted::text),
                 Contains(std::string(kind.name)));
    for (const auto& [begin, has] : kind.texts)
      CHECK_THAT(told(std::string(begin) + " " + std::string(has), Wanted::text),
                 Contains(std::string(kind.name)));
  }
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

TEST_CASE("a Git LFS pointer is named as batch, names, weights, archive, record", "[file_kind]") {
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 61\n";
  const test::ScratchDirectory folder;
  const auto refused = [&](const std::string& file) {
    return test::refusal([&] { read_cifar10(folder.write(file, pointer).parent_path()); });
  };
  write_cifar10(test::numbered_dataset(10, 2), folder.path(), Cifar10Format::binary);
  CHECK_THAT(refused("batches.meta.txt"), Contains("batches.meta.txt: it is a Git LFS pointer"));
  fs::remove(folder.path() / "batches.meta.txt");
  CHECK_THAT(refused("data_batch_2.bin"), Contains("data_batch_2.bin: it is a Git LFS pointer"));
  const auto lone = folder.write("lone", pointer);
  CHECK_THAT(test::refusal([&] { read_cifar10(lone); }), Contains("lone: it is a Git LFS pointer"));
  CHECK_THAT(test::refusal([&] { SafetensorsFile file(lone); }), Contains("git lfs pull"));
  CHECK_THAT(test::refusal([&] {
               read_json({lone, "a record", "give one"});
             }),
             Contains("a record: it is a Git LFS pointer"));
}

TEST_CASE("an image that begins as another kind of file does is read", "[file_kind]") {
  const test::ScratchDirectory folder;
  Dataset dataset = test::numbered_dataset(10, 2);
  dataset.class_names.resize(200, "class");
  dataset.train.labels[0] = 0x80;  // a pickle's first bytes
  dataset.train.pixels[0] = 2;
  write_cifar10(dataset, folder.path(), Cifar10Format::binary);
  CHECK(read_cifar10(folder.path()).train == dataset.train);
}
