#include "formats/model_files.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "formats/file_kind.hpp"
#include "formats/json.hpp"
#include "formats/model_entry.hpp"
#include "formats/safetensors.hpp"

namespace mixtura {
namespace {

namespace fs = std::filesystem;

// The largest published config.json lists the quantisation of every tensor of a large mixture in 2 MB.
constexpr std::uint64_t kConfigBytesMax = 4 << 20;
constexpr std::uint64_t kIndexBytesMax = 64 << 20;
constexpr std::uint64_t kTokenizerConfigBytesMax = 64 << 20;

bool exists(const std::string& path) {
    std::error_code ignored;
    return fs::exists(path, ignored);
}

std::string folder_of(const std::string& path) {
    const std::string folder = fs::path(path).parent_path().string();
    return folder.empty() ? "." : folder;
}

std::string file_name_of(const std::string& path) { return fs::path(path).filename().string(); }

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
    return checked_add(a, b).value_or(std::numeric_limits<std::uint64_t>::max());
}

// `otherwise`: for a kind that is no news by itself, the end of the sentence.
Status foreign_file(const std::string& path, const FileKindFacts& facts, std::string_view otherwise) {
    return error(StatusCode::unknown_format, quoted(path, 400), " ", facts.what.empty() ? otherwise : facts.what);
}

// ---- GGUF
// ------------------------------------------------------------------------------------------------------------

std::int64_t integer_or(const GgufHeader& header, std::string_view key, std::int64_t otherwise) {
    const GgufValue* value = header.find(key);
    return value == nullptr ? otherwise : value->as_integer().value_or(otherwise);
}

void add_gguf_tensors(WeightIndex& index, std::shared_ptr<const File> file, const GgufHeader& header) {
    const auto number = static_cast<std::uint32_t>(index.files.size());
    for (const GgufTensor& tensor : header.tensors()) {
        index.tensors.push_back(
            {tensor.name, tensor.dtype, tensor.shape, number, tensor.offset_bytes, tensor.size_bytes});
    }
    index.files.push_back(std::move(file));
}

Status add_gguf_part(ModelFiles& model, const std::string& path, std::int64_t part, std::int64_t count) {
    auto file = File::open(path);
    if (!file) {
        if (file.status().code() != StatusCode::not_found) return std::move(file).status();
        return error(StatusCode::not_found, "part ", part, " of ", count,
                     " of the split model is missing: ", quoted(path, 400));
    }
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts kind, file_kind(**file));
    if (kind.kind != FileKind::gguf) return foreign_file(path, kind, "is no GGUF file");
    MIXTURA_ASSIGN_OR_RETURN(GgufHeader header, GgufHeader::read(**file));
    if (count > 1) {
        const std::int64_t stated_count = integer_or(header, "split.count", 1),
                           stated = integer_or(header, "split.no", 0) + 1;
        if (stated_count != count || stated != part) {
            return error(StatusCode::corrupt_file, quoted(path, 400), " says it is part ", stated, " of ", stated_count,
                         ", expected part ", part, " of ", count);
        }
    }
    add_gguf_tensors(model.index, *std::move(file), header);
    if (part == 1) model.gguf = std::move(header);
    return {};
}

Status open_gguf(ModelFiles& model, const std::string& path) {
    model.format = CheckpointFormat::gguf;
    model.folder = folder_of(path);
    const std::optional<PartName> name = parse_part_name(file_name_of(path), ".gguf");
    const std::string first = name ? model.folder + "/" + name->of(1) : path;
    const std::int64_t name_count = name ? name->count : 1;
    // A single file may carry such a name too (a part renamed on its own does not: its split.count says so).
    MIXTURA_RETURN_IF_ERROR(add_gguf_part(model, first, 1, name_count));
    const std::int64_t stated_count = integer_or(*model.gguf, "split.count", 1);
    if (stated_count > 1 && name_count == 1) {
        return error(StatusCode::corrupt_file, quoted(path, 400), " is part ",
                     integer_or(*model.gguf, "split.no", 0) + 1, " of a model in ", stated_count,
                     " parts, but its name does not end in -00001-of-0000N.gguf, so the others "
                     "cannot be found");
    }
    for (std::int64_t part = 2; part <= name_count; ++part) {
        MIXTURA_RETURN_IF_ERROR(add_gguf_part(model, model.folder + "/" + name->of(part), part, name_count));
    }
    const std::int64_t tensor_count =
        integer_or(*model.gguf, "split.tensors.count", static_cast<std::int64_t>(model.index.tensors.size()));
    if (tensor_count != static_cast<std::int64_t>(model.index.tensors.size())) {
        return error(StatusCode::corrupt_file, quoted(path, 400), ": the parts hold ", model.index.tensors.size(),
                     " tensors, expected ", tensor_count);
    }
    model.format_name = text("GGUF v", model.gguf->version(), name_count > 1 ? text(", ", name_count, " parts") : "");
    MIXTURA_ASSIGN_OR_RETURN(model.config, gguf_model_config(*model.gguf, first));
    return {};
}

// ---- safetensors
// -----------------------------------------------------------------------------------------------------

