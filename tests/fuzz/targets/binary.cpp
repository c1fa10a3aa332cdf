// The binary version's files.
#include "data/cifar10_files.hpp"
#include "tests/fuzz/target.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  rueda::fuzz::read_or_refuse([&] {
    rueda::ImageSet set;
    rueda::decode_binary(bytes, "data_batch_1.bin", set);
  });
  rueda::binary_class_names(bytes);
  return 0;
}
