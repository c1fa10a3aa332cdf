#include <algorithm>
#include <array>
#include <string_view>

#include "rueda/core/error.hpp"
#include "rueda/core/text.hpp"
#include "rueda/study/keras_log.hpp"
#include "text_cursor.hpp"

namespace rueda {
namespace {

constexpr std::array<std::string_view, 6> kKeys = {"model",  "ranks", "batch",
                                                   "images", "size",  "processor"};

[[noreturn]] void refuse(std::string_view field, const std::string& wanted) {
  throw InputError("--keras-log: \"" + printable(field) + "\": " + wanted);
}

std::size_t count_of(std::string_view field, std::string_view value) {
  TextCursor cursor(value);
  const auto count = cursor.number();
  if (!count || *count == 0 || !cursor.done()) refuse(field, "a whole number from 1 is wanted");
  return *count;
}

Processor processor_of(std::string_view field, std::string_view value) {
  if (value != "cpu" && value != "gpu") refuse(field, "cpu or gpu is wanted");
  return value == "cpu" ? Processor::cpu : Processor::gpu;
}

void set(KerasLog& log, std::string_view field) {
  const std::size_t equals = field.find('=');
  const std::string_view key = field.substr(0, equals), value = field.substr(equals + 1);
  if (value.empty()) refuse(field, "a value is wanted behind =");
  if (key == "model") log.model = value;
  if (key == "ranks") log.ranks = count_of(field, value);
  if (key == "batch") log.global_batch = count_of(field, value);
  if (key == "images") log.images = count_of(field, value);
  if (key == "size") log.image_size = count_of(field, value);
  if (key == "processor") log.processor = processor_of(field, value);
}

/// Where ",key=" of a known key begins first: a comma may also belong to the file's name.
std::size_t end_of_file_name(std::string_view text) {
  for (std::size_t comma = text.find(','); comma != text.npos; comma = text.find(',', comma + 1)) {
    for (const std::string_view key : kKeys) {
      const std::string_view behind = text.substr(comma + 1);
      if (behind.starts_with(key) && behind.substr(key.size()).starts_with('=')) return comma;
    }
  }
  return text.size();
}

}  // namespace

KerasLog parse_keras_log_option(const std::string& text) {
  TextCursor cursor(text);
  KerasLog log;
  const std::string file = text.substr(0, end_of_file_name(text));
  if (file.empty()) refuse(text, "a file is wanted before the first comma");
  log.file = file;
  cursor.take(file);
  while (cursor.take(",")) {
    const std::string_view field = cursor.take_until(",");
    const std::string_view key = field.substr(0, field.find('='));
    if (std::ranges::find(kKeys, key) == kKeys.end() || key.size() == field.size()) {
      refuse(field, "model=, ranks=, batch=, images=, size= or processor= is wanted");
    }
    set(log, field);
  }
  return log;
}

}  // namespace rueda
