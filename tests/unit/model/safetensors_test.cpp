#include "model/weights/safetensors.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <catch2/catch.hpp>
#include <sys/stat.h>

#include "../../support/data_files.hpp"
#include "base/error.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;
namespace fs = std::filesystem;

/// A file by hand: the length, the header, and `data_bytes` bytes that count 0, 1, 2 ...
Bytes file_of(const std::string& header, std::size_t data_bytes) {
  Bytes bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(std::uint8_t(header.size() >> (8 * i)));
  bytes.insert(bytes.end(), header.begin(), header.end());
  for (std::size_t i = 0; i < data_bytes; ++i) bytes.push_back(std::uint8_t(i));
  return bytes;
}

/// The message with which the reader refuses these bytes; "" if it takes them.
std::string refusal_of(const Bytes& bytes) {
  static const ScratchDirectory directory;
  const fs::path path = directory.path() / "hostile.safetensors";
  write_bytes(path, bytes);
  return refusal([&] { SafetensorsFile file(path); });
}

std::string refusal_of(const std::string& header, std::size_t data_bytes) {
  return refusal_of(file_of(header, data_bytes));
}

const std::string kTwoTensors =
    R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
    R"("b":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})";

struct Hostile {
  std::string header;
  std::size_t data_bytes;
  std::string says;  ///< part of the message
};

std::string with_tensor(const std::string& fields) { return R"({"t":{)" + fields + "}}"; }

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return with_tensor(R"("dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" +
                     offsets);
}

void check_refused(const std::vector<Hostile>& files) {
  for (const Hostile& file : files) {
    CAPTURE(file.header.substr(0, 200));
    const std::string message = refusal_of(file.header, file.data_bytes);
    CHECK_THAT(message, Contains(file.says) && Contains("hostile.safetensors") &&
                            Contains("save or copy it again"));
    CHECK(std::none_of(message.begin(), message.end(), [](char c) { return c < ' '; }));
  }
}

}  // namespace

TEST_CASE("safetensors: reads names, dtypes, shapes and values", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "two";
  write_bytes(path, file_of(kTwoTensors + "   ", 32));
  SafetensorsFile file(path);
  REQUIRE(file.tensors().size() == 2);
  CHECK(file.tensors()[0].name == "a");
  CHECK(file.tensors()[0].dtype == "F32");
  CHECK(file.tensors()[0].shape == std::vector<std::size_t>{2, 3});
  CHECK(file.tensors()[1].name == "b");
  CHECK(file.tensors()[1].shape.empty());
  std::vector<float> values(6);
  file.read(file.tensors()[0], values);
  CHECK(std::bit_cast<std::uint32_t>(values[0]) == 0x03020100U);
  CHECK(std::bit_cast<std::uint32_t>(values[5]) == 0x17161514U);
}

TEST_CASE("safetensors: data may lie in another order than the header", "[weights]") {
  CHECK(refusal_of(R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[5,8]},)"
                   R"("b":{"dtype":"U8","shape":[5],"data_offsets":[0,5]}})",
                   8)
            .empty());
  CHECK(refusal_of(R"({"a":{"dtype":"F32","shape":[0,4],"data_offsets":[0,0]}})", 0).empty());
  CHECK(refusal_of("{}", 0).empty());
}

TEST_CASE("safetensors: a header that is not as described", "[weights]") {
  check_refused({
      {"", 0, "no JSON"},
      {"nonsense", 0, "no JSON"},
      {R"({"a":)", 0, "no JSON"},
      {"{} {}", 0, "no JSON"},
      {std::string("{}\0{}", 5), 0, "no JSON from byte 3 on"},
      {"{\"\xff\":0}", 0, "no JSON"},
      {"[]", 0, "no JSON object"},
      {"7", 0, "no JSON object"},
      {R"({"t":3})", 0, "tensor 't': it must be an object"},
      {R"({"t":[]})", 0, "tensor 't': it must be an object"},
      {R"({"__metadata__":{"a":1}})", 0, "__metadata__ must hold texts only"},
      {R"({"__metadata__":{"a":{}}})", 0, "__metadata__ must hold texts only"},
      {R"({"__metadata__":{"a":[]}})", 0, "__metadata__ must hold texts only"},
      {R"({"a\nb":null})", 0, R"(tensor 'a\x0ab')"},
  });
}

