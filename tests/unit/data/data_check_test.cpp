#include <catch2/catch.hpp>

#include "rueda/data/cifar10.hpp"
#include "rueda/data/synth.hpp"
#include "tests/support/data_files.hpp"

using Catch::Matchers::Contains;
using rueda::Cifar10Format;
using namespace rueda::test;

TEST_CASE("a data set tells its form, files and classes", "[data_check]") {
  rueda::Dataset made = numbered_dataset(20, 10);
  for (std::size_t i = 0; i < 20; ++i) made.train.labels[i] = i < 11 ? 0 : 3;
  for (const auto format : {Cifar10Format::binary, Cifar10Format::python}) {
    const TempDirectory scratch;
    rueda::write_cifar10(made, scratch.path(), format);
    const auto check = rueda::check_cifar10(scratch.path());
    CHECK(check.form == (format == Cifar10Format::binary ? "binary version" : "Python version"));
    CHECK(check.place == scratch.path().string());
    CHECK(check.files.size() == 7);
    CHECK_THAT(check.files.front(), Contains("data_batch_1"));
    CHECK(check.train_per_class[0] == 11);
    CHECK(check.train_per_class[3] == 9);
    CHECK(check.train_per_class[1] == 0);
    CHECK(check.class_names == made.class_names);
    CHECK(check.train_fingerprint == made.train.fingerprint());
    CHECK(check.test_fingerprint == made.test.fingerprint());
    CHECK(check.remarks.size() == 2);
  }
}

TEST_CASE("a data set that is not there is refused as training refuses it", "[data_check]") {
  CHECK_THAT(refusal([] { rueda::check_cifar10("/nonexistent"); }), Contains("/nonexistent"));
}
