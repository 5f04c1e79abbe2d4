// Small files of the kernel (/proc, /sys) as text, and the little that is needed to take them apart.  Whoever reads
// them distrusts them: a container may show anything there, or nothing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mixtura {

// The first 64 KiB of a file, which is more than any file of /proc and /sys read here holds of use; nothing where it
// cannot be read.
std::optional<std::string> read_small_file(const std::string& path);

// Without spaces, tabs and line ends at both ends.
std::string_view trimmed(std::string_view line) noexcept;

std::vector<std::string_view> split(std::string_view content, char separator);

// Of lines that read "key: value", the first with this key: its value, trimmed.
std::optional<std::string_view> value_of(std::string_view content, std::string_view key) noexcept;

}  // namespace mixtura
