#include "base/json/bounded_json.hpp"

#include <set>

#include <fmt/format.h>

#include "base/error.hpp"
#include "base/text.hpp"

namespace rueda {
namespace {

using Json = nlohmann::ordered_json;

std::string no_json_from(std::size_t byte) { return fmt::format("no JSON from byte {} on", byte); }

/// Sees a text go by and keeps nothing of it but how deep it stands.
class Guard final : public Json::json_sax_t {
 public:
  explicit Guard(const JsonLimits& limits) : limits_(limits) {}

  const std::string& fault() const { return fault_; }

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const std::string&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (++keys_.back() > limits_.most_keys) return more(limits_.most_keys, "keys in one object");
    if (limits_.unique_keys && !names_.back().insert(name).second)
      return stop("the name '" + printable(name) + "' is there twice");
    return value();
  }

  bool parse_error(std::size_t byte, const std::string&, const Json::exception& error) override {
    constexpr int kNumberOverflow = 406;
    if (error.id != kNumberOverflow) return stop(no_json_from(byte));
    return stop(fmt::format("the number that ends at byte {} is out of range", byte));
  }

 private:
  bool value() { return ++values_ <= limits_.most_values || more(limits_.most_values, "values"); }

  bool open() {
    if (keys_.size() == limits_.most_depth) return more(limits_.most_depth, "levels");
    keys_.push_back(0);
    names_.emplace_back();
    return value();
  }

  bool close() {
    keys_.pop_back();
    names_.pop_back();
    return true;
  }

  /// False, which ends the parser's work.
  bool stop(std::string fault) {
    fault_ = std::move(fault);
    return false;
  }

  bool more(std::size_t most, const char* of_what) {
    return stop(fmt::format("its JSON has more than {} {}", most, of_what));
  }

  const JsonLimits& limits_;
  std::vector<std::size_t> keys_;             ///< of each object that is open; 0 for a list
  std::vector<std::set<std::string>> names_;  ///< that these objects have, where they are unique
  std::size_t values_ = 0;
  std::string fault_;
};

}  // namespace

std::string fault_of_json(std::string_view text, const JsonLimits& limits) {
  // The parser would take a zero byte for the end of the text.
  if (const auto zero = text.find('\0'); zero != text.npos) return no_json_from(zero + 1);
  Guard guard(limits);
  Json::sax_parse(text.begin(), text.end(), &guard);
  return guard.fault();
}

Json parse_json(std::string_view text) {
  if (std::string fault = fault_of_json(text); !fault.empty()) throw InputError(fault);
  return Json::parse(text.begin(), text.end());
}

Json parse_json(std::string_view text, const InputFile& file, const JsonLimits& limits) {
  if (std::string fault = fault_of_json(text, limits); !fault.empty()) file.refuse(fault);
  return Json::parse(text.begin(), text.end());
}

}  // namespace rueda
