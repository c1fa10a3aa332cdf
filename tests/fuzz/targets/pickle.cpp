// The Python version's files: a pickle that is read and never executed.
#include "data/cifar10_files.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  rueda::fuzz::read_or_refuse([&] {
    rueda::ImageSet set;
    rueda::decode_python(bytes, "data_batch_1", set);
  });
  rueda::fuzz::read_or_refuse([&] { rueda::python_class_names(bytes, "batches.meta"); });
  return 0;
}
