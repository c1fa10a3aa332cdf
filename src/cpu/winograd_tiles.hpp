#pragma once

#include <algorithm>

#include "base/split.hpp"
#include "cpu/winograd.hpp"
#include "cpu/winograd_product.hpp"
#include "cpu/winograd_transforms.hpp"

// Tiles of activations as rows of matrices, one matrix for each point, and their products.

namespace rueda::cpu::winograd {

/// Products that are summed in registers; such sums are added up, since one long sum rounds more.
inline constexpr std::size_t kDepth = 64;
/// Columns of a matrix that are one thread's at a time.
inline constexpr std::size_t kStrip = Winograd::kChannels;
/// Floats between rows, and between points: steps of a power of two would meet in few sets of a
/// cache.
inline constexpr std::size_t kSkew = 16;

/// Rows with those that fill the last register tile; what is computed in these is never read.
constexpr std::size_t whole_rows(std::size_t rows) { return pieces(rows, kRows) * kRows; }

/// One matrix of rows x columns for each point.
struct PointMatrices {
  float* values;
  std::size_t rows, columns;
  std::size_t skew = kSkew;

  std::size_t row_step() const { return columns + skew; }
  std::size_t point_step() const { return rows * row_step() + kSkew; }
  std::size_t floats() const { return kPoints * point_step(); }
  float* at(std::size_t point, std::size_t row, std::size_t column) const {
    return values + point * point_step() + row * row_step() + column;
  }
  template <std::size_t lanes>
  void put(std::size_t row, std::size_t column, const Vector<lanes>* square) const {
    for (std::size_t point = 0; point < kPoints; ++point)
      *reinterpret_cast<Vector<lanes>*>(at(point, row, column)) = square[point];
  }
  template <std::size_t lanes>
  void get(std::size_t row, std::size_t column, Vector<lanes>* square) const {
    for (std::size_t point = 0; point < kPoints; ++point)
      square[point] = *reinterpret_cast<const Vector<lanes>*>(at(point, row, column));
  }
};

/// The tiles of all images' outputs.
struct Tiles {
  int height, width;
  std::size_t down, across, count;

  explicit Tiles(const Winograd::Shape& s)
      : height(int(s.height)),
        width(int(s.width)),
        down(pieces(s.height, kTile)),
        across(pieces(s.width, kTile)),
        count(s.batch * down * across) {}

  std::size_t image(std::size_t tile) const { return tile / (down * across); }
  int top(std::size_t tile) const { return int(tile / across % down) * kTile; }
  int left(std::size_t tile) const { return int(tile % across) * kTile; }
};

/// side x side pixels from (top, left) on, of one vector of channels; zero beyond the map.
template <std::size_t lanes, int side>
void load_square(const Tiles& tiles, const float* map, std::size_t block, int top, int left,
                 Vector<lanes>* to) {
  const bool inside =
      top >= 0 && left >= 0 && top + side <= tiles.height && left + side <= tiles.width;
  for (int y = 0; y < side; ++y)
    for (int x = 0; x < side; ++x) {
      const int row = top + y, column = left + x;
      if (inside || (row >= 0 && row < tiles.height && column >= 0 && column < tiles.width))
        to[y * side + x] = *reinterpret_cast<const Vector<lanes>*>(
            map + std::size_t(row * tiles.width + column) * block);
      else
        to[y * side + x] = Vector<lanes>{};
    }
}

/// The transformed square of a tile, of all channels, as a row of `to`. It begins
/// `border` pixels before the tile.
template <typename Transform, std::size_t lanes>
void transform_tile(const Tiles& tiles, std::size_t tile, const ActivationView& view,
                    const float* from, int border, const PointMatrices& to, std::size_t row) {
  constexpr int side = Transform::kFrom;
  Vector<lanes> square[side * side], points[kPoints];
  for (std::size_t c = 0; c < to.columns; c += lanes) {
    load_square<lanes, side>(tiles, from + view.offset(tiles.image(tile), c, 0), view.block,
                             tiles.top(tile) - border, tiles.left(tile) - border, square);
    transform<Transform>(square, points);
    to.put<lanes>(row, c, points);
  }
}

/// The outputs of a tile, of the channels from `channel` on, from a row of products.
template <std::size_t lanes>
void write_tile(const Tiles& tiles, std::size_t tile, const PointMatrices& from, std::size_t row,
                const ActivationView& view, std::size_t channel, float* to) {
  const int top = tiles.top(tile), left = tiles.left(tile);
  const int rows = std::min(kTile, tiles.height - top);
  const int columns = std::min(kTile, tiles.width - left);
  Vector<lanes> points[kPoints], square[kTile * kTile];
  for (std::size_t c = 0; c < from.columns; c += lanes) {
    from.get<lanes>(row, c, points);
    transform<ToOutput>(points, square);
    float* map = to + view.offset(tiles.image(tile), channel + c, 0);
    for (int y = 0; y < rows; ++y)
      for (int x = 0; x < columns; ++x) {
        const int down = top + y, across = left + x;
        const std::size_t pixel =
            std::size_t(down) * std::size_t(tiles.width) + std::size_t(across);
        *reinterpret_cast<Vector<lanes>*>(map + pixel * view.block) = square[y * kTile + x];
      }
  }
}

/// to = (to +) left x right at one point, for the two vectors of columns from `column` on.
template <std::size_t lanes>
void multiply(const Factor& left, const Factor& right, std::size_t depth, const PointMatrices& to,
              std::size_t point, std::size_t column, bool adds) {
  for (std::size_t k = 0; k < depth; k += kDepth)
    for (std::size_t row = 0; row < to.rows; row += kRows)
      multiply_tile({.left = {left.at(row, k), left.row, left.column},
                     .right = {right.at(k, 0), right.row, right.column},
                     .depth = std::min(kDepth, depth - k),
                     .to = to.at(point, row, column),
                     .to_row = to.row_step(),
                     .adds = adds || k > 0},
                    Lanes<lanes>());
}

}  // namespace rueda::cpu::winograd
