#include <catch2/catch.hpp>

#include "rueda/core/error.hpp"
#include "wiring/open_backend.hpp"

using namespace rueda;
using Catch::Contains;

namespace {

const Tuning kTuning{"NVIDIA H200", "9.19.0", {{"forward bf16 1x2x3x4", "eng7{k1=2}"}}};

}  // namespace

TEST_CASE("tuning file: what is written is read") {
  const Tuning read = parse_tuning(tuning_text(kTuning), "t.json");
  CHECK(read.device == kTuning.device);
  CHECK(read.cudnn == kTuning.cudnn);
  CHECK(read.engines == kTuning.engines);
}

TEST_CASE("tuning file: anything else is refused by name") {
  const std::string text =
      GENERATE("", "{", "[]", "7", "{}", R"({"rueda_tuning":2,"device":"a","cudnn":"b"})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b"})",
               R"({"rueda_tuning":1,"device":5,"cudnn":"b","engines":{}})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b","engines":{"x":1}})",
               R"({"rueda_tuning":1,"device":"a","cudnn":"b","engines":7})");
  CAPTURE(text);
  CHECK_THROWS_AS(parse_tuning(text, "t.json"), InputError);
  CHECK_THROWS_WITH(parse_tuning(text, "t.json"),
                    Contains("--tuning-file t.json") && Contains("--tune-engines"));
}

TEST_CASE("tuning file: made on another GPU or with another cuDNN") {
  CHECK_NOTHROW(check_tuning(kTuning, "t.json", "NVIDIA H200", "9.19.0"));
  CHECK_THROWS_WITH(check_tuning(kTuning, "t.json", "NVIDIA A100", "9.19.0"),
                    Contains("NVIDIA H200") && Contains("NVIDIA A100"));
  CHECK_THROWS_WITH(check_tuning(kTuning, "t.json", "NVIDIA H200", "9.20.0"),
                    Contains("9.19.0") && Contains("9.20.0"));
}

TEST_CASE("tuning file: one that is not there or is a directory") {
  CHECK_THROWS_WITH(read_tuning_file("/nonexistent/t.json"), Contains("cannot be opened"));
  CHECK_THROWS_AS(read_tuning_file("/tmp"), InputError);
}
