#include "cifar10_pickle.hpp"

#include <string_view>

#include <fmt/format.h>

#include "pickle_opcodes.hpp"

namespace rueda {
namespace {

/// Writes the opcodes of a pickle. Strings are Python 2's `str`.
class Writer {
 public:
  Writer() { op(kProto).op(2); }

  Writer& op(std::uint8_t code) {
    bytes_.push_back(code);
    return *this;
  }
  Writer& number(std::uint64_t value, std::size_t width) {
    for (std::size_t i = 0; i < width; ++i) op(static_cast<std::uint8_t>(value >> (8 * i)));
    return *this;
  }
  Writer& integer(std::uint64_t value) {
    if (value < 0x100) return op(kBinInt1).number(value, 1);
    if (value < 0x10000) return op(kBinInt2).number(value, 2);
    return op(kBinInt).number(value, 4);
  }
  Writer& string(std::string_view text) {
    const bool is_short = text.size() < 0x100;
    op(is_short ? kShortBinString : kBinString).number(text.size(), is_short ? 1 : 4);
    return raw(text);
  }
  Writer& global(std::string_view module, std::string_view name) {
    return op(kGlobal).raw(module).op('\n').raw(name).op('\n');
  }
  std::vector<std::uint8_t> finish() {
    op(kStop);
    return std::move(bytes_);
  }

 private:
  Writer& raw(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    return *this;
  }

  std::vector<std::uint8_t> bytes_;
};

/// dtype('uint8') with the state that NumPy gives it.
void write_uint8_type(Writer& out) {
  out.global("numpy", "dtype").string("u1").integer(0).integer(1).op(kTuple3).op(kReduce);
  out.op(kMark).integer(3).string("|").op(kNone).op(kNone).op(kNone);
  out.op(kBinInt).number(~std::uint64_t{0}, 4).op(kBinInt).number(~std::uint64_t{0}, 4);
  out.integer(0).op(kTuple).op(kBuild);
}

/// A uint8 array of shape (rows, kImageBytes) in C order.
void write_array(Writer& out, std::size_t rows, std::string_view pixels) {
  out.global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray");
  out.integer(0).op(kTuple1).string("b").op(kTuple3).op(kReduce);
  out.op(kMark).integer(1).integer(rows).integer(kImageBytes).op(kTuple2);
  write_uint8_type(out);
  out.op(kNewFalse).string(pixels).op(kTuple).op(kBuild);
}

}  // namespace

std::vector<std::uint8_t> pickle_batch(const Dataset& dataset, const ImageSet& set, Range images,
                                       const std::string& batch_label) {
  Writer out;
  out.op(kEmptyDict).op(kMark);
  out.string("batch_label").string(batch_label);
  out.string("labels").op(kEmptyList).op(kMark);
  for (std::size_t i = images.begin; i < images.end; ++i) out.integer(set.labels[i]);
  out.op(kAppends).string("data");
  const auto* pixels = reinterpret_cast<const char*>(set.image(images.begin).data());
  write_array(out, images.size(), {pixels, images.size() * kImageBytes});
  out.string("filenames").op(kEmptyList).op(kMark);
  for (std::size_t i = images.begin; i < images.end; ++i)
    out.string(fmt::format("{}_s_{:06}.png", dataset.class_names[set.labels[i]], i));
  out.op(kAppends).op(kSetItems);
  return out.finish();
}

std::vector<std::uint8_t> pickle_meta(const Dataset& dataset, std::size_t images_per_batch) {
  Writer out;
  out.op(kEmptyDict).op(kMark);
  out.string("num_cases_per_batch").integer(images_per_batch);
  out.string("label_names").op(kEmptyList).op(kMark);
  for (const std::string& name : dataset.class_names) out.string(name);
  out.op(kAppends);
  out.string("num_vis").integer(kImageBytes);
  out.op(kSetItems);
  return out.finish();
}

}  // namespace rueda
