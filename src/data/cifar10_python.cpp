#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cifar10_files.hpp"
#include "pickle.hpp"
#include "rueda/core/text.hpp"

namespace rueda {
namespace {

const PickleValue& entry(const Pickle& pickle, std::string_view key) {
  const PickleValue& root = *pickle.root;
  if (root.kind != PickleKind::dict)
    pickle.fail(root.offset, fmt::format("expected a dictionary, found {}", name_of(root.kind)));
  const PickleValue* value = root.find(key);
  if (value == nullptr) pickle.fail(root.offset, fmt::format("the dictionary has no '{}'", key));
  return *value;
}

/// Number of images in `data` after checking type and shape.
std::size_t image_count(const Pickle& pickle, const PickleValue& data) {
  const auto require = [&](bool holds, const std::string& otherwise) {
    if (!holds) pickle.fail(data.offset, "'data' " + otherwise);
  };
  require(data.kind == PickleKind::array && !data.items.empty(),
          fmt::format("is {}, expected a NumPy array", name_of(data.kind)));
  const std::string_view type = data.items[0]->bytes;
  require(type == "u1",
          fmt::format("has element type '{}', expected 'u1' (uint8)", printable(type)));
  std::vector<std::int64_t> shape;
  for (const PickleValue* item : data.items[1]->items) shape.push_back(item->integer);
  const bool deep = shape == std::vector<std::int64_t>{shape[0], 3, 32, 32};
  require(deep || shape == std::vector<std::int64_t>{shape[0], 3072},
          fmt::format("has shape {}, expected (N, 3072) or (N, 3, 32, 32)",
                      shape_text(*data.items[1])));
  require(!deep || data.integer == 0, "is in Fortran order, expected C order");
  require(!data.bytes.empty(), "holds no image");
  return data.bytes.size() / kImageBytes;
}

/// Labels as a list of integers, or as one NumPy array of them.
std::size_t label_count(const Pickle& pickle, const PickleValue& labels) {
  if (labels.kind == PickleKind::list) return labels.items.size();
  const bool vector = labels.kind == PickleKind::array && labels.items.size() == 2 &&
                      labels.items[1]->items.size() == 1;
  if (!vector)
    pickle.fail(labels.offset,
                fmt::format("'labels' is {}, expected a list of integers", name_of(labels.kind)));
  return std::size_t(labels.items[1]->items[0]->integer);
}

std::uint8_t label_at(const Pickle& pickle, const PickleValue& labels, std::size_t i) {
  const bool list = labels.kind == PickleKind::list;
  const PickleValue& value = list ? *labels.items[i] : labels;
  if (list && value.kind != PickleKind::integer)
    pickle.fail(value.offset, fmt::format("label of image {} is {}", i, name_of(value.kind)));
  const std::int64_t label =
      list ? value.integer
           : integer_element(pickle, *labels.items[0], labels.bytes, i, labels.offset);
  if (label < 0 || label >= kClasses)
    pickle.fail(value.offset,
                fmt::format("image {} has label {}, expected 0 to {}", i, label, kClasses - 1));
  return std::uint8_t(label);
}

void append_pixels(std::string_view raw, bool fortran, std::size_t images, ImageSet& set) {
  if (!fortran) {
    set.pixels.insert(set.pixels.end(), raw.begin(), raw.end());
    return;
  }
  // NumPy pickles a transposed array as it lies: byte p of all images, then byte p+1.
  for (std::size_t i = 0; i < images; ++i)
    for (std::size_t p = 0; p < kImageBytes; ++p)
      set.pixels.push_back(std::uint8_t(raw[p * images + i]));
}

}  // namespace

void decode_python(std::span<const std::uint8_t> bytes, const std::string& name, ImageSet& set) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue& data = entry(pickle, "data");
  const PickleValue& labels = entry(pickle, "labels");
  const std::size_t images = image_count(pickle, data);
  if (const std::size_t count = label_count(pickle, labels); count != images)
    pickle.fail(labels.offset, fmt::format("{} labels for {} images", count, images));
  for (std::size_t i = 0; i < images; ++i) set.labels.push_back(label_at(pickle, labels, i));
  append_pixels(data.bytes, data.integer != 0, images, set);
}

std::optional<ClassNames> python_class_names(std::span<const std::uint8_t> bytes,
                                             const std::string& name) {
  const Pickle pickle = read_pickle(bytes, name);
  const PickleValue* list = pickle.root->find("label_names");
  ClassNames names;
  if (list == nullptr || list->kind != PickleKind::list || list->items.size() != names.size())
    return std::nullopt;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const PickleValue& value = *list->items[i];
    if (value.kind != PickleKind::bytes && value.kind != PickleKind::text) return std::nullopt;
    names[i] = value.bytes;
  }
  return names;
}

}  // namespace rueda
