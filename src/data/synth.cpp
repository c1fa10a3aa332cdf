#include "data/synth.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/random.hpp"
#include "data/synth_shapes.hpp"
#include "rueda/data/dataset.hpp"

namespace rueda {
namespace {

/// Motifs are described in a frame of their own whose unit, the radius, is this many steps.
constexpr int kUnit = 4096;
constexpr int kPixel = 256;    ///< steps of a Placement per pixel
constexpr int kOne = 1 << 14;  ///< 1.0 of sine and cosine

constexpr int of_unit(double fraction) { return int(fraction * kUnit); }

/// A point in the motif's frame: u to the right, v down.
struct Point {
  int u;
  int v;
};

constexpr bool within(Point p, int radius) { return p.u * p.u + p.v * p.v <= radius * radius; }

/// sin(angle) * kOne; angle in 1/65536 turn. The parabola through the zeros and
/// the peak of each half wave, bent towards the sine by its own square: right
/// to 0.1 %, and integers only.
constexpr int sine(int angle) {
  const int a = angle & 0xffff;
  const int x = a & 0x7fff;
  const int parabola = int((std::int64_t(x) * (0x8000 - x)) >> 14);
  const int bent = (parabola * 775 + (parabola * parabola >> 14) * 225) / 1000;
  return a < 0x8000 ? bent : -bent;
}

constexpr int cosine(int angle) { return sine(angle + 0x4000); }

/// How many of the `sides` lines of a regular polygon have the point on their
/// inner side; the lines lie `distance` from the centre.
constexpr int sides_inside(Point p, int sides, int distance) {
  int inside = 0;
  for (int i = 0; i < sides; ++i) {
    const int angle = 0x4000 + i * 0x10000 / sides;
    if ((p.u * cosine(angle) + p.v * sine(angle)) / kOne <= distance) ++inside;
  }
  return inside;
}

/// Index of the cell of width `cell` that holds x; the grid has a line at 0.
constexpr int cell_of(int x, int cell) { return (x + 64 * cell) / cell; }

bool on_dot(Point p) {
  constexpr int kCell = of_unit(0.62);
  constexpr int kHalf = kCell / 2;
  const Point q{p.u + kHalf, p.v + kHalf};
  const Point from_centre{q.u - (cell_of(q.u, kCell) - 64) * kCell - kHalf,
                          q.v - (cell_of(q.v, kCell) - 64) * kCell - kHalf};
  return within(from_centre, of_unit(0.2));
}

bool on_cross(Point p) {
  const int along = std::max(std::abs(p.u), std::abs(p.v));
  const int across = std::min(std::abs(p.u), std::abs(p.v));
  return across <= of_unit(0.27) && along <= kUnit;
}

bool in_square(Point p, int half) { return std::max(std::abs(p.u), std::abs(p.v)) <= half; }

struct Motif {
  std::string_view name;
  bool (*covers)(Point);
  bool is_texture = false;  ///< seen through a round or a square window
};

constexpr std::array<Motif, 10> kMotifs{{
    {"disc", [](Point p) { return within(p, of_unit(0.95)); }},
    {"ring", [](Point p) { return within(p, kUnit) && !within(p, of_unit(0.6)); }},
    {"square", [](Point p) { return in_square(p, of_unit(0.78)); }},
    {"triangle", [](Point p) { return sides_inside(p, 3, of_unit(0.5)) == 3; }},
    {"cross", on_cross},
    // Inside all but at most one of the five lines that make a pentagram: its middle and its tips.
    {"star", [](Point p) { return sides_inside(p, 5, of_unit(0.36)) >= 4; }},
    {"crescent",
     [](Point p) {
       return within(p, kUnit) && !within({p.u - of_unit(0.48), p.v}, of_unit(0.82));
     }},
    {"stripes", [](Point p) { return cell_of(p.v + of_unit(0.2), of_unit(0.4)) % 2 == 0; }, true},
    {"checks",
     [](Point p) { return (cell_of(p.u, of_unit(0.5)) + cell_of(p.v, of_unit(0.5))) % 2 == 0; },
     true},
    {"dots", on_dot, true},
}};

bool covers(const Motif& motif, bool round_window, Point p) {
  if (!motif.is_texture) return motif.covers(p);
  const bool seen = round_window ? within(p, kUnit) : in_square(p, of_unit(0.86));
  return seen && motif.covers(p);
}

/// Turns and scales from image to motif: a function of x and y in 1/256 pixel.
auto frame_of(const Placement& place) {
  // (dx / radius) * kUnit, with the division done once: kScale / 2^kShift = kUnit / kOne.
  constexpr int kShift = 20;
  constexpr std::int64_t kScale = (std::int64_t{1} << kShift) * kUnit / kOne;
  const std::int64_t u = cosine(place.angle) * kScale / place.radius;
  const std::int64_t v = sine(place.angle) * kScale / place.radius;
  return [=](int x, int y) -> Point {
    const std::int64_t dx = x - place.centre_x, dy = y - place.centre_y;
    return {int((dx * u + dy * v) >> kShift), int((dy * u - dx * v) >> kShift)};
  };
}

int covered_samples(const Motif& motif, const Placement& place, const auto& frame, int column,
                    int row) {
  constexpr int kSamples = 4;
  constexpr int kStep = kPixel / kSamples;
  int covered = 0;
  for (int j = 0; j < kSamples; ++j) {
    for (int i = 0; i < kSamples; ++i) {
      const Point p =
          frame(column * kPixel + i * kStep + kStep / 2, row * kPixel + j * kStep + kStep / 2);
      if (covers(motif, place.round_window, p)) ++covered;
    }
  }
  return covered;
}

/// The random draws of one image, in order.
struct Draws {
  std::uint64_t key;
  std::uint64_t count = 0;

