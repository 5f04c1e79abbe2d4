#include "formats/model_entry.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "memory/file.hpp"

namespace mixtura {
namespace {

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> suffixes) {
    return std::any_of(suffixes.begin(), suffixes.end(),
                       [name](std::string_view suffix) { return name.ends_with(suffix); });
}

struct FolderFiles {
    std::vector<std::string> indices, singles, ggufs, pickles;
    std::vector<std::string> later_parts;  // of split GGUF models; only the first counts as an entry
};

FolderFiles sorted_by_kind(const std::vector<std::string>& names) {
    FolderFiles files;
    for (const std::string& name : names) {
        if (name.ends_with(kIndexSuffix)) {
            files.indices.push_back(name);
        } else if (name.ends_with(".safetensors")) {
            files.singles.push_back(name);
        } else if (name.ends_with(".gguf")) {
            const auto part = parse_part_name(name, ".gguf");
            (part && part->number > 1 ? files.later_parts : files.ggufs).push_back(name);
        } else if (ends_with_one_of(name, {".bin", ".pt", ".pth", ".ckpt"})) {
            files.pickles.push_back(name);
        }
    }
    const auto prefer = [](std::vector<std::string>& list, std::string_view name) {
        if (std::find(list.begin(), list.end(), name) != list.end()) list.assign(1, std::string(name));
    };
    prefer(files.indices, "model.safetensors.index.json");
    prefer(files.singles, "model.safetensors");
    return files;
}

}  // namespace

std::string PartName::of(std::int64_t part) const {
    const auto five = [](std::int64_t value) {
        std::string digits = text(value);
        return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
    };
    return text(stem, "-", five(part), "-of-", five(count), suffix);
}

std::optional<PartName> parse_part_name(std::string_view name, std::string_view suffix) {
    constexpr std::string_view kTail = "-00000-of-00000";
    if (!name.ends_with(suffix) || name.size() < kTail.size() + suffix.size()) return std::nullopt;
    const std::string_view stem = name.substr(0, name.size() - suffix.size() - kTail.size());
    const std::string_view tail = name.substr(stem.size(), kTail.size());
    if (tail[0] != '-' || tail.substr(6, 4) != "-of-") return std::nullopt;
    const auto number = parse_integer<std::uint16_t>(tail.substr(1, 5)),
               count = parse_integer<std::uint16_t>(tail.substr(10, 5));
    if (!number || !count || *number < 1 || *count < *number) return std::nullopt;
    return PartName{std::string(stem), *number, *count, std::string(suffix)};
}

Result<std::string> entry_of_folder(const std::string& folder) {
    MIXTURA_ASSIGN_OR_RETURN(const std::vector<std::string> names, names_in_folder(folder));
    const FolderFiles files = sorted_by_kind(names);
    const std::string where = text("the folder ", quoted(folder, 400));
    if (files.indices.empty() && files.singles.size() > 1 && parse_part_name(files.singles[0], ".safetensors")) {
        return error(StatusCode::not_found, where, " holds parts of a model (", quoted(files.singles[0]),
                     " …), but no *", kIndexSuffix, " that says which belong together");
    }
    for (const auto& list : {files.indices, files.singles, files.ggufs}) {
        if (list.size() == 1) return folder + "/" + list[0];
        if (list.size() > 1) {
            return error(StatusCode::invalid_argument, where, " holds ", list.size(), " models (", quoted(list[0]),
                         ", ", quoted(list[1]), list.size() > 2 ? " …" : "", "); name the file to open");
        }
    }
    if (!files.later_parts.empty()) return folder + "/" + files.later_parts[0];  // and the first will be missed
    if (!files.pickles.empty()) {
        return error(
            StatusCode::unknown_format, where, " holds its weights only as Python pickles (", quoted(files.pickles[0]),
            "), which can run code when they are read and are never opened here; use the model's safetensors or GGUF "
            "files, or convert it where you trust it");
    }
    return error(StatusCode::not_found, where, " holds no .safetensors and no .gguf file");
}

}  // namespace mixtura
