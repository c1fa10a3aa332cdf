#include "pickle.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "byte_cursor.hpp"

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

}  // namespace rueda