  std::uint64_t bits() noexcept { return random_bits(key, count++); }
  bool coin() noexcept { return (bits() >> 63) != 0; }
  /// An integer from `low` to `high`, both included.
  int between(int low, int high) noexcept {
    return low + int(to_below(bits(), std::uint32_t(high - low + 1)));
  }
};

// What makes the set easier or harder. Lengths in 1/256 pixel, colours in 1/255.
constexpr int kSmallestRadius = 8 * 256;
constexpr int kLargestRadius = 13 * 256;
constexpr int kSmallestContrast = 70;
constexpr int kLargestContrast = 130;
constexpr int kTint = 30;      ///< how far a channel may lie from the colour's grey
constexpr int kGradient = 24;  ///< background, from the middle to an edge
constexpr int kNoiseSigma = 8;

using Colour = std::array<int, kImageChannels>;

Colour tinted(int grey, Draws& draws) {
  Colour colour{};
  for (int& channel : colour) channel = std::clamp(grey + draws.between(-kTint, kTint), 0, 255);
  return colour;
}

/// Background and foreground. Either is the lighter one with equal chance, so
/// that neither a pixel's value nor the mean says anything about the class.
std::pair<Colour, Colour> draw_colours(Draws& draws) {
  const int contrast = draws.between(kSmallestContrast, kLargestContrast);
  const int darker = draws.between(20, 235 - contrast);
  Colour dark = tinted(darker, draws);
  Colour light = tinted(darker + contrast, draws);
  if (draws.coin()) std::swap(dark, light);
  return {dark, light};
}

Placement draw_placement(Draws& draws) {
  constexpr int kSide = kImageSide * 256;
  // A motif may lose a little at the edge of the image.
  constexpr int kOverhang = 256;
  const int radius = draws.between(kSmallestRadius, kLargestRadius);
  const int margin = std::min(radius - kOverhang, kSide / 2);
  return {.centre_x = draws.between(margin, kSide - margin),
          .centre_y = draws.between(margin, kSide - margin),
          .radius = radius,
          .angle = draws.between(0, 0xffff),
          .round_window = draws.coin()};
}

/// In the upper or the lower half of the image.
Placement draw_half_placement(Draws& draws, bool lower) {
  constexpr int kQuarter = kImageSide * 256 / 4;
  constexpr int kSlack = 256;
  const int middle = lower ? 3 * kQuarter : kQuarter;
  return {.centre_x = draws.between(kQuarter, 3 * kQuarter),
          .centre_y = draws.between(middle - kSlack / 2, middle + kSlack / 2),
          .radius = draws.between(kQuarter - 2 * kSlack, kQuarter - kSlack),
          .angle = draws.between(0, 0xffff),
          .round_window = draws.coin()};
}

/// From the eleventh class on two motifs, one over the other, so that a mirror
/// image is of the same class.
Mask draw_class(std::size_t label, const Placement& whole, Draws& draws) {
  if (label < kMotifs.size()) return draw_mask(label, whole);
  Mask mask = draw_mask(label % kMotifs.size(), draw_half_placement(draws, false));
  const Mask lower = draw_mask(label / kMotifs.size(), draw_half_placement(draws, true));
  std::ranges::transform(mask, lower, mask.begin(), std::ranges::max);
  return mask;
}

std::string class_name(std::size_t label) {
  std::string name(kMotifs.at(label % kMotifs.size()).name);
  if (label >= kMotifs.size())
    name.append(" over ").append(kMotifs.at(label / kMotifs.size()).name);
  return name;
}

/// About normal with sigma kNoiseSigma: the number of ones among 64 random bits
/// is binomial with mean 32 and sigma 4.
int draw_noise(Draws& draws) { return (std::popcount(draws.bits()) - 32) * kNoiseSigma / 4; }

void draw_image(std::size_t label, Draws draws, std::uint8_t* pixels) {
  const auto [background, foreground] = draw_colours(draws);
  const Placement placement = draw_placement(draws);
  const int slope_x = draws.between(-kGradient, kGradient);
  const int slope_y = draws.between(-kGradient, kGradient);
  const Mask mask = draw_class(label, placement, draws);
  for (std::size_t c = 0; c < background.size(); ++c) {
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const int x = int(i % kImageSide) - kImageSide / 2;
      const int y = int(i / kImageSide) - kImageSide / 2;
      const int back = background[c] + (slope_x * x + slope_y * y) / (kImageSide / 2);
      const int covered = (back * (16 - mask[i]) + foreground[c] * mask[i] + 8) / 16;
      *pixels++ = std::uint8_t(std::clamp(covered + draw_noise(draws), 0, 255));
    }
  }
}

/// The labels 0, 1, ... classes - 1, 0, 1, ... in random order.
std::vector<std::uint8_t> draw_labels(std::size_t count, std::size_t classes, std::uint64_t key) {
  std::vector<std::uint8_t> labels(count);
  for (std::size_t i = 0; i < count; ++i) labels[i] = std::uint8_t(i % classes);
  for (std::size_t i = count; i-- > 1;) {
    const auto bound = std::uint32_t(i + 1);
    std::swap(labels[i], labels[to_below(random_bits(key, key_of("labels"), i), bound)]);
  }
  return labels;
}

ImageSet draw_split(std::size_t count, const SynthOptions& options, std::string_view split) {
  const std::uint64_t key = random_bits(options.seed, key_of("synthetic"), key_of(split));
  ImageSet set;
  set.labels = draw_labels(count, options.classes, key);
  set.pixels.resize(count * kImageBytes);
  for (std::size_t i = 0; i < count; ++i)
    draw_image(set.labels[i], {random_bits(key, i)}, set.pixels.data() + i * kImageBytes);
  return set;
}

}  // namespace

