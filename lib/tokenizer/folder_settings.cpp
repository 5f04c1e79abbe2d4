// What the other files of a checkpoint's folder say about its vocabulary.  Their rules are transformers': a key that is
// there overrides the vocabulary's own file, a key that is not says nothing.
#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "formats/file_kind.hpp"
#include "memory/file.hpp"
#include "tokenizer/json_parts.hpp"
#include "tokenizer/read.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kSettingsBytesMax = 64 << 20;  // tokenizer_config.json with a long template has under 1 MB

class FolderSettings {
  public:
    FolderSettings(const std::string& folder, Tokenizer::State& state) : folder_(folder), state_(state) {}

    Status read() {
        MIXTURA_RETURN_IF_ERROR(each("added_tokens.json", [&](JsonValue root, const std::string& where) {
            return read_added_tokens(root, where);
        }));
        MIXTURA_RETURN_IF_ERROR(each("special_tokens_map.json", [&](JsonValue root, const std::string& where) {
            return read_named_tokens(root, where);
        }));
        const auto config = [&](JsonValue root, const std::string& where) -> Status {
            MIXTURA_RETURN_IF_ERROR(read_added_tokens_decoder(root, where));
            MIXTURA_RETURN_IF_ERROR(read_named_tokens(root, where));
            return read_flags(root, where);
        };
        MIXTURA_RETURN_IF_ERROR(each("tokenizer_config.json", config));
        // The generation's own list of end tokens; config.json's only where there is none.
        bool has_ends = false;
        for (const char* name : {"generation_config.json", "config.json"}) {
            MIXTURA_RETURN_IF_ERROR(each(name, [&](JsonValue root, const std::string&) {
                if (!has_ends) has_ends = read_end_tokens(root);
                return Status();
            }));
        }
        if (state_.special.eos >= 0) state_.end_tokens.push_back(state_.special.eos);
        return {};
    }

  private:
    template <class Read>
    Status each(const char* name, Read&& read) {
        const std::string path = folder_ + "/" + name;
        Result<std::string> json = read_whole_file(path, kSettingsBytesMax);
        if (!json) return json.status().code() == StatusCode::not_found ? Status() : json.status();
        MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, parse_json_file(*json, path));
        if (!document.root().is_object()) {
            return error(StatusCode::corrupt_file, quoted(path, 400), ": expected a JSON object");
        }
        return read(document.root(), quoted(path, 400));
    }

    // {"<spelling>": id}
    Status read_added_tokens(JsonValue root, const std::string& where) {
        for (const auto [spelling, value] : root.members()) {
            AddedToken token;
            token.content = spelling;
            MIXTURA_ASSIGN_OR_RETURN(const std::int64_t id,
                                     json_integer(root, spelling, 0, Vocabulary::kSizeMax - 1, where));
            token.id = static_cast<TokenId>(id);
            if (token.content.empty() || state_.vocabulary.find(token.content) >= 0) continue;
            MIXTURA_RETURN_IF_ERROR(add(std::move(token), where));
        }
        return {};
    }

    // {"added_tokens_decoder": {"0": {"content": …, "lstrip": …}}}
    Status read_added_tokens_decoder(JsonValue root, const std::string& where) {
        const std::optional<JsonValue> decoder = root.find("added_tokens_decoder");
        if (!decoder || decoder->is_null()) return {};
        for (const auto [key, entry] : decoder->members()) {
            const std::string place = text(where, ": added_tokens_decoder[", quoted(key), ']');
            MIXTURA_ASSIGN_OR_RETURN(AddedToken token, read_added_token(entry, place));
            const std::optional<TokenId> id = parse_integer<TokenId>(key);
            if (!id || *id < 0) return error(StatusCode::corrupt_file, place, ": the key is no token id");
            token.id = *id;
            if (!token.content.empty()) MIXTURA_RETURN_IF_ERROR(add(std::move(token), place));
        }
        return {};
    }

    Status add(AddedToken token, const std::string& where) {
        MIXTURA_RETURN_IF_ERROR(state_.vocabulary.reserve(state_.vocabulary.size() + 1, token.id, where));
        return add_token(state_, std::move(token), where);
    }

    // "bos_token": "<s>" or {"content": "<s>", …}
    Status read_named_tokens(JsonValue root, const std::string& where) {
        SpecialTokens& special = state_.special;
        for (const auto& [key, id] : {std::pair<std::string_view, TokenId*>{"bos_token", &special.bos},
                                      {"eos_token", &special.eos},
                                      {"unk_token", &special.unk},
                                      {"pad_token", &special.pad},
                                      {"sep_token", &special.sep},
                                      {"mask_token", &special.mask}}) {
            const std::optional<JsonValue> value = root.find(key);
            if (!value || value->is_null()) continue;
            MIXTURA_ASSIGN_OR_RETURN(const std::string_view spelling, value->is_string()
                                                                          ? json_string(root, key, where)
                                                                          : json_string(*value, "content", where));
            // A name that the vocabulary lacks is no error there either: the token is never asked for.
            if (const TokenId found = state_.vocabulary.find(spelling); found >= 0) *id = found;
        }
        return {};
    }

    Status read_flags(JsonValue root, const std::string& where) {
        for (const bool is_bos : {true, false}) {
            const std::string_view key = is_bos ? "add_bos_token" : "add_eos_token";
            const std::optional<JsonValue> value = root.find(key);
            if (!value || value->is_null()) continue;
            MIXTURA_ASSIGN_OR_RETURN(const bool adds, json_boolean(root, key, where));
            const TokenId id = is_bos ? state_.special.bos : state_.special.eos;
            std::vector<TokenId>& ids = is_bos ? state_.front : state_.back;
            if (id < 0) continue;
            std::erase(ids, id);
            if (adds) ids.insert(is_bos ? ids.begin() : ids.end(), id);
        }
        if (!state_.spm) return {};
        MIXTURA_ASSIGN_OR_RETURN(state_.prefixes_every_part, json_boolean_or(root, "legacy", true, where));
        MIXTURA_ASSIGN_OR_RETURN(const bool prefixes, json_boolean_or(root, "add_prefix_space", true, where));
        state_.spm->adds_dummy_prefix = state_.spm->adds_dummy_prefix && prefixes;
        return {};
    }

    bool read_end_tokens(JsonValue root) {
        const std::optional<JsonValue> value = root.find("eos_token_id");
        if (!value || value->is_null()) return false;
        const auto take = [&](JsonValue id) {
            const std::int64_t number = id.as_integer().value_or(-1);
            if (state_.vocabulary.contains(number)) state_.end_tokens.push_back(static_cast<TokenId>(number));
        };
        if (value->is_array()) {
            for (const JsonValue id : value->elements()) take(id);
        } else {
            take(*value);
        }
        return !state_.end_tokens.empty();
    }

    const std::string& folder_;
    Tokenizer::State& state_;
};

}  // namespace

Status read_folder_settings(const std::string& folder, Tokenizer::State& state) {
    return FolderSettings(folder, state).read();
}

}  // namespace mixtura
