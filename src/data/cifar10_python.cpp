#include <string_view>

#include <fmt/format.h>

#include "cifar10_files.hpp"
#include "pickle.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

const PickleValue& entry(const Pickle& pickle, std::string_view key) {
  const PickleValue& root = pickle.root();
  if (root.kind != PickleKind::dict)
    pickle.fail(root.offset, fmt::format("expected a dictionary, found {}", name_of(root.kind)));
  const PickleValue* value = pickle.find(root, key);
  if (value == nullptr) pickle.fail(root.offset, fmt::format("the dictionary has no '{}'", key));
  return *value;
}

/// Number of images in `data` after checking type and shape.
std::size_t image_count(const Pickle& pickle, const PickleValue& data) {
  if (data.kind != PickleKind::array || data.items.empty())
    pickle.fail(data.offset,
                fmt::format("'data' is {}, expected a NumPy array", name_of(data.kind)));
  if (const std::string_view type = pickle[data.items[0]].bytes; type != "u1")
    pickle.fail(data.offset, fmt::format("'data' has element type '{}', expected 'u1' (uint8)",
                                         printable(type)));
  const PickleValue& shape = pickle[data.items[1]];
  const auto extent = [&](std::size_t i) { return pickle[shape.items[i]].integer; };
  const bool flat = shape.items.size() == 2 && extent(1) == std::int64_t{kImageBytes};
  const bool deep = shape.items.size() == 4 && extent(1) == kImageChannels &&
                    extent(2) == kImageSide && extent(3) == kImageSide;
  if (!flat && !deep)
    pickle.fail(data.offset, fmt::format("'data' has shape {}, expected (N, {}) or (N, 3, 32, 32)",
                                         shape_text(pickle, shape), kImageBytes));
  if (deep && data.integer != 0)
    pickle.fail(data.offset, "'data' is in Fortran order, expected C order");
  return data.bytes.size() / kImageBytes;
}

/// Labels as a list of integers, or as one NumPy array of them.
std::size_t label_count(const Pickle& pickle, const PickleValue& labels) {
  if (labels.kind == PickleKind::list) return labels.items.size();
  const bool vector = labels.kind == PickleKind::array && labels.items.size() == 2 &&
                      pickle[labels.items[1]].items.size() == 1;
  if (!vector)
    pickle.fail(labels.offset,
                fmt::format("'labels' is {}, expected a list of integers", name_of(labels.kind)));
  return static_cast<std::size_t>(pickle[pickle[labels.items[1]].items[0]].integer);
}

std::uint8_t label_at(const Pickle& pickle, const PickleValue& labels, std::size_t i) {
  std::int64_t label = 0;
  std::size_t offset = labels.offset;
  if (labels.kind == PickleKind::list) {
    const PickleValue& value = pickle[labels.items[i]];
    offset = value.offset;
    if (value.kind != PickleKind::integer)
      pickle.fail(offset, fmt::format("label of image {} is {}", i, name_of(value.kind)));
    label = value.integer;
  } else {
    label = integer_element(pickle, pickle[labels.items[0]], labels.bytes, i, offset);
  }
  if (label < 0 || label >= kClasses)
    pickle.fail(offset,
                fmt::format("image {} has label {}, expected 0 to {}", i, label, kClasses - 1));
  return static_cast<std::uint8_t>(label);
}

void append_pixels(std::string_view raw, bool fortran, std::size_t images, ImageSet& set) {
  if (!fortran) {
    set.pixels.insert(set.pixels.end(), raw.begin(), raw.end());
    return;
  }
  // NumPy pickles a transposed array as it lies: byte p of all images, then byte p+1.
  for (std::size_t i = 0; i < images; ++i)
    for (std::size_t p = 0; p < kImageBytes; ++p)
      set.pixels.push_back(static_cast<std::uint8_t>(raw[p * images + i]));
}

}  // namespace

void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue& data = entry(pickle, "data");
  const PickleValue& labels = entry(pickle, "labels");
  const std::size_t images = image_count(pickle, data);
  if (images == 0) pickle.fail(data.offset, "'data' holds no image");
  if (const std::size_t count = label_count(pickle, labels); count != images)
    pickle.fail(labels.offset, fmt::format("{} labels for {} images", count, images));
  for (std::size_t i = 0; i < images; ++i) set.labels.push_back(label_at(pickle, labels, i));
  append_pixels(data.bytes, data.integer != 0, images, set);
}

std::optional<ClassNames> python_class_names(std::span<const std::uint8_t> bytes,
                                             const std::string& name) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue* list = pickle.find(pickle.root(), "label_names");
  ClassNames names;
  if (list == nullptr || list->kind != PickleKind::list || list->items.size() != names.size())
    return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PickleValue& value = pickle[list->items[i]];
    if (value.kind != PickleKind::bytes && value.kind != PickleKind::text) return std::nullopt;
    names[i] = value.bytes;
  }
  return names;
}

}  // namespace rueda
