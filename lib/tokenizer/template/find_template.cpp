#include "tokenizer/template/find_template.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/error.hpp"
#include "formats/file_kind.hpp"
#include "formats/gguf.hpp"
#include "formats/json.hpp"
#include "formats/model_files.hpp"
#include "memory/file.hpp"

namespace mixtura {
namespace {

constexpr std::string_view kDefaultName = "default";
constexpr std::uint64_t kTemplateFileBytesMax = 4U << 20;
constexpr std::uint64_t kConfigBytesMax = 64U << 20;  // tokenizer_config.json may list every added token

// Named templates as they are found; the first of a name counts.
struct Collection {
    struct Entry {
        std::string name, where, source;
    };
    std::vector<Entry> entries;
    std::vector<TemplateVariable> tokens;

    void add(std::string_view name, const std::string& where, std::string_view source) {
        const bool is_known =
            std::any_of(entries.begin(), entries.end(), [&](const Entry& entry) { return entry.name == name; });
        if (!is_known) entries.push_back({std::string(name), where, std::string(source)});
    }
    void add_token(std::string_view name, std::string_view text) {
        const bool is_known = std::any_of(tokens.begin(), tokens.end(),
                                          [&](const TemplateVariable& token) { return token.name == name; });
        if (!is_known) tokens.push_back({std::string(name), std::string(text)});
    }

    Result<FoundChatTemplate> choose(const std::string& path, std::string_view name) {
        for (Entry& entry : entries) {
            if (entry.name == name)
                return FoundChatTemplate{std::move(entry.where), std::move(entry.source), std::move(tokens)};
        }
        if (entries.empty()) {
            return error(StatusCode::not_found, quoted(path, 400),
                         " holds no chat template (looked for chat_template.jinja, "
                         "tokenizer_config.json, chat_template.json and GGUF metadata)");
        }
        std::string names;
        for (const Entry& entry : entries) names += text(names.empty() ? "" : ", ", quoted(entry.name));
        return error(StatusCode::not_found, quoted(path, 400), " holds no chat template named ", quoted(name),
                     ", it has ", names);
    }
};

bool is_file(const std::filesystem::path& path) {
    std::error_code ignored;
    return std::filesystem::is_regular_file(path, ignored);
}

// "bos_token": "<s>" or "bos_token": {"content": "<s>", …}
void add_tokens(JsonValue config, Collection& found) {
    for (const auto [key, member] : config.members()) {
        if (key.size() <= 6 || key.substr(key.size() - 6) != "_token") continue;
        const std::optional<JsonValue> content = member.find("content");
        const std::optional<std::string_view> token = content ? content->as_string() : member.as_string();
        if (token) found.add_token(key, *token);
    }
}

Status bad_template(const std::string& where, std::string_view expected) {
    return error(StatusCode::corrupt_file, quoted(where, 400), " has a \"chat_template\" that is ", expected);
}

// "chat_template" is the source or a list of {"name": …, "template": …}.
Status add_templates(JsonValue config, const std::string& where, Collection& found) {
    const std::optional<JsonValue> templates = config.find("chat_template");
    if (!templates || templates->is_null()) return {};
    if (const std::optional<std::string_view> source = templates->as_string()) {
        found.add(kDefaultName, where, *source);
        return {};
    }
    if (!templates->is_array()) return bad_template(where, "neither text nor a list");
    for (const JsonValue element : templates->elements()) {
        const std::optional<JsonValue> name = element.find("name");
        const std::optional<JsonValue> source = element.find("template");
        if (!name || !source || !name->is_string() || !source->is_string()) {
            return bad_template(where, "a list with an element that lacks \"name\" or \"template\"");
        }
        found.add(*name->as_string(), where, *source->as_string());
    }
    return {};
}

Status read_config(const std::string& path, Collection& found) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string content, read_whole_file(path, kConfigBytesMax));
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(content, path));
    add_tokens(document.root(), found);
    return add_templates(document.root(), path, found);
}

Status read_source(const std::string& path, std::string_view name, Collection& found) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string source, read_whole_file(path, kTemplateFileBytesMax));
    found.add(name, path, source);
    return {};
}

