#include "data/pickle.hpp"

#include <catch2/catch.hpp>

#include "data/cifar10_files.hpp"
#include "tests/support/pickle_writer.hpp"
#include "tests/support/python_pickles.hpp"

namespace rueda::test {
namespace {

using Catch::Contains;

void append_hex(std::string_view hex, Bytes& bytes) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(std::uint8_t(digit(hex[i]) * 16 + digit(hex[i + 1])));
}

/// The pixels that the stored pickles were made with.
Bytes stored_pixels() {
  Bytes pixels;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t p = 0; p < kImageBytes; ++p) pixels.push_back(std::uint8_t((7 * i + p) % 100));
  return pixels;
}

Bytes spliced(const PythonPickle& stored) {
  Bytes bytes;
  append_hex(stored.before, bytes);
  const Bytes pixels = stored_pixels();
  bytes.insert(bytes.end(), pixels.begin(), pixels.end());
  append_hex(stored.after, bytes);
  return bytes;
}

std::string read_refusal(const Bytes& bytes) {
  return refusal([&] { read_pickle(bytes, "some/file"); });
}

std::string refused(PickleWriter& writer) { return read_refusal(writer.finish()); }

PickleWriter pickle() { return {}; }

}  // namespace

TEST_CASE("batches as Python 2 and 3 write them decode alike", "[pickle]") {
  for (const auto& stored : kPythonPickles) {
    CAPTURE(stored.writer);
    ImageSet set;
    REQUIRE_NOTHROW(decode_python(spliced(stored), "file", set));
    CHECK(set.labels == Bytes{3, 9});
    CHECK(set.pixels == stored_pixels());
  }
}

TEST_CASE("every cut is refused and no flipped byte crashes the reader", "[pickle]") {
  for (const auto& stored : kPythonPickles) {
    const Bytes whole = spliced(stored);
    const std::size_t head = stored.before.size() / 2;
    const std::size_t tail = head + 2 * kImageBytes;
    for (std::size_t i = 0; i<whole.size(); i += i> head && i + 64 < tail ? 61 : 1) {
      CAPTURE(stored.writer, i);
      const Bytes cut(whole.begin(), whole.begin() + std::ptrdiff_t(i));
      CHECK_THAT(read_refusal(cut), Contains("some/file: byte "));
      Bytes flipped = whole;
      flipped[i] ^= 0x5a;
      ImageSet set;
      refusal([&] { decode_python(flipped, "file", set); });
    }
  }
}

TEST_CASE("bytes above 127 survive both ways of writing them", "[pickle]") {
  for (const auto hex : {kHighBytesProtocol2, kHighBytesProtocol5}) {
    Bytes bytes;
    append_hex(hex, bytes);
    const Pickle read = read_pickle(bytes, "file");
    REQUIRE(read.root->kind == PickleValue::Kind::array);
    CHECK(read.root->bytes == "\x01\x7f\x80\xbf\xc0\xff");
  }
}

TEST_CASE("integers of every width keep their value", "[pickle]") {
  const Bytes bytes = pickle()
                          .open_list()
                          .raw("K\xff")
                          .raw("M\xff\xff")
                          .raw("J\xfe\xff\xff\xff")
                          .raw("\x8a")
                          .little(2, 1)
                          .little(0xff7f, 2)
                          .raw("\x8a")
                          .little(8, 1)
                          .little(1ULL << 62, 8)
                          .raw("\x8a")
                          .little(0, 1)
                          .close_list()
                          .finish();
  const Pickle read = read_pickle(bytes, "file");
  std::vector<std::int64_t> values;
  for (const auto* item : read.root->items) values.push_back(item->integer);
  CHECK(values == std::vector<std::int64_t>{255, 65535, -2, -129, 1LL << 62, 0});
}

TEST_CASE("globals off the list are refused by name and offset", "[pickle]") {
  CHECK_THAT(refused(pickle().global("os", "system").str("true").raw("\x85R")),
             Contains("'os.system'") && Contains("some/file: byte 2:") &&
                 Contains("nothing was executed"));
  CHECK_THAT(refused(pickle().raw("\x8c\x08"
                                  "builtins\x8c\x04"
                                  "eval\x93")),
             Contains("'builtins.eval'") && Contains("byte 18:"));
  CHECK_THAT(refused(pickle().global("numpy.core.multiarray", "fromfile")),
             Contains("'numpy.core.multiarray.fromfile'"));
  CHECK_THAT(refused(pickle().global("o\x1b[2Js", "system")), Contains("'o\\x1b[2Js.system'"));
  for (const char* opcode : {"i", "o", "\x81", "\x92", "P", "Q", "\x82", "\x97", "2", "I", "G"})
    CHECK_THAT(refused(pickle().raw(opcode)), Contains("opcode 0x"));
}

