#pragma once

#include <cstdint>
#include <string_view>

#include "data_files.hpp"

namespace rueda::test {

/// Writes pickles opcode by opcode, as Python 2's cPickle wrote the official files: `str` for keys
/// and pixels, every new value memoized by BINPUT or LONG_BINPUT. Nothing is checked, so damaged
/// and hostile pickles can be written as well.
class PickleWriter {
 public:
  PickleWriter() { raw("\x80\x02"); }

  PickleWriter& raw(std::string_view bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  PickleWriter& little(std::uint64_t value, int width) {
    for (int i = 0; i < width; ++i) bytes_.push_back(std::uint8_t(value >> (8 * i)));
    return *this;
  }
  PickleWriter& put() {
    const auto number = ++memo_;
    return number < 256 ? raw("q").little(number, 1) : raw("r").little(number, 4);
  }
  PickleWriter& str(std::string_view text) {
    if (text.size() < 256)
      raw("U").little(text.size(), 1);
    else
      raw("T").little(text.size(), 4);
    return raw(text);
  }
  PickleWriter& key(std::string_view text) { return str(text).put(); }
  PickleWriter& integer(std::uint64_t value) {
    if (value < 0x100) return raw("K").little(value, 1);
    return value < 0x10000 ? raw("M").little(value, 2) : raw("J").little(value, 4);
  }
  PickleWriter& global(std::string_view module, std::string_view name) {
    return raw("c").raw(module).raw("\n").raw(name).raw("\n");
  }
  PickleWriter& open_dict() { return raw("}").put().raw("("); }
  PickleWriter& close_dict() { return raw("u"); }
  PickleWriter& open_list() { return raw("]").put().raw("("); }
  PickleWriter& close_list() { return raw("e"); }

  /// numpy.dtype(code), `order` being '|', '<' or '>'.
  PickleWriter& dtype(std::string_view code, std::string_view order) {
    global("numpy", "dtype").put().str(code).integer(0).integer(1).raw("\x87R").put();
    raw("(").integer(3).str(order).raw("NNN");
    return raw("J\xff\xff\xff\xffJ\xff\xff\xff\xff").integer(0).raw("tb");
  }
  /// A two-dimensional NumPy array; `fortran` is its flag as cPickle wrote it.
  PickleWriter& array(std::uint64_t rows, std::uint64_t columns, std::string_view code,
                      std::string_view pixels, bool fortran = false) {
    global("numpy.core.multiarray", "_reconstruct").put().global("numpy", "ndarray").put();
    integer(0).raw("\x85").str("b").raw("\x87R").put();
    raw("(").integer(1).integer(rows).integer(columns).raw("\x86");
    return dtype(code, "|").raw(fortran ? "\x88" : "\x89").str(pixels).raw("tb");
  }

  Bytes finish() {
    raw(".");
    return bytes_;
  }

 private:
  Bytes bytes_;
  std::uint64_t memo_ = 0;
};

inline std::string_view as_text(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A batch file with the entries of an official one, in their order.
inline Bytes official_batch(const ImageSet& set) {
  PickleWriter out;
  out.open_dict().key("batch_label").key("training batch 1 of 5").key("labels").open_list();
  for (const std::uint8_t label : set.labels) out.integer(label);
  out.close_list().key("data").array(set.size(), kImageBytes, "u1", as_text(set.pixels));
  out.key("filenames").open_list();
  for (std::size_t i = 0; i < set.size(); ++i) out.key("camion_s_000148.png");
  return out.close_list().close_dict().finish();
}

}  // namespace rueda::test
