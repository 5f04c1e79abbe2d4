// A path's disk: whether it is there, how much room it has, whether it can be read past the page cache.
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstddef>
#include <utility>

#include "base/checked.hpp"
#include "base/text.hpp"
#include "doctor/checks.hpp"
#include "memory/system_error.hpp"

namespace mixtura {
namespace {

struct FileSystem {
    std::uint32_t magic;  // statfs' f_type, as linux/magic.h and the file systems' own sources have it
    std::string_view name;
    enum { disk, memory, network } kind = disk;
};
constexpr FileSystem kFileSystems[] = {
    {0x0000'EF53, "ext4"},
    {0x5846'5342, "xfs"},
    {0x9123'683E, "btrfs"},
    {0x2FC1'2FC1, "zfs"},
    {0xF2F5'2010, "f2fs"},
    {0xCA45'1A4E, "bcachefs"},
    {0x794C'7630, "overlay"},
    {0x7371'7368, "squashfs"},
    {0xE0F5'E1E2, "erofs"},
    {0x0000'4D44, "vfat"},
    {0x2011'BAB0, "exfat"},
    {0x7366'746E, "ntfs"},
    {0x0102'1994, "tmpfs", FileSystem::memory},
    {0x8584'58F6, "ramfs", FileSystem::memory},
    {0x0000'6969, "nfs", FileSystem::network},
    {0xFE53'4D42, "smb", FileSystem::network},
    {0xFF53'4D42, "cifs", FileSystem::network},
    {0x0102'1997, "9p", FileSystem::network},
    {0x6573'5546, "fuse", FileSystem::network},
    {0x00C3'6400, "ceph", FileSystem::network},
    {0x0BD0'0BD0, "lustre", FileSystem::network},
};

constexpr std::uint64_t kFreeLeast = std::uint64_t{1} << 30;

class Descriptor {
  public:
    explicit Descriptor(int number) noexcept : number_(number) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    bool is_open() const noexcept { return number_ >= 0; }
    int number() const noexcept { return number_; }

  private:
    int number_;
};

// Direct transfers want addresses, offsets and sizes in multiples of the device's block: 512 bytes or 4 KiB.
constexpr std::size_t kBlockBytes = 4096;
struct alignas(kBlockBytes) Block {
    std::byte bytes[kBlockBytes] = {};
};

HealthCheck direct_reads(std::string found) {
    return {.name = "direct_reads", .verdict = HealthVerdict::ok, .found = std::move(found), .remedy = {}};
}
HealthCheck direct_reads_refused(int error_number) {
    HealthCheck check = direct_reads("refused by this file system: " + system_error_text(error_number));
    check.verdict = HealthVerdict::warning;
    check.remedy =
        "keep models on a disk with ext4 or xfs: what is read through the page cache takes memory from the experts";
    return check;
}
HealthCheck direct_reads_not_tried(std::string why) {
    HealthCheck check = direct_reads("not tried: " + std::move(why));
    check.verdict = HealthVerdict::note;
    check.remedy = "name a model's file to have it read";
    return check;
}

HealthCheck check_direct_file(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC | O_NONBLOCK));
    if (!file.is_open())
        return errno == EINVAL ? direct_reads_refused(errno) : direct_reads_not_tried("no file opened");
    Block block;
    const ssize_t got = ::pread(file.number(), block.bytes, kBlockBytes, 0);
    if (got < 0) return direct_reads_refused(errno);
    return got == 0 ? direct_reads_not_tried("the file is empty") : direct_reads("work");
}

// By a file that has no name, so that nothing is left behind however this ends.
HealthCheck check_direct_folder(const std::string& path) {
    const Descriptor file(::open(path.c_str(), O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600));
    if (!file.is_open()) {
        return errno == EINVAL ? direct_reads_refused(errno)
                               : direct_reads_not_tried("no file can be made there: " + system_error_text(errno));
    }
    Block block;
    if (::pwrite(file.number(), block.bytes, kBlockBytes, 0) < 0) {
        return errno == EINVAL ? direct_reads_refused(errno)
                               : direct_reads_not_tried("nothing can be written there: " + system_error_text(errno));
    }
    return ::pread(file.number(), block.bytes, kBlockBytes, 0) < 0 ? direct_reads_refused(errno) : direct_reads("work");
}

HealthCheck check_free_space(const struct statfs& disk, bool is_folder) {
    HealthCheck check{.name = "free_space"};
    // Blocks are counted in f_frsize, where a file system tells it apart from the best size of a transfer.
    const auto blocks = checked_cast<std::uint64_t>(disk.f_bavail);
    const auto size = checked_cast<std::uint64_t>(disk.f_frsize > 0 ? disk.f_frsize : disk.f_bsize);
    const auto bytes = blocks && size ? checked_multiply(*blocks, *size) : std::nullopt;
    if (!bytes) {
        check.verdict = HealthVerdict::note;
        check.found = "the file system does not say how much is free";
        return check;
    }
    check.found = readable_bytes(*bytes);
    if (is_folder && *bytes < kFreeLeast) {
        check.verdict = HealthVerdict::note;
        check.remedy = "caches of weights take as much room as the model: delete something, or choose another folder";
    }
    return check;
}

HealthCheck path_failure(std::string found, std::string_view remedy) {
    return {
        .name = "path", .verdict = HealthVerdict::failure, .found = std::move(found), .remedy = std::string(remedy)};
}

}  // namespace

std::vector<HealthCheck> check_path(const std::string& path) {
    const std::string name = quoted(path, 400);
    if (path.find('\0') != std::string::npos) return {path_failure(name + " holds a zero byte", "give another path")};
    struct stat status {};
    struct statfs disk {};
    if (::stat(path.c_str(), &status) != 0 || ::statfs(path.c_str(), &disk) != 0)
        return {path_failure(text(name, ": ", system_error_text(errno)), "make it, or give another path")};
    const bool is_folder = S_ISDIR(status.st_mode);
    if (!is_folder && !S_ISREG(status.st_mode))
        return {path_failure(name + " is no file and no folder", "give another path")};
    if (::access(path.c_str(), is_folder ? R_OK | X_OK : R_OK) != 0)
        return {path_failure(text(name, ": ", system_error_text(errno)), "let this user read it (chmod, chown)")};

    HealthCheck check{.name = "path"};
    check.found = text(name, is_folder ? ", a folder" : ", a file");
    if (is_folder && ::access(path.c_str(), W_OK) != 0) check.found += " for reading only";
    const auto magic = static_cast<std::uint32_t>(disk.f_type);
    const FileSystem* found = nullptr;
    for (const FileSystem& one : kFileSystems) {
        if (one.magic == magic) found = &one;
    }
    check.found += found != nullptr ? text(", on ", found->name) : ", on a file system of no known kind";
    if (found != nullptr && found->kind == FileSystem::network) {
        check.verdict = HealthVerdict::warning;
        check.remedy =
            "copy models to a local disk: each expert that is read costs a way through another program or "
            "the network";
    } else if (found != nullptr && found->kind == FileSystem::memory) {
        check.verdict = HealthVerdict::note;
        check.remedy = "what lies here takes memory already: a disk leaves that to the experts";
    }
    return {check, check_free_space(disk, is_folder), is_folder ? check_direct_folder(path) : check_direct_file(path)};
}

}  // namespace mixtura
