#include "base/file_kind.hpp"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "base/text.hpp"

namespace rueda {
namespace {

using namespace std::string_view_literals;

enum class FileKind {
  safetensors,
  torch,
  keras,
  hdf5,
  numpy,
  pickle,
  parquet,
  onnx,
  gguf,
  matlab,
  picture,
  tar,
  gzip,
  bzip2,
  xz,
  zstd,
  seven_zip,
  zip,
  lfs_pointer,
  annex_pointer,
  html,
  xml,
  index,
  text,
};

/// By FileKind: what messages call it, the program that unpacks it, if it is packed, and the
/// remedy whatever was wanted, if it stands for another file.
struct Description {
  const char* name;
  const char* unpack = "";
  const char* instead = "";
};
constexpr std::array<Description, 24> kDescriptions{
    {{"a safetensors file"},
     {"a PyTorch file"},
     {"a Keras file"},
     {"an HDF5 file, such as Keras writes"},
     {"a NumPy file"},
     {"a Python pickle"},
     {"a Parquet file"},
     {"an ONNX file"},
     {"a GGUF file"},
     {"a MATLAB file"},
     {"a picture"},
     {"a tar archive", "tar -xf"},
     {"a gzip file", "gunzip"},
     {"a bzip2 file", "bunzip2"},
     {"an xz file", "unxz"},
     {"a Zstandard file", "unzstd"},
     {"a 7z archive", "7z x"},
     {"a zip archive", "unzip"},
     {"a Git LFS pointer, which stands for the file", "",
      "get the file: git lfs pull, in its repository"},
     {"a git-annex pointer, which stands for the file", "",
      "get the file: git annex get, in its repository"},
     {"an HTML page, such as a login or an error of the server", "",
      "open the address in a browser to see what the server wants, and download the file again"},
     {"an XML text, such as an object store's error", "",
      "read it for the reason, and download the file again"},
     {"the index of a network in several safetensors files"},
     {"a text"}}};

/// Bytes that begin every file of a kind, or stand in it at `offset`. None of them begins a text.
struct Magic {
  FileKind kind;
  std::string_view bytes;
  std::size_t offset = 0;
};
// PyTorch before 1.6 wrote a pickled number first: torch/serialization.py, MAGIC_NUMBER. bzip2's
// blocks begin with the digits of pi, Parquet's pages with a Thrift field. A header's length
// below 4 GB leaves zeros before a safetensors file's header. MATLAB's version 7.3 is HDF5 behind
// a text.
constexpr std::array<Magic, 28> kMagics{{
    {FileKind::zip, "PK\3\4"sv},
    {FileKind::zip, "PK\5\6"sv},
    {FileKind::torch, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv},
    {FileKind::hdf5, "\x89HDF\r\n\x1a\n"sv},
    {FileKind::numpy, "\x93NUMPY"sv},
    {FileKind::pickle, "\x80\x02"sv},
    {FileKind::pickle, "\x80\x03"sv},
    {FileKind::pickle, "\x80\x04"sv},
    {FileKind::pickle, "\x80\x05"sv},
    {FileKind::parquet, "PAR1\x15"sv},
    {FileKind::gguf, "GGUF"sv},
    {FileKind::matlab, "MATLAB 5.0 MAT-file"sv},
    {FileKind::matlab, "MATLAB 7.3 MAT-file"sv},
    {FileKind::picture, "\x89PNG\r\n\x1a\n"sv},
    {FileKind::picture, "\xff\xd8\xff"sv},
    {FileKind::picture, "GIF8"sv},
    {FileKind::picture, "WEBP"sv, 8},
    {FileKind::gzip, "\x1f\x8b"sv},
    {FileKind::bzip2, "1AY&SY"sv, 4},
    {FileKind::xz,
     "\xfd"
     "7zXZ\0"sv},
    {FileKind::zstd, "\x28\xb5\x2f\xfd"sv},
    {FileKind::seven_zip, "7z\xbc\xaf\x27\x1c"sv},
    {FileKind::safetensors, "\0\0\0\0{"sv, 4},
    {FileKind::tar, "ustar"sv, 257},
    {FileKind::lfs_pointer, "version https://git-lfs."sv},
    {FileKind::lfs_pointer, "version https://hawser."sv},
    {FileKind::annex_pointer, "/annex/objects/"sv},
    {FileKind::annex_pointer, "../.git/annex/objects/"sv},
}};

/// Words of a kind of text in small letters: how it begins, and one that it has.
struct TextMark {
  FileKind kind;
  std::string_view begin, has = "";
};
constexpr std::array<TextMark, 5> kTextMarks{{
    {FileKind::html, "<", "<!doctype html"},
    {FileKind::html, "<", "<html"},
    {FileKind::xml, "<?xml"},
    {FileKind::xml, "<error>"},
    {FileKind::index, "{", "\"weight_map\""},
}};

/// A zip archive by its first member: PyTorch's, Keras' and NumPy's files are some.
FileKind kind_of_zip(std::string_view head) {
  constexpr std::size_t kLengthAt = 26, kNameAt = 30;  // PKWARE's APPNOTE.TXT, 4.3.7
  if (head.size() < kNameAt) return FileKind::zip;
  const auto length = static_cast<unsigned char>(head[kLengthAt]);
  const std::string_view name = head.substr(kNameAt, length);
  if (name.ends_with("/data.pkl")) return FileKind::torch;
  if (name == "metadata.json" || name == "config.json") return FileKind::keras;
  if (name.ends_with(".npy")) return FileKind::numpy;
  return FileKind::zip;
}

/// ONNX is protobuf without a magic: field 1, the version, then field 2, the name of the program
/// that wrote it.
bool is_onnx(std::string_view head) {
  constexpr std::size_t kNameAt = 4, kShortest = 3, kLongest = 40;
  if (head.size() < kNameAt || head[0] != '\x08' || head[2] != '\x12') return false;
  const auto length = static_cast<unsigned char>(head[3]);
  const std::string_view name = head.substr(kNameAt, length);
  return length >= kShortest && length <= kLongest && name.size() == length &&
         std::ranges::all_of(name, [](char c) { return c >= ' ' && c <= '~'; });
}

/// Kinds of text, which has no magic: "<?xml", "<!DOCTYPE html>" in any letters, JSON.
std::optional<FileKind> kind_of_text(std::string_view head) {
  const bool control = std::ranges::any_of(head, [](char c) {
    return static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\r' && c != '\t' && c != '\f';
  });
  if (control || head.empty()) return std::nullopt;
  take(head, "\xEF\xBB\xBF");
  head.remove_prefix(std::min(head.find_first_not_of(" \t\r\n"), head.size()));
  const std::string text = lowered(std::string(head));
  for (const TextMark& mark : kTextMarks)
    if (text.starts_with(mark.begin) && text.find(mark.has) != text.npos) return mark.kind;
  return FileKind::text;
}

std::optional<FileKind> kind_of(std::string_view head) {
  for (const Magic& magic : kMagics)
    if (head.size() > magic.offset && head.substr(magic.offset).starts_with(magic.bytes))
      return magic.kind == FileKind::zip ? kind_of_zip(head) : magic.kind;
  if (is_onnx(head)) return FileKind::onnx;
  return kind_of_text(head);
}

bool stands_for_another(FileKind kind) {
  return *kDescriptions.at(std::size_t(kind)).instead != '\0';
}

bool fits(FileKind kind, Wanted wanted) {
  switch (wanted) {
    case Wanted::anything:
      return !stands_for_another(kind);
    case Wanted::weights:
      return kind == FileKind::safetensors;
    case Wanted::archive:
      return kind == FileKind::gzip || kind == FileKind::tar;
    case Wanted::python_batch:  // old pickles are texts
      return kind == FileKind::pickle || kind == FileKind::text;
    case Wanted::text:
      return kind == FileKind::text || kind == FileKind::index;
    case Wanted::binary_batch:
      break;
  }
  return false;
}

/// Python's program that makes a safetensors file (its second word) of a file of
/// this kind (its first word); empty: none is known.
std::string_view converter_of(FileKind kind) {
  switch (kind) {
    case FileKind::torch:
      return "import sys, torch; from safetensors.torch import save_file; w = "
             "torch.load(sys.argv[1], map_location='cpu', weights_only=True); w = "
             "w.get('state_dict', w); save_file({k: v.contiguous() for k, v in w.items()}, "
             "sys.argv[2])";
    case FileKind::keras:
    case FileKind::hdf5:
      return "import sys, keras; from safetensors.numpy import save_file; m = "
             "keras.models.load_model(sys.argv[1]); save_file({v.path: v.numpy() for v in "
             "m.weights}, sys.argv[2])";
    case FileKind::onnx:
      return "import sys, onnx; from safetensors.numpy import save_file; save_file({t.name: "
             "onnx.numpy_helper.to_array(t) for t in onnx.load(sys.argv[1]).graph.initializer}, "
             "sys.argv[2])";
    case FileKind::index:
      return "import sys, json, os; from safetensors.numpy import load_file, save_file; d = "
             "os.path.dirname(sys.argv[1]); m = json.load(open(sys.argv[1]))['weight_map']; "
             "save_file({n: t for f in set(m.values()) for n, t in load_file(os.path.join(d, "
             "f)).items()}, sys.argv[2])";
    default:
      return "";
  }
}

/// The line that makes a safetensors file of another framework's.
std::string conversion(FileKind kind, const fs::path& path) {
  const std::string_view program = converter_of(kind);
  if (program.empty())
    return "give a safetensors file, as rueda train --save-weights writes it; docs/checkpoints.md "
           "shows how others are made";
  const bool joins = kind == FileKind::index;
  fs::path to = path;
  if (joins)
    to.replace_filename("joined.safetensors");
  else
    to.replace_extension("safetensors");
  return fmt::format("{}: python3 -c \"{}\" {} {}", joins ? "join them" : "convert it", program,
                     shell_word(escaped(path.string())), shell_word(escaped(to.string())));
}

std::string remedy_for(FileKind kind, Wanted wanted, const fs::path& path) {
  const std::string file = " " + shell_word(escaped(path.string()));
  if (stands_for_another(kind)) return kDescriptions.at(std::size_t(kind)).instead;
  const std::string unpack = kDescriptions.at(std::size_t(kind)).unpack;
  const bool has_members = kind == FileKind::zip || kind == FileKind::seven_zip;
  if (!unpack.empty() && wanted == Wanted::archive)  // tar knows what a tar archive is packed with
    return "unpack it and give the directory: " + (has_members ? unpack : "tar -xf") + file;
  if (!unpack.empty()) return "unpack it: " + unpack + file;
  if (wanted == Wanted::weights) return conversion(kind, path);
  if (wanted == Wanted::text) return "give a text file";
  if (wanted == Wanted::archive && kind == FileKind::pickle)
    return "if it is one file of a CIFAR-10 set, give the directory that holds all of them";
  if (kind == FileKind::pickle) return "the names of the Python version do not end in .bin";
  if (kind == FileKind::picture || kind == FileKind::numpy)
    return "jobs/data.sh convert makes a set of pictures and arrays (docs/data.md)";
  return "download cifar-10-binary.tar.gz from https://www.cs.toronto.edu/~kriz/cifar.html, or "
         "make a set with rueda synth";
}

}  // namespace

std::vector<KindMarks> kinds_but_text() {
  std::vector<KindMarks> kinds;
  for (std::size_t k = 0; k < kDescriptions.size(); ++k) {
    const auto kind = FileKind(k);
    const auto& [name, unpack, instead] = kDescriptions[k];
    KindMarks marks{name, unpack, instead, {}, {}};
    for (const Magic& magic : kMagics)
      if (magic.kind == kind) marks.magics.push_back({magic.bytes, magic.offset});
    for (const TextMark& mark : kTextMarks)
      if (mark.kind == kind) marks.texts.push_back({mark.begin, mark.has});
    const bool marked = !marks.magics.empty() || !marks.texts.empty();
    if (marked && !fits(kind, Wanted::text)) kinds.push_back(std::move(marks));
  }
  return kinds;
}

std::optional<OtherKind> other_kind(std::string_view head, Wanted wanted, const fs::path& path) {
  const auto kind = kind_of(head);
  if (!kind || fits(*kind, wanted)) return std::nullopt;
  return OtherKind{kDescriptions.at(std::size_t(*kind)).name, remedy_for(*kind, wanted, path)};
}

std::optional<OtherKind> other_kind(const fs::path& path, Wanted wanted) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || is_made_by_kernel(path)) return std::nullopt;
  std::string head(kHeadBytes, '\0');
  std::ifstream stream(path, std::ios::binary);
  stream.read(head.data(), std::streamsize(head.size()));
  head.resize(std::size_t(std::max(stream.gcount(), std::streamsize{0})));
  return other_kind(head, wanted, path);
}

}  // namespace rueda
