#include "streams.hpp"

#include "ptx/settings.hpp"

#include <algorithm>
#include <utility>

namespace cohom::ptx {
namespace {

/// A stream that nobody waits for must not grow without end.
constexpr std::size_t max_works = 4096;

}  // namespace

bool Point::is_done() const { return !stream || stream->is_done(number); }

void Stream::put(std::function<void()> work, std::vector<Point> awaited) {
  works_.push_back({std::move(work), std::move(awaited)});
  ++put_;
}

void Stream::do_one() {
  const Work work = std::move(works_.front());
  works_.pop_front();
  for (const Point& point : work.awaited)
    if (point.stream) point.stream->do_until(point.number);
  work.run();
  ++done_;
}

void Stream::do_until(std::uint64_t number) {
  while (done_ < number && !works_.empty()) do_one();
}

bool Stream::is_ready() const {
  return !works_.empty() && std::ranges::all_of(works_.front().awaited, &Point::is_done);
}

Streams& Streams::instance() {
  static Streams& streams = *new Streams();  // outlives everything that waits for one
  return streams;
}

Streams::Streams() : random_(static_cast<unsigned>(Settings::instance().seed)) {
  streams_[default_stream] = std::make_shared<Stream>(false);
}

Streams::Handle Streams::add(bool blocking) {
  next_ += 16;
  streams_[next_] = std::make_shared<Stream>(blocking);
  return next_;
}

void Streams::remove(Handle handle) { streams_.erase(handle); }

std::shared_ptr<Stream> Streams::find(Handle handle) const {
  const auto found = streams_.find(handle);
  return found == streams_.end() ? nullptr : found->second;
}

void Streams::put(const std::shared_ptr<Stream>& stream, std::function<void()> work,
                  std::vector<Point> awaited) {
  const auto& first = streams_.at(default_stream);
  if (stream->is_blocking()) awaited.push_back({first, first->put_so_far()});
  if (stream == first)
    for (const auto& [handle, other] : streams_)
      if (other->is_blocking()) awaited.push_back({other, other->put_so_far()});
  std::erase_if(awaited, [](const Point& point) { return point.is_done(); });
  stream->put(std::move(work), std::move(awaited));
  if (stream->put_so_far() > max_works) stream->do_until(stream->put_so_far() - max_works);
}

Point Streams::record(const std::shared_ptr<Stream>& stream) {
  if (stream == streams_.at(default_stream)) put(stream, [] {});
  return {stream, stream->put_so_far()};
}

void Streams::do_all() {
  for (const auto& [handle, stream] : streams_) stream->do_all();
}

void Streams::go_on() {
  switch (Settings::instance().streams) {
    case StreamOrder::late: return;
    case StreamOrder::random: return do_any();
    case StreamOrder::copies_first: return do_copies();
  }
}

void Streams::do_copies() {
  for (const auto& [handle, stream] : streams_)
    while (!stream->has_kernels() && stream->is_ready()) stream->do_one();
}

void Streams::do_any() {
  std::vector<Stream*> busy;
  for (const auto& [handle, stream] : streams_)
    if (!stream->is_empty()) busy.push_back(stream.get());
  if (busy.empty() || random_() % 4 == 0) return;
  Stream& stream = *busy[random_() % busy.size()];
  for (unsigned left = random_() % 4; left > 0 && stream.is_ready(); --left) stream.do_one();
}

bool Streams::goes_on_when_asked() {
  return Settings::instance().streams == StreamOrder::late || random_() % 64 == 0;
}

}  // namespace cohom::ptx