Status add_safetensors(ModelFiles& model, const std::string& path) {
    MIXTURA_ASSIGN_OR_RETURN(std::shared_ptr<const File> file, File::open(path));
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts kind, file_kind(*file));
    // What is unknown goes to the reader, which says what is broken.
    const bool is_other = kind.kind == FileKind::foreign || kind.kind == FileKind::gguf || kind.kind == FileKind::json;
    if (is_other)
        return foreign_file(path, kind,
                            kind.kind == FileKind::gguf ? "is a GGUF file, expected safetensors"
                                                        : "is a JSON document, expected safetensors");
    MIXTURA_ASSIGN_OR_RETURN(SafetensorsHeader header, SafetensorsHeader::read(*file));
    const auto number = static_cast<std::uint32_t>(model.index.files.size());
    for (SafetensorsTensor& tensor : header.tensors) {
        model.index.tensors.push_back(
            {std::move(tensor.name), tensor.dtype, tensor.shape, number, tensor.offset_bytes, tensor.size_bytes});
    }
    model.index.files.push_back(std::move(file));
    return {};
}

// {"metadata": {...}, "weight_map": {tensor: file}}
Status open_sharded(ModelFiles& model, const std::string& index_path) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string content, read_whole_file(index_path, kIndexBytesMax));
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, parse_json_file(content, index_path));
    const auto map = document.root().find("weight_map");
    if (!map || !map->is_object()) {
        return error(StatusCode::corrupt_file, quoted(index_path, 400), " has no object 'weight_map'");
    }
    std::vector<std::string_view> shards;  // of the document
    for (const auto [tensor, file] : map->members()) {
        const auto name = file.as_string();
        constexpr std::string_view kNoName{"/\0", 2};
        if (!name || name->empty() || name->find_first_of(kNoName) != std::string_view::npos || *name == ".." ||
            *name == ".") {
            return error(StatusCode::corrupt_file, quoted(index_path, 400), ": tensor ", quoted(tensor),
                         " is placed in ", name ? quoted(*name) : "something that is no string",
                         ", expected a file name");
        }
        shards.push_back(*name);
    }
    std::sort(shards.begin(), shards.end());
    shards.erase(std::unique(shards.begin(), shards.end()), shards.end());
    if (shards.empty()) return error(StatusCode::corrupt_file, quoted(index_path, 400), " names no tensor");
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const std::string path = text(model.folder, "/", shards[i]);
        if (!exists(path)) {
            return error(StatusCode::not_found, "part ", i + 1, " of ", shards.size(),
                         " of the model is missing: ", quoted(path, 400));
        }
        MIXTURA_RETURN_IF_ERROR(add_safetensors(model, path));
    }
    model.index.sort_names();
    for (const auto [tensor, file] : map->members()) {
        const TensorInfo* found = model.index.find(tensor);
        const bool is_there =
            found != nullptr && file_name_of(model.index.files[found->file]->name()) == *file.as_string();
        if (!is_there) {
            return error(StatusCode::corrupt_file, quoted(index_path, 400), ": tensor ", quoted(tensor),
                         " should be in ", quoted(*file.as_string()),
                         found == nullptr ? ", but no part holds it" : ", but another part holds it");
        }
    }
    if (map->size() < model.index.tensors.size()) {
        model.warnings.push_back(text(model.index.tensors.size() - map->size(),
                                      " tensors of the files are not listed in ", quoted(index_path, 400)));
    }
    return {};
}

Result<std::optional<std::string>> read_if_there(const std::string& path, std::uint64_t bytes_max) {
    if (!exists(path)) return std::optional<std::string>();
    MIXTURA_ASSIGN_OR_RETURN(std::string content, read_whole_file(path, bytes_max));
    return std::optional(std::move(content));
}

Status read_hub_config(ModelFiles& model) {
    MIXTURA_ASSIGN_OR_RETURN(const auto config, read_if_there(model.folder + "/config.json", kConfigBytesMax));
    MIXTURA_ASSIGN_OR_RETURN(const auto generation,
                             read_if_there(model.folder + "/generation_config.json", kConfigBytesMax));
    if (!config)
        model.warnings.push_back(
            text("there is no config.json in ", quoted(model.folder, 400), ", so the architecture is unknown"));
    MIXTURA_ASSIGN_OR_RETURN(model.config, hub_model_config(config ? *config : "{}", generation, model.folder));
    ModelFacts& facts = model.config.facts;
    facts.has_chat_template =
        exists(model.folder + "/chat_template.jinja") || exists(model.folder + "/chat_template.json");
    if (exists(model.folder + "/tokenizer.json"))
        facts.tokenizer = "tokenizer.json";
    else if (exists(model.folder + "/tokenizer.model"))
        facts.tokenizer = "tokenizer.model";
    if (facts.has_chat_template) return {};
    const std::string path = model.folder + "/tokenizer_config.json";
    MIXTURA_ASSIGN_OR_RETURN(const auto tokenizer_config, read_if_there(path, kTokenizerConfigBytesMax));
    if (!tokenizer_config) return {};
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, parse_json_file(*tokenizer_config, path));
    const auto chat_template = document.root().find("chat_template");
    facts.has_chat_template = chat_template && !chat_template->is_null();
    return {};
}