Mask draw_mask(std::size_t label, const Placement& place) {
  // Nothing reaches further than 1.25 radii: not the tips of the star (1.17),
  // nor the corners of a square window (1.22).
  const int reach = place.radius + place.radius / 4;
  const auto pixel = [](int steps) { return std::clamp(steps / kPixel, 0, kImageSide); };
  const auto frame = frame_of(place);
  Mask mask{};
  for (int y = pixel(place.centre_y - reach); y < pixel(place.centre_y + reach + kPixel); ++y)
    for (int x = pixel(place.centre_x - reach); x < pixel(place.centre_x + reach + kPixel); ++x)
      mask[std::size_t(y) * kImageSide + std::size_t(x)] =
          std::uint8_t(covered_samples(kMotifs.at(label), place, frame, x, y));
  return mask;
}

Dataset draw_synthetic(const SynthOptions& options) {
  if (options.classes == 0) throw std::invalid_argument("a data set of no classes");
  Dataset dataset;
  dataset.source = "synthetic";
  dataset.class_names.clear();
  for (std::size_t i = 0; i < options.classes; ++i) dataset.class_names.push_back(class_name(i));
  dataset.train = draw_split(options.train, options, "train");
  dataset.test = draw_split(options.test, options, "test");
  return dataset;
}

}  // namespace rueda
