#include "sizes.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <tuple>
#include <utility>

#include "rueda/backend/gradient_arena.hpp"
#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/data/dataset.hpp"
#include "rueda/model/registry.hpp"

namespace rueda::bench {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 40U;
constexpr std::size_t kMostSegmentBytes = std::size_t{1} << 30U;

constexpr std::pair<const char*, std::size_t> kUnits[] = {
    {"", 1},           {"k", 1000},       {"M", 1'000'000}, {"G", 1'000'000'000},
    {"Ki", 1U << 10U}, {"Mi", 1U << 20U}, {"Gi", 1U << 30U}};

/// The number that a word begins with, and the letters after it.
struct Quantity {
  std::size_t number = 0;
  std::string unit;
};

std::optional<Quantity> parse_quantity(const std::string& word) {
  Quantity quantity;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, quantity.number);
  if (error != std::errc{} || quantity.number > kMostBytes) return std::nullopt;
  quantity.unit.assign(rest, end);
  return quantity;
}

std::optional<std::size_t> parse_bytes(const std::string& word) {
  const auto quantity = parse_quantity(word);
  if (!quantity) return std::nullopt;
  for (const auto& [name, factor] : kUnits) {
    if (quantity->unit == name && quantity->number <= kMostBytes / factor) {
      return quantity->number * factor;
    }
  }
  return std::nullopt;
}

bool is_model(const std::string& word) {
  const auto names = model_names();
  return std::find(names.begin(), names.end(), word) != names.end();
}

/// The image size is of no account: no parameter depends on it.
std::size_t gradient_bytes(const std::string& model) {
  return GradientLayout(build_model(model, 32, kClasses)).total() * sizeof(float);
}

Size parse_size(const std::string& word) {
  if (is_model(word)) return {gradient_bytes(word), word};
  const auto bytes = parse_bytes(word);
  const std::string subject = "size '" + printable(word) + "'";
  if (!bytes) {
    throw InputError(subject +
                     ": give a number of bytes up to 1 TiB as 4, 64k, 1M, 16Mi, or the name of a "
                     "network as resnet18");
  }
  if (*bytes == 0 || *bytes % sizeof(float) != 0) {
    throw InputError(subject + ": not a number of floats; give a multiple of 4 bytes from 4 on");
  }
  return {*bytes, ""};
}

}  // namespace

std::vector<std::string> split_words(const std::string& words) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= words.size();) {
    const std::size_t end = std::min(words.find(',', begin), words.size());
    parts.push_back(words.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<Size> parse_sizes(const std::string& words) {
  std::vector<Size> sizes;
  for (const std::string& word : split_words(words)) sizes.push_back(parse_size(word));
  const auto key = [](const Size& size) { return std::tie(size.bytes, size.model); };
  std::sort(sizes.begin(), sizes.end(),
            [&](const Size& a, const Size& b) { return key(a) < key(b); });
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

std::vector<std::size_t> parse_segments(const std::string& words) {
  std::vector<std::size_t> segments;
  for (const std::string& word : split_words(words)) {
    const auto quantity = parse_quantity(word);
    if (!quantity || !quantity->unit.empty() || quantity->number * 1024 > kMostSegmentBytes) {
      throw InputError("segment '" + printable(word) + "': give KiB from 0 (the usual) to 1048576");
    }
    segments.push_back(quantity->number * 1024);
  }
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  return segments;
}

}  // namespace rueda::bench
