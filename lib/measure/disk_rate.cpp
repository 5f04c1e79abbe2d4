// The rate at which a file can be read, past the page cache where the file system allows it.
#include <fcntl.h>
#include <mixtura/machine.hpp>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/error.hpp"
#include "measure/machine_rates.hpp"
#include "memory/aligned_buffer.hpp"
#include "memory/file.hpp"
#include "parallel/thread_pool.hpp"

namespace mixtura {
namespace {

constexpr double kSecondsMax = 1.5;
constexpr std::uint64_t kBytesMax = std::uint64_t{4} << 30;
// Four reads in flight keep a device's queue from running dry between two of them; 4 MiB is beyond what a read's fixed
// cost shows in, and AlignedBuffer's huge pages keep the kernel's lists of pages short.
constexpr int kReadsInFlight = 4;
constexpr std::uint64_t kPieceBytes = 4 << 20;
// What direct reads must be multiples of: 512 bytes or 4 KiB, by device.
constexpr std::uint64_t kBlockBytes = 4096;

// fcntl takes the flag on an open file and refuses where the file system cannot do it.
bool set_direct(const File& file, bool is_direct) noexcept {
    const int flags = ::fcntl(file.descriptor(), F_GETFL);
    return flags >= 0 && ::fcntl(file.descriptor(), F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

// Pieces of `bytes` in all, in order, until time is up.
Result<DiskRate> timed_read(const File& file, std::uint64_t bytes, ThreadPool& threads, AlignedBuffer& buffer) {
    std::mutex failure_lock;
    Status failure;
    std::atomic<bool> is_over{false};
    std::atomic<std::uint64_t> bytes_read{0};
    const double start = seconds_since_start();
    const auto pieces = static_cast<std::int64_t>((bytes + kPieceBytes - 1) / kPieceBytes);
    parallel_for(threads, pieces, [&](std::int64_t i, int worker) noexcept {
        if (is_over.load(std::memory_order_relaxed)) return;
        const std::uint64_t offset = static_cast<std::uint64_t>(i) * kPieceBytes;
        const std::uint64_t size = std::min(kPieceBytes, bytes - offset);
        Status status = without_exceptions([&]() -> Status {
            return file.read_at(offset, {buffer.data() + static_cast<std::uint64_t>(worker) * kPieceBytes, size});
        });
        if (!status.is_ok()) {
            const std::lock_guard lock(failure_lock);
            if (failure.is_ok()) failure = std::move(status);
            is_over.store(true, std::memory_order_relaxed);
            return;
        }
        bytes_read.fetch_add(size, std::memory_order_relaxed);
        if (seconds_since_start() - start > kSecondsMax) is_over.store(true, std::memory_order_relaxed);
    });
    if (!failure.is_ok()) return failure;
    const double seconds = std::max(seconds_since_start() - start, 1e-9);
    return DiskRate{static_cast<double>(bytes_read.load()) / seconds, bytes_read.load(), false};
}

}  // namespace

Result<DiskRate> measure_disk(const std::string& path) noexcept {
    return without_exceptions([&]() -> Result<DiskRate> {
        MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const File> file, File::open(path));
        if (file->size_bytes() == 0)
            return error(StatusCode::invalid_argument, quoted(path, 400), " is empty, expected bytes to read");
        MIXTURA_ASSIGN_OR_RETURN(const std::unique_ptr<ThreadPool> threads, ThreadPool::create(kReadsInFlight));
        MIXTURA_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::allocate(kReadsInFlight * kPieceBytes));
        const std::uint64_t bytes = std::min(file->size_bytes(), kBytesMax);
        const std::uint64_t whole_blocks = bytes / kBlockBytes * kBlockBytes;
        if (whole_blocks > 0 && set_direct(*file, true)) {
            Result<DiskRate> direct = timed_read(*file, whole_blocks, *threads, buffer);
            if (direct) {
                direct->is_direct = true;
                return direct;
            }
            // Some file systems take the flag and refuse the read; what is really broken fails below again.
            set_direct(*file, false);
        }
        // Advice, to have the device answer and not the page cache: dirty or mapped pages stay.
        ::posix_fadvise(file->descriptor(), 0, 0, POSIX_FADV_DONTNEED);
        return timed_read(*file, bytes, *threads, buffer);
    });
}

}  // namespace mixtura