Status open_safetensors(ModelFiles& model, const std::string& path, bool is_index) {
    model.format = CheckpointFormat::safetensors;
    model.folder = folder_of(path);
    MIXTURA_RETURN_IF_ERROR(is_index ? open_sharded(model, path) : add_safetensors(model, path));
    const std::size_t count = model.index.files.size();
    model.format_name = text("safetensors", count > 1 ? text(", ", count, " parts") : "");
    const auto part = parse_part_name(file_name_of(path), ".safetensors");
    if (part && part->count > 1) {
        model.warnings.push_back(text(quoted(path, 400), " is part ", part->number, " of ", part->count,
                                      " of a model, and only its tensors are listed; open the folder for all of them"));
    }
    return read_hub_config(model);
}

// ---- both -----------------------------------------------------------------------------------------------------------

Status check_unique_names(const WeightIndex& index) {
    for (std::size_t i = 1; i < index.by_name.size(); ++i) {
        const TensorInfo &a = index.tensors[index.by_name[i - 1]], &b = index.tensors[index.by_name[i]];
        if (a.name != b.name) continue;
        return error(StatusCode::corrupt_file, "tensor ", quoted(a.name), " is in both ",
                     quoted(index.files[a.file]->name(), 400), " and ", quoted(index.files[b.file]->name(), 400));
    }
    return {};
}

Status open_entry(ModelFiles& model, const std::string& entry) {
    if (entry.ends_with(kIndexSuffix)) return open_safetensors(model, entry, true);
    MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const File> file, File::open(entry));
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts kind, file_kind(*file));
    if (kind.kind == FileKind::gguf) return open_gguf(model, entry);
    if (kind.kind == FileKind::safetensors) return open_safetensors(model, entry, false);
    const bool is_named_so = kind.kind == FileKind::unknown && entry.ends_with(".safetensors");
    if (is_named_so) return open_safetensors(model, entry, false);  // whose reader says what is broken
    return foreign_file(entry, kind,
                        "is a JSON document, not a model; name the model's folder, its .safetensors or its .gguf file");
}

}  // namespace

void WeightIndex::sort_names() {
    by_name.resize(tensors.size());
    for (std::uint32_t i = 0; i < by_name.size(); ++i) by_name[i] = i;
    std::sort(by_name.begin(), by_name.end(), [this](auto a, auto b) { return tensors[a].name < tensors[b].name; });
}

const TensorInfo* WeightIndex::find(std::string_view name) const noexcept {
    const auto found =
        std::lower_bound(by_name.begin(), by_name.end(), name,
                         [this](std::uint32_t index, std::string_view wanted) { return tensors[index].name < wanted; });
    return found == by_name.end() || tensors[*found].name != name ? nullptr : &tensors[*found];
}

std::uint64_t WeightIndex::parameter_count() const noexcept {
    std::uint64_t count = 0;
    for (const TensorInfo& tensor : tensors)
        count = saturating_add(count, static_cast<std::uint64_t>(tensor.shape.element_count()));
    return count;
}

std::uint64_t WeightIndex::weight_bytes() const noexcept {
    std::uint64_t bytes = 0;
    for (const TensorInfo& tensor : tensors) bytes = saturating_add(bytes, tensor.size_bytes);
    return bytes;
}

Status WeightIndex::read(const TensorInfo& tensor, std::span<std::byte> out) const {
    if (tensor.file >= files.size() || out.size() != tensor.size_bytes) {
        return error(StatusCode::invalid_argument, "tensor ", quoted(tensor.name), " takes ", tensor.size_bytes,
                     " bytes, the buffer holds ", out.size());
    }
    return files[tensor.file]->read_at(tensor.offset_bytes, out);
}

Result<ModelFiles> ModelFiles::open(const std::string& path) {
    // The system would read the path up to the NUL only, and open something else than was named.
    if (path.find('\0') != std::string::npos) {
        return error(StatusCode::invalid_argument, "the path ", quoted(path, 400), " holds a NUL byte");
    }
    std::error_code ignored;
    std::string entry = path;
    if (fs::is_directory(path, ignored)) {
        std::string folder = path;
        while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
        MIXTURA_ASSIGN_OR_RETURN(entry, entry_of_folder(folder));
    }
    ModelFiles model;
    MIXTURA_RETURN_IF_ERROR(open_entry(model, entry));
    model.index.sort_names();
    MIXTURA_RETURN_IF_ERROR(check_unique_names(model.index));
    if (model.gguf) {
        const GgufValue* kind = model.gguf->find("tokenizer.ggml.model");
        if (kind != nullptr) model.config.facts.tokenizer = text("GGUF (", *kind->as_string(), ")");
        model.config.facts.has_chat_template = model.gguf->find("tokenizer.chat_template") != nullptr;
    }
    for (std::string& warning : weight_warnings(model.config.facts, model.index))
        model.warnings.push_back(std::move(warning));
    return model;
}

}  // namespace mixtura