void read_gguf(const GgufHeader& header, const std::string& where, Collection& found) {
    constexpr std::string_view kKey = "tokenizer.chat_template";
    for (const GgufMetadataEntry& entry : header.metadata()) {
        const std::optional<std::string_view> source = entry.value.as_string();
        const std::string_view key = entry.key;
        if (!source || key.substr(0, kKey.size()) != kKey) continue;
        const std::string_view rest = key.substr(kKey.size());
        if (rest.empty())
            found.add(kDefaultName, where, *source);
        else if (rest[0] == '.')
            found.add(rest.substr(1), where, *source);
    }
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTokens{
        {{"bos_token", "tokenizer.ggml.bos_token_id"},
         {"eos_token", "tokenizer.ggml.eos_token_id"},
         {"unk_token", "tokenizer.ggml.unknown_token_id"},
         {"pad_token", "tokenizer.ggml.padding_token_id"},
         {"sep_token", "tokenizer.ggml.seperator_token_id"},
         {"cls_token", "tokenizer.ggml.cls_token_id"},
         {"mask_token", "tokenizer.ggml.mask_token_id"}}};  // the separator's key is spelled so in files
    const GgufValue* vocabulary = header.find("tokenizer.ggml.tokens");
    for (const auto& [name, key] : kTokens) {
        const GgufValue* id = header.find(key);
        const std::optional<std::int64_t> index = id == nullptr ? std::nullopt : id->as_integer();
        if (vocabulary == nullptr || !index || *index < 0) continue;
        if (const std::optional<std::string_view> token = vocabulary->string_at(static_cast<std::size_t>(*index)))
            found.add_token(name, *token);
    }
}

Status read_folder(const std::string& path, Collection& found) {
    const std::filesystem::path folder(path);
    if (const auto file = folder / "chat_template.jinja"; is_file(file)) {
        MIXTURA_RETURN_IF_ERROR(read_source(file.string(), kDefaultName, found));
    }
    const std::filesystem::path more = folder / "additional_chat_templates";
    std::error_code ignored;
    if (std::filesystem::is_directory(more, ignored)) {
        MIXTURA_ASSIGN_OR_RETURN(const std::vector<std::string> names, names_in_folder(more.string()));
        for (const std::string& name : names) {
            const std::filesystem::path file = more / name;
            if (file.extension() != ".jinja" || !is_file(file)) continue;
            MIXTURA_RETURN_IF_ERROR(read_source(file.string(), file.stem().string(), found));
        }
    }
    for (const std::string_view name : {"tokenizer_config.json", "chat_template.json", "special_tokens_map.json"}) {
        const std::filesystem::path file = folder / name;
        if (is_file(file)) MIXTURA_RETURN_IF_ERROR(read_config(file.string(), found));
    }
    if (!found.entries.empty() || !found.tokens.empty()) return {};
    MIXTURA_ASSIGN_OR_RETURN(const ModelFiles files, ModelFiles::open(path));
    if (files.gguf) read_gguf(*files.gguf, files.index.files.front()->name(), found);
    return {};
}

Status read_file(const std::string& path, Collection& found) {
    MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const File> file, File::open(path));
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts facts, file_kind(*file));
    const auto has_ending = [&](std::string_view ending) {
        return path.size() >= ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0;
    };
    if (has_ending(".json")) return read_config(path, found);
    if (facts.kind == FileKind::gguf) {
        MIXTURA_ASSIGN_OR_RETURN(const GgufHeader header, GgufHeader::read(*file));
        read_gguf(header, path, found);
        return {};
    }
    if (has_ending(".safetensors")) return {};  // holds no text: choose() says what was looked for
    if (facts.kind == FileKind::foreign) return error(StatusCode::unknown_format, quoted(path, 400), " ", facts.what);
    return read_source(path, kDefaultName, found);
}

}  // namespace

Result<FoundChatTemplate> find_chat_template(const std::string& path, std::string_view name) {
    Collection found;
    std::error_code ignored;
    const bool is_folder = path.find('\0') == std::string::npos && std::filesystem::is_directory(path, ignored);
    MIXTURA_RETURN_IF_ERROR(is_folder ? read_folder(path, found) : read_file(path, found));
    return found.choose(path, name);
}

}  // namespace mixtura
