#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "byte_cursor.hpp"
#include "pickle.hpp"
#include "pickle_opcodes.hpp"

namespace rueda {
namespace {

/// The stack machine that a pickle is a program for, cut down to what data needs.
class Machine {
 public:
  Machine(std::span<const std::uint8_t> bytes, const std::string& file_name)
      : cursor_(bytes, file_name), pickle_(file_name) {}

  Pickle run();

 private:
  // Each handles the opcodes of one family and says whether this was one of them.
  bool run_number(std::uint8_t opcode);
  bool run_string(std::uint8_t opcode);
  bool run_container(std::uint8_t opcode);
  bool run_growth(std::uint8_t opcode);
  bool run_memo(std::uint8_t opcode);
  bool run_object(std::uint8_t opcode);

  void read_header();
  void push_new(PickleKind kind, std::int64_t integer = 0);
  void make_tuple(const std::vector<PickleRef>& items);
  void grow(PickleKind kind, const std::vector<PickleRef>& items);
  [[noreturn]] void fail(const std::string& reason) const { pickle_.fail(start_, reason); }

  ByteCursor cursor_;
  Pickle pickle_;
  std::size_t start_ = 0;  ///< offset of the opcode being run
  PickleStack stack_{pickle_};
};

Pickle Machine::run() {
  read_header();
  for (;;) {
    start_ = cursor_.offset();
    stack_.at(start_);
    const std::uint8_t opcode = cursor_.byte();
    if (opcode == kStop) break;
    const bool known = run_number(opcode) || run_string(opcode) || run_container(opcode) ||
                       run_growth(opcode) || run_memo(opcode) || run_object(opcode);
    if (!known)
      fail(fmt::format("pickle opcode 0x{:02x} is not one that CIFAR-10 files use", opcode));
  }
  pickle_.set_root(stack_.pop());
  if (!stack_.clean()) fail("the pickle leaves more than one value");
  if (cursor_.remaining() > 0)
    fail(fmt::format("{} bytes follow the end of the pickle", cursor_.remaining()));
  return std::move(pickle_);
}

void Machine::read_header() {
  if (cursor_.byte() != kProto) fail("this is not a pickle of protocol 2 or newer");
  const std::uint8_t protocol = cursor_.byte();
  if (protocol < 2 || protocol > 5)
    fail(fmt::format("pickle protocol {} is not supported (2 to 5 are)", protocol));
}

bool Machine::run_number(std::uint8_t opcode) {
  switch (opcode) {
    case kNone:
      push_new(PickleKind::none);
      return true;
    case kNewTrue:
      push_new(PickleKind::boolean, 1);
      return true;
    case kNewFalse:
      push_new(PickleKind::boolean, 0);
      return true;
    case kBinInt1:
      push_new(PickleKind::integer, cursor_.byte());
      return true;
    case kBinInt2:
      push_new(PickleKind::integer, static_cast<std::int64_t>(cursor_.little_endian(2)));
      return true;
    case kBinInt:
      push_new(PickleKind::integer, cursor_.signed_little_endian(4));
      return true;
    case kLong1: {
      const std::uint8_t width = cursor_.byte();
      if (width > 8) fail(fmt::format("an integer of {} bytes is out of range", width));
      push_new(PickleKind::integer, cursor_.signed_little_endian(width));
      return true;
    }
    default:
      return false;
  }
}

bool Machine::run_string(std::uint8_t opcode) {
  for (const StringOpcode& string : kStrings) {
    if (string.opcode != opcode) continue;
    const std::uint64_t length = cursor_.little_endian(string.length_width);
    const std::string_view bytes = cursor_.take(length);
    stack_.push(pickle_.add({.kind = string.kind, .offset = start_, .bytes = bytes}));
    return true;
  }
  return false;
}

bool Machine::run_container(std::uint8_t opcode) {
  switch (opcode) {
    case kMark:
      stack_.mark();
      return true;
    case kEmptyList:
      push_new(PickleKind::list);
      return true;
    case kEmptyDict:
      push_new(PickleKind::dict);
      return true;
    case kEmptyTuple:
      make_tuple({});
      return true;
    case kTuple1:
      make_tuple(stack_.pop_many(1));
      return true;
    case kTuple2:
      make_tuple(stack_.pop_many(2));
      return true;
    case kTuple3:
      make_tuple(stack_.pop_many(3));
      return true;
    case kTuple:
      make_tuple(stack_.pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Machine::run_growth(std::uint8_t opcode) {
  switch (opcode) {
    case kAppend:
      grow(PickleKind::list, stack_.pop_many(1));
      return true;
    case kAppends:
      grow(PickleKind::list, stack_.pop_to_mark());
      return true;
    case kSetItem:
      grow(PickleKind::dict, stack_.pop_many(2));
      return true;
    case kSetItems:
      grow(PickleKind::dict, stack_.pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Machine::run_memo(std::uint8_t opcode) {
  switch (opcode) {
    case kBinPut:
      stack_.memoize(cursor_.byte());
      return true;
    case kLongBinPut:
      stack_.memoize(cursor_.little_endian(4));
      return true;
    case kMemoize:
      stack_.memoize();
      return true;
    case kBinGet:
      stack_.recall(cursor_.byte());
      return true;
    case kLongBinGet:
      stack_.recall(cursor_.little_endian(4));
      return true;
    default:
      return false;
  }
}

bool Machine::run_object(std::uint8_t opcode) {
  switch (opcode) {
    case kFrame:
      // A frame only groups opcodes for buffered reading; that its bytes are there is all to check.
      if (cursor_.little_endian(8) > cursor_.remaining()) fail("a frame is longer than the file");
      return true;
    case kGlobal: {
      const std::string_view module = cursor_.line();
      stack_.push(find_global(pickle_, module, cursor_.line(), start_));
      return true;
    }
    case kStackGlobal: {
      const PickleValue& name = pickle_[stack_.pop()];
      const PickleValue& module = pickle_[stack_.pop()];
      if (name.kind != PickleKind::text || module.kind != PickleKind::text)
        fail("a global is not named by two texts");
      stack_.push(find_global(pickle_, module.bytes, name.bytes, start_));
      return true;
    }
    case kReduce: {
      const PickleRef arguments = stack_.pop();
      stack_.push(reduce(pickle_, pickle_[stack_.pop()], pickle_[arguments], start_));
      return true;
    }
    case kBuild: {
      const PickleRef state = stack_.pop();
      build(pickle_, stack_.top(), pickle_[state], start_);
      return true;
    }
    default:
      return false;
  }
}

void Machine::push_new(PickleKind kind, std::int64_t integer) {
  stack_.push(pickle_.add({.kind = kind, .offset = start_, .integer = integer}));
}

void Machine::make_tuple(const std::vector<PickleRef>& items) {
  push_new(PickleKind::tuple);
  pickle_.link(stack_.top(), items);
}

void Machine::grow(PickleKind kind, const std::vector<PickleRef>& items) {
  const PickleRef container = stack_.top();
  if (pickle_[container].kind != kind)
    fail(fmt::format("expected {}, found {}", name_of(kind), name_of(pickle_[container].kind)));
  if (kind == PickleKind::dict && items.size() % 2 != 0) fail("a key has no value");
  pickle_.link(container, items);
}

}  // namespace

Pickle read_pickle(std::span<const std::uint8_t> bytes, const std::string& file_name) {
  return Machine(bytes, file_name).run();
}

}  // namespace rueda