TEST_CASE("calls other than NumPy's own are refused", "[pickle]") {
  CHECK_THAT(refused(pickle().integer(1).raw(")R")), Contains("an integer can not be called"));
  CHECK_THAT(refused(pickle().global("numpy", "ndarray").raw(")R")),
             Contains("'ndarray' is called"));
  CHECK_THAT(refused(pickle().global("numpy", "dtype").str("u1").raw("R")),
             Contains("no list of arguments"));
  CHECK_THAT(refused(pickle()
                         .global("_codecs", "encode")
                         .raw("X")
                         .little(1, 4)
                         .raw("a")
                         .str("rot13")
                         .raw("\x86R")),
             Contains("'rot13'"));
  CHECK_THAT(refused(pickle().open_list().close_list().raw(")b")),
             Contains("a list can not be given a state"));
}

TEST_CASE("lengths beyond the file are refused before anything is allocated", "[pickle]") {
  for (const std::string_view opcode : {"\x8e", "\x8d", "\x96"})
    CHECK_THAT(refused(pickle().raw(opcode).little(~0ULL, 8)),
               Contains("18446744073709551615 bytes are due"));
  CHECK_THAT(refused(pickle().raw("T").little(0xffffffff, 4).raw("abc")),
             Contains("4294967295 bytes are due, 4 remain"));
  CHECK_THAT(refused(pickle().raw("\x95").little(1000, 8)), Contains("frame"));
  CHECK_THAT(refused(pickle().raw("\x8a\xff").little(0, 8)), Contains("255 bytes is out of range"));
}

TEST_CASE("arrays whose shape and bytes disagree are refused", "[pickle]") {
  CHECK_THAT(refused(pickle().array(2, 3, "u1", "12345")),
             Contains("shape (2, 3) needs 6 bytes, there are 5"));
  CHECK_THAT(refused(pickle().array(2, 3, "u2", "123456")), Contains("needs 12 bytes"));
  CHECK_THAT(refused(pickle().array(0xffffffff, 0x7fffffff, "u8", "")), Contains("out of range"));
  CHECK_THAT(refused(pickle().array(2, 3, "O8", "123456")), Contains("'O8' are not supported"));
}

TEST_CASE("misuse of stack, marks and memo is refused", "[pickle]") {
  for (const std::string_view body :
       {"", "t", "e", "(", "K\1K\2", "K\1a", "]a", "]K\1s", "}K\1s", "}(K\1u", "R", "b", "\x93",
        "\x85", "(K\1\x86", "q\1", "\x94"}) {
    CAPTURE(std::string(body));
    CHECK_FALSE(refused(pickle().raw(body)).empty());
  }
  CHECK_THAT(refused(pickle().raw("}K\1(K\2s")),
             Contains("byte 8: the pickle uses a value that it never made"));
  CHECK_THAT(refused(pickle().raw("h\x07")), Contains("memo number 7 was never set"));
  CHECK_THAT(refused(pickle().raw("Nr").little(0xfffffff0, 4)),
             Contains("memo number 4294967280 is out of range"));
  CHECK_THAT(refused(pickle().raw("N.N")), Contains("2 bytes follow"));
}

TEST_CASE("the number of values, links and marks is bounded, and a text decoded repeatedly",
          "[pickle]") {
  const std::string many(Pickle::kMaxValues + 1, 'N');
  CHECK_THAT(refused(pickle().raw("(").raw(many).raw("t")), Contains("more than 1000000 values"));
  CHECK_THAT(refused(pickle().raw(std::string(Pickle::kMaxValues + 1, '('))),
             Contains("nests too deeply"));
  // Each round doubles what the list refers to; the bound on links ends it.
  PickleWriter doubling;
  doubling.raw("]q\1(");
  for (int i = 0; i < 1000; ++i) doubling.raw("h\1");
  doubling.raw("e");
  for (int round = 0; round < 1200; ++round) {
    doubling.raw("(");
    for (int i = 0; i < 1000; ++i) doubling.raw("h\1");
    doubling.raw("e");
  }
  CHECK_THAT(refused(doubling), Contains("in all"));
  PickleWriter bomb;
  bomb.global("_codecs", "encode").raw("q\1");
  bomb.raw("X").little(4'000'000, 4).raw(std::string(4'000'000, 'a')).str("latin1");
  bomb.raw("\x86q\2R");
  for (int i = 0; i < 60; ++i) bomb.raw("h\1h\2R");
  CHECK_THAT(refused(bomb), Contains("decodes to more than"));
}

TEST_CASE("values nested and looped without end are harmless", "[pickle]") {
  PickleWriter nested;
  nested.raw("N");
  for (int i = 0; i < 500'000; ++i) nested.raw("\x85");
  CHECK(refused(nested).empty());
  CHECK(refused(pickle().raw("]q\1h\1a")).empty());
}

}  // namespace rueda::test
