#include "rueda/display/model_summary.hpp"

#include <map>
#include <sstream>

#include <catch2/catch.hpp>

#include "rueda/model/registry.hpp"

using namespace rueda;

namespace {

/// The words of the line that begins with `begin`, with one blank between them.
std::string line_with(const std::string& text, const std::string& begin) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && !line.starts_with(begin)) continue;
  std::istringstream in(line);
  std::string words;
  for (std::string word; in >> word;) words += (words.empty() ? "" : " ") + word;
  return words;
}

}  // namespace

TEST_CASE("model summary: ResNet-18 at 32 pixels", "[model_summary]") {
  const std::string text = model_summary(build_model("resnet18", 32, 10), 64);
  CHECK_THAT(text, Catch::StartsWith("resnet18 for 32x32 images with 3 channels, 10 classes\n"));
  for (const auto& [begin, rest] : std::map<std::string, std::string>{
           {"conv1", " conv 3x3, 64 64x32x32 1,728 3.539"},
           {"bn1", " batch norm + relu 64x32x32 128"},
           {"layer2.0.shortcut.0", " conv 1x1/2, 128 128x16x16 8,192 4.194"},
           {"linear", " dense 10 10 5,130 0.010"},
           {"  total", " 11,183,562"},
           {"  trainable", " 11,173,962"},
           {"  non-trainable", " 9,600 running means and variances"},
           {"  forward", " 1.111 GFLOP per image, 71.09 GFLOP per batch of 64"},
           {"  training", " 3.329 GFLOP per image, 213.1 GFLOP per batch of 64"}})
    CHECK(line_with(text, begin + " ") == begin.substr(begin.find_first_not_of(' ')) + rest);
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
  for (const std::string line :
       {"odd conv 7x7/2 pad 2, 8 + bias 8x7x7 1,184 ", "pool max pool 2x2/2 8x", "sum add + relu ",
        "pad pad channels, /2 12x", "mean average pool ", "logits dense 5 5 "})
    CHECK_THAT(line_with(text, line.substr(0, line.find(' ') + 1)), Catch::StartsWith(line));
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
