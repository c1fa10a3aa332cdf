// A libnvidia-ml.so.1 that knows the stand-in's devices, found by LD_LIBRARY_PATH. What it says
// depends on the device's number among all of the machine, the last byte of its UUID. Queries named
// in RUEDA_STANDIN_NVML_LACKS ("energy,power") fail as NVML's do where a GPU does not support them.

#include <atomic>
#include <cstdlib>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalid = 2;
constexpr int kNotSupported = 3;
constexpr int kNotFound = 6;
constexpr char kUuid[] = "GPU-72756564-6120-7374-616e-642d696e00";  // "rueda stand-in", without end
constexpr int kMost = 8;

struct Device {
  unsigned number = 0;
};
Device devices[kMost];
std::atomic<int> users{0};
std::atomic<unsigned long long> readings{0};

bool lacks(const char* query) {
  const char* list = std::getenv("RUEDA_STANDIN_NVML_LACKS");
  return list != nullptr &&
         ("," + std::string(list) + ",").find("," + std::string(query) + ",") != std::string::npos;
}

int state(const char* query) {
  if (users == 0) return kInvalid;
  return lacks(query) ? kNotSupported : kSuccess;
}

template <typename Number>
int answer(const char* query, Number* value, Number known) {
  const int code = state(query);
  if (code == kSuccess) *value = known;
  return code;
}

}  // namespace

extern "C" {

struct nvmlUtilization {
  unsigned gpu, memory;
};
struct nvmlMemory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  if (lacks("driver")) return kNotFound;
  ++users;
  return kSuccess;
}

int nvmlShutdown() {
  --users;
  return kSuccess;
}

int nvmlDeviceGetHandleByUUID(const char* uuid, Device** device) {
  const std::string text(uuid);
  const std::string begin(kUuid);
  if (text.size() != begin.size() + 2 || !text.starts_with(begin)) return kNotFound;
  const int number = std::stoi(text.substr(begin.size()), nullptr, 16);
  if (number >= kMost) return kNotFound;
  devices[number].number = unsigned(number);
  *device = &devices[number];
  return kSuccess;
}

/// 250 joules from one reading to the next, and as many more on each further device.
int nvmlDeviceGetTotalEnergyConsumption(Device* device, unsigned long long* millijoules) {
  return answer("energy", millijoules, ++readings * 250'000 * (1 + device->number));
}

int nvmlDeviceGetUtilizationRates(Device* device, nvmlUtilization* rates) {
  return answer("utilization", rates, nvmlUtilization{90 + device->number, 40});
}

int nvmlDeviceGetMemoryInfo(Device* device, nvmlMemory* memory) {
  const unsigned long long used = 1'000'000'000ULL * (1 + device->number);
  return answer("memory", memory, nvmlMemory{8'000'000'000ULL, 8'000'000'000ULL - used, used});
}

int nvmlDeviceGetClockInfo(Device* device, int which, unsigned* mhz) {
  if (which != 1 && which != 2) return kInvalid;
  return answer("clock", mhz, (which == 1 ? 1980U : 2619U) + device->number);
}

int nvmlDeviceGetPowerUsage(Device* device, unsigned* milliwatts) {
  return answer("power", milliwatts, 300'000U + 1000U * device->number);
}

int nvmlDeviceGetTemperature(Device* device, int sensor, unsigned* celsius) {
  if (sensor != 0) return kInvalid;
  return answer("temperature", celsius, 60U + device->number);
}

}  // extern "C"
