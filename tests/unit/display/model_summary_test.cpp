#include "rueda/display/model_summary.hpp"

#include <sstream>

#include <catch2/catch.hpp>

#include "rueda/model/registry.hpp"

using namespace rueda;

namespace {

std::string line_with(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(begin)) return line;
  }
  return "";
}

/// The line's words with one blank between them.
std::string words(const std::string& line) {
  std::istringstream in(line);
  std::string text;
  for (std::string word; in >> word;) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

TEST_CASE("model summary: ResNet-18 at 32 pixels", "[model_summary]") {
  const std::string text = model_summary(build_model("resnet18", 32, 10), 64);
  CHECK_THAT(text, Catch::StartsWith("resnet18 for 32x32 images with 3 channels, 10 classes\n"));
  CHECK(words(line_with(text, "conv1 ")) == "conv1 conv 3x3, 64 64x32x32 1,728 3.539");
  CHECK(words(line_with(text, "bn1 ")) == "bn1 batch norm + relu 64x32x32 128");
  CHECK(words(line_with(text, "layer2.0.shortcut.0 ")) ==
        "layer2.0.shortcut.0 conv 1x1/2, 128 128x16x16 8,192 4.194");
  CHECK(words(line_with(text, "linear ")) == "linear dense 10 10 5,130 0.010");
  CHECK(words(line_with(text, "  total")) == "total 11,183,562");
  CHECK(words(line_with(text, "  trainable")) == "trainable 11,173,962");
  CHECK_THAT(line_with(text, "  non-trainable"), Catch::Contains(" 9,600 "));
  CHECK(words(line_with(text, "  forward")) ==
        "forward 1.111 GFLOP per image, 71.09 GFLOP per batch of 64");
  CHECK(words(line_with(text, "  training")) ==
        "training 3.329 GFLOP per image, 213.1 GFLOP per batch of 64");
}

TEST_CASE("model summary: every kind of layer says what it is", "[model_summary]") {
  GraphBuilder g("kinds", {3, 16, 16});
  NodeId x = g.conv("odd", g.input(),
                    {.filters = 8, .kernel = 7, .stride = 2, .padding = 2, .bias = true});
  x = g.max_pool("pool", x, {.kernel = 2, .stride = 2, .padding = 0});
  const NodeId padded = g.pad_shortcut("pad", x, 12, 2);
  const NodeId conv = g.conv("conv", x, {.filters = 12, .kernel = 3, .stride = 2, .padding = 1});
  x = g.add("sum", conv, padded, true);
  x = g.global_average_pool("mean", x);
  g.dense("logits", x, {.units = 5});
  const std::string text = model_summary(std::move(g).finish(), 1);
  CHECK_THAT(line_with(text, "odd "), Catch::Contains("conv 7x7/2 pad 2, 8 + bias"));
  CHECK_THAT(line_with(text, "odd "), Catch::Contains("1,184"));
  CHECK_THAT(line_with(text, "pool "), Catch::Contains("max pool 2x2/2  "));
  CHECK_THAT(line_with(text, "pad "), Catch::Contains("pad channels, /2"));
  CHECK_THAT(line_with(text, "sum "), Catch::Contains("add + relu"));
  CHECK_THAT(line_with(text, "mean "), Catch::Contains("average pool"));
  CHECK_THAT(line_with(text, "logits "), Catch::Contains("dense 5"));
}

TEST_CASE("model summary: fits 80 columns for every model", "[model_summary]") {
  for (const std::string& name : model_names()) {
    std::istringstream lines(model_summary(build_model(name, 32, 10), 128));
    for (std::string line; std::getline(lines, line);) {
      INFO(name << ": " << line);
      CHECK(line.size() <= 80);
    }
  }
}
