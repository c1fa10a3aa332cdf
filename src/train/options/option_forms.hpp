#pragma once

#include "train/options.hpp"

namespace rueda {

// The kinds of options whose values are no plain number, word or text.

Formed model_name_form();
Formed checkpoint_every_form();
Formed balance_form();
Formed compute_form();
Formed audit_every_form();

Words shuffle_words();
/// Without the last one, which only rueda bench has, for comparison.
Words algorithm_words();

}  // namespace rueda