TEST_CASE("safetensors: names that are there twice", "[weights]") {
  const std::string one = R"("t":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  check_refused({
      {"{" + one + "," + one + "}", 4, "the name 't' is there twice"},
      {with_tensor(R"("dtype":"U8","shape":[4],"shape":[4],"data_offsets":[0,4])"), 4,
       "the name 'shape' is there twice"},
  });
}

TEST_CASE("safetensors: fields of a tensor", "[weights]") {
  const std::string shape_fault = "tensor 't': shape must be a list of whole numbers from 0";
  const std::string offsets_fault = "data_offsets must be a list of two whole numbers from 0";
  check_refused({
      {with_tensor(""), 0, "tensor 't': dtype is missing"},
      {with_tensor(R"("dtype":"F32","data_offsets":[0,0])"), 0, "shape is missing"},
      {with_tensor(R"("dtype":"F32","shape":[0])"), 0, "data_offsets is missing"},
      {with_tensor(R"("extra":1)"), 0, "'extra' is no field of a tensor"},
      {tensor("32", "[1]", "[0,4]"), 4, "dtype must be a text"},
      {tensor("[\"F32\"]", "[1]", "[0,4]"), 4, "dtype must be a text"},
      {tensor("\"F31\"", "[1]", "[0,4]"), 4, "the dtype 'F31' is not known"},
      {tensor("\"F32\"", "1", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[-1]", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[1.0]", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[true]", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[[1]]", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[18446744073709551616]", "[0,4]"), 4, shape_fault},
      {tensor("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, "more than 8 axes"},
      {tensor("\"F32\"", "[1]", "null"), 4, offsets_fault},
      {tensor("\"F32\"", "[1]", "[4]"), 4, offsets_fault},
      {tensor("\"F32\"", "[1]", "[0,4,4]"), 4, offsets_fault},
      {tensor("\"F32\"", "[1]", "[-4,0]"), 4, offsets_fault},
      {tensor("\"F32\"", "[1]", R"(["0","4"])"), 4, offsets_fault},
  });
}

TEST_CASE("safetensors: sizes that do not fit", "[weights]") {
  const std::string huge = "[4294967296,4294967296,4294967296]";
  check_refused({
      {tensor("\"F32\"", "[1]", "[4,0]"), 4, "data_offsets 4 to 0 do not lie in the 4 bytes"},
      {tensor("\"F32\"", "[2]", "[0,8]"), 4, "data_offsets 0 to 8 do not lie in the 4 bytes"},
      {tensor("\"F32\"", "[1]", "[0,18446744073709551615]"), 4, "do not lie in the 4 bytes"},
      {tensor("\"F32\"", "[2]", "[0,4]"), 4, "need 8 bytes, its data_offsets give it 4"},
      {tensor("\"F64\"", "[1]", "[0,4]"), 4, "need 8 bytes, its data_offsets give it 4"},
      {tensor("\"F32\"", huge, "[0,4]"), 4, "larger than any memory"},
      {tensor("\"F32\"", "[4611686018427387905]", "[0,4]"), 4, "larger than any memory"},
      {tensor("\"F32\"", "[1]", "[0,4]"), 5, "have 4 bytes of data, but it holds 5"},
      {tensor("\"F32\"", "[1]", "[4,8]"), 8, "begins at byte 4, the data before it ends at 0"},
      {"{}", 1, "have 0 bytes of data, but it holds 1"},
  });
}

TEST_CASE("safetensors: data that overlaps or has a hole", "[weights]") {
  const auto two = [](const std::string& second) {
    return R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
           R"("b":{"dtype":"U8","shape":[4],"data_offsets":)" +
           second + "}}";
  };
  CHECK(refusal_of(two("[4,8]"), 8).empty());
  check_refused({
      {two("[3,7]"), 7, "tensor 'b': its data begins at byte 3, the data before it ends at 4"},
      {two("[0,4]"), 4, "begins at byte 0, the data before it ends at 4"},
      {two("[5,9]"), 9, "tensor 'b': its data begins at byte 5, the data before it ends at 4"},
  });
}

TEST_CASE("safetensors: nesting and length cost no stack and no memory", "[weights]") {
  constexpr std::size_t kDeep = 1'000'000;
  check_refused({
      {repeated("[", kDeep), 0, "more than 4 levels"},
      {repeated(R"({"t":)", kDeep), 0, "more than 4 levels"},
      {tensor("\"F32\"", repeated("[", kDeep), "[0,4]"), 4, "more than 4 levels"},
      {R"({"__metadata__":)" + repeated(R"({"t":)", kDeep), 0, "more than 4 levels"},
      {R"({")" + repeated("n", kDeep) + R"(":3})", 0, "nnn...'"},
      {"{" + repeated(R"("t":0,)", kDeep) + "}", 0, "the name 't' is there twice"},
  });
}

TEST_CASE("safetensors: lengths of the header that can not be", "[weights]") {
  Bytes bytes = file_of(kTwoTensors, 32);
  const auto with_length = [&](std::uint64_t length) {
    Bytes changed = bytes;
    std::memcpy(changed.data(), &length, sizeof length);
    return refusal_of(changed);
  };
  CHECK(with_length(kTwoTensors.size()).empty());
  CHECK_THAT(with_length(bytes.size() - 7), Contains("only " + std::to_string(bytes.size() - 8)));
  CHECK_THAT(with_length(100'000'001), Contains("more than the 100 MB"));
  CHECK_THAT(with_length(~std::uint64_t{0}), Contains("more than the 100 MB"));
  CHECK_THAT(with_length(0), Contains("no JSON"));
}

TEST_CASE("safetensors: a file cut at any byte is refused", "[weights]") {
  const Bytes whole = file_of(kTwoTensors, 32);
  REQUIRE(refusal_of(whole).empty());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(refusal_of(Bytes(whole.begin(), whole.begin() + long(size))).empty());
  }
}

TEST_CASE("safetensors: what is no regular file", "[weights]") {
  const ScratchDirectory directory;
  const fs::path pipe = directory.path() / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  write_bytes(directory.path() / "empty", {});
  const auto refused = [&](const fs::path& path) {
    return refusal([&] { SafetensorsFile f(path); });
  };
  CHECK_THAT(refused(directory.path() / "gone"), Contains("gone") && Contains("it is not there"));
  CHECK_THAT(refused(directory.path()), Contains("it is a directory"));
  CHECK_THAT(refused(pipe), Contains("pipe") && Contains("not a regular file"));
  CHECK_THAT(refused("/dev/zero"), Contains("/dev/zero") && Contains("not a regular file"));
  CHECK_THAT(refused(directory.path() / "empty"), Contains("it has 0 bytes"));
}

TEST_CASE("safetensors: what is written is laid out as the format says", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "written";
  const std::vector<float> values = {1.5F, -2.0F, 0.0F};
  const std::int64_t count = 7;
  const std::vector<TensorData> tensors = {
      {"count", "I64", {}, std::as_bytes(std::span(&count, 1))},
      {"values", "F32", {3, 1}, std::as_bytes(std::span(values))}};
  write_safetensors(path, tensors, {{"model", "m"}});
  const Bytes bytes = read_bytes(path);
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  REQUIRE(length % 8 == 0);
  REQUIRE(bytes.size() == 8 + length + 8 + 12);
  const std::string header(bytes.begin() + 8, bytes.begin() + 8 + long(length));
  CHECK(header.substr(0, header.find_last_not_of(' ') + 1) ==
        R"({"__metadata__":{"model":"m"},)"
        R"("count":{"dtype":"I64","shape":[],"data_offsets":[0,8]},)"
        R"("values":{"dtype":"F32","shape":[3,1],"data_offsets":[8,20]}})");
  CHECK(bytes[8 + length] == 7);
  CHECK(std::memcmp(bytes.data() + 8 + length + 8, values.data(), 12) == 0);
  std::vector<float> again(3);
  SafetensorsFile file(path);
  file.read(file.tensors()[1], again);
  CHECK(again == values);
}

TEST_CASE("safetensors: a file that can not be written", "[weights]") {
  const ScratchDirectory directory;
  const fs::path path = directory.path() / "nowhere" / "file";
  CHECK_THROWS_AS(write_safetensors(path, {}, {}), RunError);
}

}  // namespace rueda::test
