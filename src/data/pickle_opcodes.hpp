#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "pickle.hpp"

namespace rueda {

/// The opcodes that a CIFAR-10 file may use, named as in CPython's Lib/pickletools.py.
enum Opcode : std::uint8_t {
  kMark = '(',
  kEmptyTuple = ')',
  kStop = '.',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBinString = 'T',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kBuild = 'b',
  kGlobal = 'c',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kEmptyDict = '}',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
};

/// How an opcode that carries a string gives its length: unsigned, of so many bytes.
struct StringOpcode {
  Opcode opcode;
  PickleKind kind;
  std::size_t length_width;
};

// Python 2's `str`, which its files use for text and for raw pixels, is bytes.
inline constexpr std::array<StringOpcode, 9> kStrings{{
    {kShortBinString, PickleKind::bytes, 1},
    {kBinString, PickleKind::bytes, 4},
    {kShortBinBytes, PickleKind::bytes, 1},
    {kBinBytes, PickleKind::bytes, 4},
    {kBinBytes8, PickleKind::bytes, 8},
    {kByteArray8, PickleKind::bytes, 8},
    {kShortBinUnicode, PickleKind::text, 1},
    {kBinUnicode, PickleKind::text, 4},
    {kBinUnicode8, PickleKind::text, 8},
}};

}  // namespace rueda
