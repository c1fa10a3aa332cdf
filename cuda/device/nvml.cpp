#include <dlfcn.h>

#include "cuda/device/device_query.hpp"

// The few functions that are used, as NVIDIA's reference of NVML has them; its
// header is not in every toolkit.

namespace rueda {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;
constexpr int kMemoryClock = 2;
constexpr int kChip = 0;

using Device = struct NvmlDevice*;
struct Utilization {
  unsigned gpu = 0;     ///< per cent
  unsigned memory = 0;  ///< per cent of the time in which memory was read or written
};
struct MemoryInfo {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

/// The functions; those that the library lacks are null.
class Library {
  struct Symbol {
    void* address;
    template <typename Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(address);
    }
  };
  Symbol find(const char* name) { return {dlsym(raw_.get(), name)}; }

  std::unique_ptr<void, decltype([](void* library) { dlclose(library); })> raw_;

 public:
  explicit Library(void* raw) : raw_(raw) {}

  int (*initialise)() = find("nvmlInit_v2");
  int (*shut_down)() = find("nvmlShutdown");
  int (*device_by_uuid)(const char*, Device*) = find("nvmlDeviceGetHandleByUUID");
  /// Millijoules.
  int (*energy)(Device, unsigned long long*) = find("nvmlDeviceGetTotalEnergyConsumption");
  int (*utilization)(Device, Utilization*) = find("nvmlDeviceGetUtilizationRates");
  int (*memory)(Device, MemoryInfo*) = find("nvmlDeviceGetMemoryInfo");
  int (*clock)(Device, int, unsigned*) = find("nvmlDeviceGetClockInfo");  ///< MHz
  int (*power)(Device, unsigned*) = find("nvmlDeviceGetPowerUsage");      ///< milliwatts
  int (*temperature)(Device, int, unsigned*) = find("nvmlDeviceGetTemperature");
};

/// What `function` writes, times `unit`; NaN if it is not there or fails.
template <typename Number, typename Function, typename... Arguments>
double read(double unit, Function function, Arguments... arguments) {
  Number value = 0;
  if (function == nullptr || function(arguments..., &value) != kSuccess)
    return DeviceSample::kUnknown;
  return double(value) * unit;
}

class Nvml final : public DeviceMonitor {
 public:
  /// Takes an initialised library.
  Nvml(std::unique_ptr<Library> library, Device device)
      : library_(std::move(library)), device_(device) {}
  ~Nvml() override { static_cast<void>(library_->shut_down()); }

  double energy_joules() override {
    return read<unsigned long long>(1e-3, library_->energy, device_);
  }

  DeviceSample sample() override {
    DeviceSample s;
    Utilization busy;
    if (library_->utilization != nullptr && library_->utilization(device_, &busy) == kSuccess)
      s.utilization = busy.gpu / 100.0;
    MemoryInfo memory;
    if (library_->memory != nullptr && library_->memory(device_, &memory) == kSuccess)
      s.memory_bytes = double(memory.used);
    s.sm_clock_hz = read<unsigned>(1e6, library_->clock, device_, kSmClock);
    s.memory_clock_hz = read<unsigned>(1e6, library_->clock, device_, kMemoryClock);
    s.power_watts = read<unsigned>(1e-3, library_->power, device_);
    s.temperature_celsius = read<unsigned>(1, library_->temperature, device_, kChip);
    return s;
  }

 private:
  std::unique_ptr<Library> library_;
  Device device_;
};

}  // namespace

std::unique_ptr<DeviceMonitor> open_nvml(const std::string& uuid) {
  void* raw = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (raw == nullptr) return nullptr;
  auto library = std::make_unique<Library>(raw);
  if (library->initialise == nullptr || library->shut_down == nullptr ||
      library->device_by_uuid == nullptr || library->initialise() != kSuccess)
    return nullptr;
  Device device = nullptr;
  if (library->device_by_uuid(uuid.c_str(), &device) != kSuccess) {
    static_cast<void>(library->shut_down());
    return nullptr;
  }
  return std::make_unique<Nvml>(std::move(library), device);
}

}  // namespace rueda
