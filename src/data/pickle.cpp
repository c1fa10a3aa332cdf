#include "pickle.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "byte_cursor.hpp"
#include "rueda/core/text.hpp"

namespace rueda {

std::string_view name_of(PickleKind kind) noexcept {
  constexpr std::array<std::string_view, 11> kNames{
      "None",    "a boolean",    "an integer", "a byte string",        "a text",       "a list",
      "a tuple", "a dictionary", "a global",   "a NumPy element type", "a NumPy array"};
  return kNames[static_cast<std::size_t>(kind)];
}

const PickleValue* Pickle::find(const PickleValue& dict, std::string_view key) const {
  if (dict.kind != PickleKind::dict) return nullptr;
  // Backwards, as a later entry replaces an earlier one with the same key.
  for (std::size_t i = dict.items.size(); i >= 2; i -= 2) {
    const PickleValue& candidate = values_[dict.items[i - 2]];
    const bool string = candidate.kind == PickleKind::bytes || candidate.kind == PickleKind::text;
    if (string && candidate.bytes == key) return &values_[dict.items[i - 1]];
  }
  return nullptr;
}

PickleRef Pickle::add(PickleValue value) {
  if (values_.size() >= kMaxValues)
    fail(value.offset, fmt::format("the pickle holds more than {} values", kMaxValues));
  values_.push_back(std::move(value));
  return static_cast<PickleRef>(values_.size() - 1);
}

void Pickle::link(PickleRef container, std::span<const PickleRef> items) {
  PickleValue& target = values_[container];
  if (items.size() > kMaxValues - links_)
    fail(target.offset,
         fmt::format("the pickle's containers hold more than {} values in all", kMaxValues));
  links_ += items.size();
  target.items.insert(target.items.end(), items.begin(), items.end());
}

std::string_view Pickle::keep(std::string decoded) {
  kept_bytes_ += decoded.size();
  return kept_.emplace_back(std::move(decoded));
}

void Pickle::fail(std::size_t offset, const std::string& reason) const {
  fail_at(file_name_, offset, reason);
}

bool decode_latin1(std::string_view utf8, std::string& latin1) {
  latin1.clear();
  latin1.reserve(utf8.size());
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      latin1 += utf8[i];
      continue;
    }
    // Characters 128 to 255 are two bytes, 110000ab 10cdefgh.
    if ((lead != 0xc2 && lead != 0xc3) || i + 1 == utf8.size()) return false;
    const auto follower = static_cast<unsigned char>(utf8[++i]);
    if ((follower & 0xc0) != 0x80) return false;
    latin1 += static_cast<char>((lead & 3) << 6 | (follower & 0x3f));
  }
  return true;
}

std::string shape_text(const Pickle& pickle, const PickleValue& shape) {
  std::string out;
  for (const PickleRef item : shape.items)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", pickle[item].integer);
  return "(" + out + ")";
}

std::int64_t integer_element(const Pickle& pickle, const PickleValue& dtype, std::string_view raw,
                             std::size_t index, std::size_t offset) {
  const std::string_view code = dtype.bytes;
  const bool integer = code.size() == 2 && (code[0] == 'u' || code[0] == 'i');
  if (!integer || dtype.integer == '>')
    pickle.fail(offset, fmt::format("elements of type '{}{}' are not little-endian integers",
                                    static_cast<char>(dtype.integer), printable(code)));
  const auto width = static_cast<std::size_t>(code[1] - '0');
  std::uint64_t value = 0;
  for (std::size_t i = width; i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(raw[index * width + i]);
  const unsigned unused = 64 - 8 * static_cast<unsigned>(width);
  if (code[0] == 'u') return static_cast<std::int64_t>(value);
  return static_cast<std::int64_t>(value << unused) >> unused;
}

void PickleStack::push(PickleRef ref) {
  if (stack_.size() >= Pickle::kMaxValues) fail("the pickle nests too deeply");
  stack_.push_back(ref);
}

PickleRef PickleStack::top() const {
  if (reachable() == 0) fail("the pickle uses a value that it never made");
  return stack_.back();
}

PickleRef PickleStack::pop() {
  const PickleRef ref = top();
  stack_.pop_back();
  return ref;
}

std::vector<PickleRef> PickleStack::pop_many(std::size_t count) {
  if (reachable() < count) fail("the pickle uses a value that it never made");
  const auto first = stack_.end() - static_cast<std::ptrdiff_t>(count);
  std::vector<PickleRef> items(first, stack_.end());
  stack_.erase(first, stack_.end());
  return items;
}

void PickleStack::mark() {
  if (marks_.size() >= Pickle::kMaxValues) fail("the pickle nests too deeply");
  marks_.push_back(stack_.size());
}

std::vector<PickleRef> PickleStack::pop_to_mark() {
  if (marks_.empty()) fail("the pickle closes a group that it never opened");
  std::vector<PickleRef> items = pop_many(reachable());
  marks_.pop_back();
  return items;
}

void PickleStack::memoize(std::uint64_t index) {
  if (index >= Pickle::kMaxValues) fail(fmt::format("memo number {} is out of range", index));
  const auto i = static_cast<std::size_t>(index);
  if (i >= memo_.size()) memo_.resize(i + 1, kNoRef);
  memo_[i] = top();
  ++memoized_;
}

void PickleStack::recall(std::uint64_t index) {
  if (index >= memo_.size() || memo_[static_cast<std::size_t>(index)] == kNoRef)
    fail(fmt::format("memo number {} was never set", index));
  push(memo_[static_cast<std::size_t>(index)]);
}

}  // namespace rueda
