#pragma once

namespace rueda {

/// What activations and packed weights are kept in and convolutions compute in. Parameters, their
/// gradients, all statistics, and everything behind the global pooling are fp32 in any case. tf32:
/// all is kept in fp32, and convolutions may round their operands to 10 bits of mantissa.
enum class Precision { fp32, tf32, bf16 };

/// The word that the command line uses for it.
inline const char* to_string(Precision p) {
  return p == Precision::bf16 ? "bf16" : p == Precision::tf32 ? "tf32" : "fp32";
}

}  // namespace rueda
