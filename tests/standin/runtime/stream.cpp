#include "stream.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "device.hpp"
#include "settings.hpp"

namespace rueda::standin {

struct Stream::Queue {
  struct Entry {
    Item item;
    bool is_work;  // and not a mark, which nobody waits for by itself
  };

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> entries;
  std::size_t unfinished = 0;
  bool closed = false;

  void push(Entry entry) {
    const std::lock_guard lock(mutex);
    if (entry.is_work) ++unfinished;
    entries.push_back(std::move(entry));
    changed.notify_all();
  }

  /// Waits for an entry and does it; false if there will be none.
  bool do_next() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return closed || !entries.empty(); });
    if (entries.empty()) return false;
    Entry entry = std::move(entries.front());
    entries.pop_front();
    lock.unlock();
    entry.item();
    lock.lock();
    if (entry.is_work) --unfinished;
    return true;
  }
};

namespace {

struct Streams {
  std::set<Stream*> created;
  std::map<int, CUstream_st*> legacy;                            // by device, made when first used
  std::vector<std::pair<int, std::shared_ptr<Mark>>> destroyed;  // device and end of work
};

Streams& streams() {
  static auto& it = *new Streams;
  return it;
}

Stream* legacy_stream(int device) {
  CUstream_st*& stream = streams().legacy[device];
  if (stream == nullptr) {
    stream = new CUstream_st(device, true);
    streams().created.erase(stream);
  }
  return stream;
}

/// The next item of `stream` comes after all that `other` has to do now.
void follow(Stream& stream, Stream& other) {
  if (other.idle()) return;
  stream.push([mark = other.push_mark()] { mark->wait(); });
}

cudaError_t follow_all_blocking(Stream& legacy) {
  const cudaError_t forbidden = forbid_legacy(legacy.device());
  if (forbidden != cudaSuccess) return forbidden;
  for (Stream* other : streams().created) {
    if (other->blocking() && other->device() == legacy.device()) follow(legacy, *other);
  }
  return cudaSuccess;
}

cudaError_t record(Capture& capture, Stream& stream, Item item, cudaGraphNodeType type) {
  if (!capture.valid) return cudaErrorStreamCaptureInvalidated;
  add_node(
      capture, stream, [item = std::move(item)] { return item; }, type);
  return cudaSuccess;
}

std::vector<std::shared_ptr<Mark>> ends_of_work(int device) {
  const std::lock_guard lock(order_mutex());
  std::vector<std::shared_ptr<Mark>> marks;
  for (Stream* stream : streams().created) {
    if (stream->device() == device) marks.push_back(stream->push_mark());
  }
  if (streams().legacy.count(device) != 0) marks.push_back(legacy_stream(device)->push_mark());
  auto& destroyed = streams().destroyed;
  std::erase_if(destroyed, [](const auto& end) { return end.second->reached(); });
  for (const auto& [of, end] : destroyed) {
    if (of == device) marks.push_back(end);
  }
  return marks;
}

}  // namespace

Stream::Stream(int device, bool blocking)
    : device_(device), blocking_(blocking), queue_(std::make_shared<Queue>()) {
  std::thread([queue = queue_] {
    while (queue->do_next()) {
    }
  }).detach();
  streams().created.insert(this);
}

Stream::~Stream() {
  streams().created.erase(this);
  streams().destroyed.emplace_back(device_, push_mark());
  const std::lock_guard lock(queue_->mutex);
  queue_->closed = true;
  queue_->changed.notify_all();
}

void Stream::push(Item item) { queue_->push({std::move(item), true}); }

std::shared_ptr<Mark> Stream::push_mark() {
  auto mark = std::make_shared<Mark>();
  queue_->push({[mark] { mark->reach(); }, false});
  return mark;
}

bool Stream::idle() const {
  const std::lock_guard lock(queue_->mutex);
  return queue_->unfinished == 0;
}

cudaError_t submit(cudaStream_t handle, Item item, cudaGraphNodeType type) {
  const std::lock_guard lock(order_mutex());
  Stream* stream = find_stream(handle);
  if (stream == nullptr) return cudaErrorInvalidResourceHandle;
  if (const auto capture = capture_of(*stream)) {
    return record(*capture, *stream, std::move(item), type);
  }
  if (is_legacy(*stream)) {
    const cudaError_t code = follow_all_blocking(*stream);
    if (code != cudaSuccess) return code;
  } else if (stream->blocking()) {
    follow(*stream, *legacy_stream(stream->device()));
  }
  stream->push([item = std::move(item)] {
    before_item();
    item();
  });
  return cudaSuccess;
}

Stream* find_stream(cudaStream_t handle) {
  const std::lock_guard lock(order_mutex());
  if (handle == nullptr || handle == cudaStreamLegacy) return legacy_stream(current_device());
  return streams().created.count(handle) == 0 ? nullptr : handle;
}

bool is_legacy(const Stream& stream) {
  const auto found = streams().legacy.find(stream.device());
  return found != streams().legacy.end() && found->second == &stream;
}

void synchronize_device(int device) {
  for (const auto& mark : ends_of_work(device)) mark->wait();
}

}  // namespace rueda::standin
