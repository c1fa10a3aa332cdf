#include <catch2/catch.hpp>

#include "data/cifar10_files.hpp"
#include "tests/support/pickle_writer.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

std::string decode_refusal(const Bytes& bytes) {
  ImageSet set;
  return refusal([&] { decode_python(bytes, "data_batch_1", set); });
}

/// A batch of two images with labels as `write_labels` writes them.
template <typename WriteLabels>
Bytes with_labels(WriteLabels write_labels) {
  PickleWriter out;
  out.open_dict().key("data").array(2, kImageBytes, "u1", std::string(2 * kImageBytes, 'x'));
  out.key("labels");
  write_labels(out);
  return out.close_dict().finish();
}

Bytes with_label(std::uint64_t label) {
  return with_labels(
      [&](PickleWriter& out) { out.open_list().integer(3).integer(label).close_list(); });
}

/// A batch whose data is an array of the given description.
Bytes with_array(std::uint64_t rows, std::uint64_t columns, const char* code, bool fortran,
                 std::string_view pixels) {
  PickleWriter out;
  out.open_dict().key("data").array(rows, columns, code, pixels, fortran);
  out.key("labels").open_list().integer(3).integer(4).close_list();
  return out.close_dict().finish();
}

}  // namespace

TEST_CASE("a batch of CIFAR-100 in Python's version is named", "[cifar10]") {
  PickleWriter out;
  out.open_dict().key("fine_labels").open_list().integer(3).close_list();
  out.key("data").array(1, kImageBytes, "u1", std::string(kImageBytes, 'x'));
  CHECK_THAT(decode_refusal(out.close_dict().finish()),
             Contains("data_batch_1 is of CIFAR-100, which has 100 classes"));
}

TEST_CASE("a batch with the official opcodes is read", "[cifar10]") {
  // More than 255 memo entries and pixels above 127.
  const ImageSet made = numbered_images(300);
  ImageSet set;
  decode_python(official_batch(made), "data_batch_1", set);
  CHECK(set.labels == made.labels);
  CHECK(set.pixels == made.pixels);
}

TEST_CASE("images are appended to those that are there", "[cifar10]") {
  ImageSet set = numbered_images(2);
  decode_python(official_batch(numbered_images(3, 2)), "data_batch_2", set);
  CHECK(set.labels == numbered_images(5).labels);
  CHECK(set.pixels == numbered_images(5).pixels);
}

TEST_CASE("wrong labels are refused with image, offset and reason", "[cifar10]") {
  CHECK(decode_refusal(with_label(9)).empty());
  CHECK_THAT(decode_refusal(with_label(10)),
             Contains("data_batch_1: byte ") && Contains("image 1 has label 10, expected 0 to 9"));
  CHECK_THAT(decode_refusal(with_label(0xffffffff)), Contains("image 1 has label -1"));
  CHECK_THAT(decode_refusal(with_labels([](PickleWriter& out) {
               out.open_list().integer(3).integer(4).integer(5).close_list();
             })),
             Contains("3 labels for 2 images"));
  CHECK_THAT(decode_refusal(with_labels(
                 [](PickleWriter& out) { out.open_list().integer(3).str("4").close_list(); })),
             Contains("label of image 1 is a byte string"));
  CHECK_THAT(decode_refusal(with_labels([](PickleWriter& out) { out.str("34"); })),
             Contains("'labels' is a byte string, expected a list"));
}

TEST_CASE("labels as a NumPy array must be integers of this byte order", "[cifar10]") {
  const auto labels_of_type = [](std::string_view code, std::string_view order) {
    return with_labels([&](PickleWriter& out) {
      out.global("numpy.core.multiarray", "_reconstruct").global("numpy", "ndarray");
      out.integer(0).raw("\x85").str("b").raw("\x87R(").integer(1).integer(2).raw("\x85");
      out.dtype(code, order).raw("\x89").str(std::string_view("\5\0\6\0", 4)).raw("tb");
    });
  };
  ImageSet set;
  decode_python(labels_of_type("i2", "<"), "file", set);
  CHECK(set.labels == Bytes{5, 6});
  CHECK_THAT(decode_refusal(labels_of_type("i2", ">")), Contains("little-endian"));
  CHECK_THAT(decode_refusal(labels_of_type("f2", "<")), Contains("little-endian"));
}

TEST_CASE("arrays of another type, shape or order are refused or turned", "[cifar10]") {
  const std::string pixels(2 * kImageBytes, 'x');
  CHECK(decode_refusal(with_array(2, kImageBytes, "u1", false, pixels)).empty());
  CHECK_THAT(decode_refusal(with_array(2, kImageBytes, "i1", false, pixels)),
             Contains("element type 'i1', expected 'u1' (uint8)"));
  CHECK_THAT(decode_refusal(with_array(4, kImageBytes / 2, "u1", false, pixels)),
             Contains("shape (4, 1536), expected (N, 3072)"));
  CHECK_THAT(decode_refusal(with_array(0, kImageBytes, "u1", false, "")),
             Contains("holds no image"));
  const ImageSet made = numbered_images(2);
  std::string turned;
  for (std::size_t p = 0; p < kImageBytes; ++p)
    for (std::size_t i = 0; i < 2; ++i) turned += char(made.image(i)[p]);
  ImageSet set;
  decode_python(with_array(2, kImageBytes, "u1", true, turned), "file", set);
  CHECK(set.pixels == made.pixels);
}

TEST_CASE("a pickle that is not a batch is refused", "[cifar10]") {
  CHECK_THAT(decode_refusal({}), Contains("ends too early"));
  CHECK_THAT(decode_refusal({'P', 'K', 3, 4}), Contains("not a pickle"));
  CHECK_THAT(decode_refusal({0x80, 6, 'N', '.'}), Contains("protocol 6 is not supported"));
  CHECK_THAT(decode_refusal(PickleWriter().raw("N").finish()), Contains("found None"));
  CHECK_THAT(decode_refusal(PickleWriter().open_dict().close_dict().finish()),
             Contains("no 'data'"));
  CHECK_THAT(decode_refusal(PickleWriter()
                                .open_dict()
                                .key("data")
                                .integer(1)
                                .key("labels")
                                .integer(1)
                                .close_dict()
                                .finish()),
             Contains("'data' is an integer, expected a NumPy array"));
}

TEST_CASE("an array that was announced but never filled is refused", "[cifar10]") {
  PickleWriter out;
  out.open_dict().key("data").global("numpy.core.multiarray", "_reconstruct");
  out.global("numpy", "ndarray").integer(0).raw("\x85").str("b").raw("\x87R");
  out.key("labels").open_list().close_list().close_dict();
  CHECK_THAT(decode_refusal(out.finish()), Contains("'data' is a NumPy array"));
}

TEST_CASE("class names come from batches.meta, however many it has", "[cifar10]") {
  PickleWriter ten;
  ten.open_dict().key("label_names").open_list();
  for (char c = 'a'; c <= 'j'; ++c) ten.key(std::string(1, c));
  ten.close_list().close_dict();
  const auto names = python_class_names(ten.finish(), "batches.meta");
  REQUIRE(names.size() == 10);
  CHECK(names.back() == "j");
  const Bytes none = PickleWriter().open_dict().close_dict().finish();
  CHECK(python_class_names(none, "batches.meta").empty());
  const Bytes lines{'a', '\r', '\n', 'b', '\n', '\n', 'c'};
  CHECK(binary_class_names(lines) == ClassNames{"a", "b", "c"});
}

}  // namespace rueda::test
