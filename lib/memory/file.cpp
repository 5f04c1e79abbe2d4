#include "memory/file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "memory/system_error.hpp"

namespace mixtura {
namespace {

Status ends_early(const ByteSource& source, std::uint64_t offset, std::uint64_t wanted, std::uint64_t size) {
    return error(StatusCode::corrupt_file, quoted(source.name(), 400), " ends at byte ", size, ", but ", wanted,
                 " bytes at byte ", offset, " are needed");
}

}  // namespace

Status MemorySource::read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const {
    if (offset_bytes > bytes_.size() || out.size() > bytes_.size() - offset_bytes) {
        return ends_early(*this, offset_bytes, out.size(), bytes_.size());
    }
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset_bytes, out.size());
    return {};
}

Result<std::shared_ptr<const File>> File::open(const std::string& path) {
    if (path.find('\0') != std::string::npos) {
        return error(StatusCode::invalid_argument, "the path ", quoted(path, 400), " holds a NUL byte");
    }
    // O_NONBLOCK: opening a pipe nobody writes to must not hang the host; it changes nothing for regular files.
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        const int number = errno;
        const StatusCode code = number == ENOENT || number == ENOTDIR ? StatusCode::not_found : StatusCode::io;
        return error(code, "cannot open ", quoted(path, 400), ": ", system_error_text(number));
    }
    struct stat facts {};
    if (::fstat(descriptor, &facts) != 0) {
        const int number = errno;
        ::close(descriptor);
        return error(StatusCode::io, "cannot read the size of ", quoted(path, 400), ": ", system_error_text(number));
    }
    if (!S_ISREG(facts.st_mode)) {
        ::close(descriptor);
        return error(StatusCode::invalid_argument, quoted(path, 400), " is ",
                     S_ISDIR(facts.st_mode) ? "a folder" : "a pipe, socket or device", ", expected a regular file");
    }
    try {
        return std::shared_ptr<const File>(
            std::make_shared<File>(path, descriptor, static_cast<std::uint64_t>(facts.st_size)));
    } catch (...) {
        ::close(descriptor);
        throw;
    }
}

File::~File() { ::close(descriptor_); }

Status File::read_at(std::uint64_t offset_bytes, std::span<std::byte> out) const {
    if (offset_bytes > size_bytes_ || out.size() > size_bytes_ - offset_bytes) {
        return ends_early(*this, offset_bytes, out.size(), size_bytes_);
    }
    // Linux moves at most 2^31 - 4096 bytes a call; 1 GiB pieces also keep a signal's delay short.
    constexpr std::size_t kPieceMax = std::size_t{1} << 30;
    std::size_t done = 0;
    while (done < out.size()) {
        const ssize_t got = ::pread(descriptor_, out.data() + done, std::min(out.size() - done, kPieceMax),
                                    static_cast<off_t>(offset_bytes + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            return error(StatusCode::io, "cannot read ", out.size() - done, " bytes at byte ", offset_bytes + done,
                         " of ", quoted(path_, 400), ": ", system_error_text(errno));
        }
        if (got == 0) return ends_early(*this, offset_bytes, out.size(), offset_bytes + done);
        done += static_cast<std::size_t>(got);
    }
    return {};
}

Result<std::string> read_whole_file(const std::string& path, std::uint64_t bytes_max) {
    MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const File> file, File::open(path));
    if (file->size_bytes() > bytes_max) {
        return error(StatusCode::out_of_range, quoted(path, 400), " holds ", file->size_bytes(),
                     " bytes, expected at most ", bytes_max);
    }
    std::string content(static_cast<std::size_t>(file->size_bytes()), '\0');
    MIXTURA_RETURN_IF_ERROR(file->read_at(0, std::as_writable_bytes(std::span(content))));
    return content;
}

Result<std::vector<std::string>> names_in_folder(const std::string& path) {
    const std::unique_ptr<DIR, decltype([](DIR* folder) { ::closedir(folder); })> folder(::opendir(path.c_str()));
    const auto failure = [&] {
        const StatusCode code = errno == ENOENT   ? StatusCode::not_found
                                : errno == ENOMEM ? StatusCode::out_of_host_memory
                                                  : StatusCode::io;
        return error(code, "cannot list the folder ", quoted(path, 400), ": ", system_error_text(errno));
    };
    if (!folder) return failure();
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(folder.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") names.emplace_back(name);
        errno = 0;
    }
    if (errno != 0) return failure();
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace mixtura
