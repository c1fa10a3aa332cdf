#include "train/options/option_forms.hpp"

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/text.hpp"
#include "base/text_input.hpp"
#include "train/options/option_kinds.hpp"

// Options whose values are no plain number, word or text.

namespace rueda {
namespace {

using C = TrainConfig;

std::string model_name(const C& c) { return c.model.name; }
void set_model_name(C& c, const std::string& text) { c.model.name = lowered(text); }

std::string checkpoint_every_text(const C& c) {
  if (c.checkpoints.every.count == 0) return "";
  return to_string(c.checkpoints.every);
}
void set_checkpoint_every(C& c, const std::string& text) {
  c.checkpoints.every = parse_every(text);
}

std::string balance_text(const C& c) { return to_string(c.batch.balance); }
void set_balance(C& c, const std::string& text) { c.batch.balance = parse_balance(text); }

std::string compute_text(const C& c) { return to_string(c.compute); }
void set_compute(C& c, const std::string& text) { c.compute = parse_compute(text); }

std::string audit_every_text(const C& c) {
  if (c.checks.audit_every == 0) return "";
  return std::to_string(c.checks.audit_every);
}
void set_audit_every(C& c, const std::string& text) {
  const bool plain = text.find_first_not_of("0123456789") == std::string::npos;
  if (plain)
    c.checks.audit_every = parse_number<std::size_t>(text);
  else
    c.checks.audit_every = parse_every(text).count;
  require(!text.ends_with("epoch") && !text.ends_with("epochs"), "audits are counted in steps");
}

}  // namespace

Formed model_name_form() { return {model_name, set_model_name}; }
Formed checkpoint_every_form() { return {checkpoint_every_text, set_checkpoint_every}; }
Formed balance_form() { return {balance_text, set_balance}; }
Formed compute_form() { return {compute_text, set_compute, kComputeFrom}; }
Formed audit_every_form() { return {audit_every_text, set_audit_every}; }

Words shuffle_words() {
  return {{"on", "off"},
          [](const C& c) { return std::size_t(!c.data.shuffle); },
          [](C& c, std::size_t index) { c.data.shuffle = index == 0; }};
}

Words algorithm_words() {
  static_assert(std::string_view(words_of(Algorithm()).back()) == "central");
  Words all = words<&SumsConfig::algorithm>();
  all.words.pop_back();
  return all;
}

}  // namespace rueda
