#pragma once

namespace rueda::kernels {

/// How the rows of an image become what its convolution reads: for each output column, in memory
/// of its own, all values of a row that the kernel covers there. That is im2col along the width
/// alone (Chellapilla, Puri and Simard, 2006). The convolution of its result has a kernel one
/// column wide. An image has three channels, but a tensor core multiplies 32 of a pixel at once:
/// this way they are a kernel's row, not one pixel and zeros.
struct RowWindows {
  int row = 0;     ///< values of a row: width x channels
  int count = 0;   ///< windows of a row: the output's width
  int step = 0;    ///< values from one window to the next: stride x channels
  int before = 0;  ///< zeros before the row: padding x channels
  int values = 0;  ///< of a window: kernel x channels
  int stored = 0;  ///< the values, and zeros up to whole packs of 16 bytes
};

}  // namespace rueda::kernels
