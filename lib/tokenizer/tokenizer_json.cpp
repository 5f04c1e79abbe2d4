// A tokenizer.json as a whole: vocabulary, merges or scores, added tokens, and the components of json_parts.
#include <algorithm>
#include <limits>

#include "base/error.hpp"
#include "formats/file_kind.hpp"
#include "tokenizer/json_parts.hpp"
#include "tokenizer/read.hpp"

namespace mixtura {
namespace {

class TokenizerJsonReader {
  public:
    TokenizerJsonReader(JsonValue root, std::string_view name)
        : root_(root), name_(quoted(name, 400)), state_(std::make_shared<Tokenizer::State>()) {}

    Result<StatePointer> read() {
        if (!root_.is_object()) return error(StatusCode::corrupt_file, name_, ": expected a JSON object");
        if (const std::optional<JsonValue> version = root_.find("version"); version && version->as_string() != "1.0") {
            return error(StatusCode::unsupported, name_, ": expected the version \"1.0\"");
        }
        const std::optional<JsonValue> model = root_.find("model");
        if (!model || !model->is_object()) {
            return error(StatusCode::corrupt_file, name_, ": expected an object as \"model\"");
        }
        where_ = name_ + ": model";
        MIXTURA_RETURN_IF_ERROR(read_component("normalizer", [&](JsonValue value, const std::string& where) {
            return read_json_normalizer(value, where, state_->normalizer);
        }));
        MIXTURA_RETURN_IF_ERROR(read_component("pre_tokenizer", [&](JsonValue value, const std::string& where) {
            return read_json_pre_tokenizer(value, where, state_->pre_tokenizer);
        }));
        MIXTURA_RETURN_IF_ERROR(read_model(*model));
        MIXTURA_RETURN_IF_ERROR(read_component("decoder", [&](JsonValue value, const std::string& where) {
            return read_json_decoder(value, where, state_->decode);
        }));
        if (state_->decode.stages.empty()) {
            DecodeStage join;
            join.kind = DecodeStage::Kind::join_with_space;
            state_->decode.stages.push_back(std::move(join));
        }
        JsonTemplate around;
        MIXTURA_RETURN_IF_ERROR(read_component("post_processor", [&](JsonValue value, const std::string& where) {
            return read_json_post_processor(value, where, around);
        }));
        for (const std::vector<TokenId>* ids : {&around.front, &around.back}) {
            for (const TokenId id : *ids) {
                if (state_->vocabulary.contains(id)) continue;
                return error(StatusCode::corrupt_file, name_, ": post_processor adds the token ", id,
                             ", which the vocabulary lacks");
            }
        }
        state_->front = std::move(around.front);
        state_->back = std::move(around.back);
        state_->source = "tokenizer.json";
        return std::move(state_);
    }

  private:
    template <class Read>
    Status read_component(std::string_view key, Read&& read) {
        const std::optional<JsonValue> value = root_.find(key);
        if (!value || value->is_null()) return {};
        return read(*value, text(name_, ": ", key));
    }

    Status read_model(JsonValue model) {
        const std::optional<JsonValue> vocabulary = model.find("vocab");
        const std::optional<JsonValue> type_value = model.find("type");
        // Files from before "type" was written are told apart by their vocabulary.
        const std::string_view type = type_value                             ? type_value->as_string().value_or("")
                                      : vocabulary && vocabulary->is_array() ? "Unigram"
                                                                             : "BPE";
        if (type == "BPE") {
            if (!vocabulary || !vocabulary->is_object()) {
                return error(StatusCode::corrupt_file, where_, ": expected an object as \"vocab\"");
            }
            return read_bpe(model, *vocabulary);
        }
        if (type == "Unigram") {
            if (!vocabulary || !vocabulary->is_array()) {
                return error(StatusCode::corrupt_file, where_, ": expected a list as \"vocab\"");
            }
            return read_unigram(model, *vocabulary);
        }
        return error(StatusCode::unsupported, where_, ": the model ", quoted(type), " is not supported");
    }

    Status read_bpe(JsonValue model, JsonValue vocabulary) {
        std::int64_t id_max = -1;
        for (const auto [spelling, id_value] : vocabulary.members()) {
            const std::optional<std::int64_t> id = id_value.as_integer();
            if (!id || *id < 0 || *id > std::numeric_limits<TokenId>::max()) {
                return error(StatusCode::corrupt_file, where_, ": the token ", quoted(spelling),
                             " has no whole number as id");
            }
            id_max = std::max(id_max, *id);
        }
        MIXTURA_RETURN_IF_ERROR(state_->vocabulary.reserve(vocabulary.size(), id_max, where_));
        for (const auto [spelling, id_value] : vocabulary.members()) {
            MIXTURA_RETURN_IF_ERROR(
                state_->vocabulary.add(static_cast<TokenId>(*id_value.as_integer()), spelling, 0, where_));
        }
        MIXTURA_RETURN_IF_ERROR(read_added_tokens());
        for (const std::string_view affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
            const std::optional<JsonValue> value = model.find(affix);
            if (value && !value->is_null() && value->as_string() != "") {
                return error(StatusCode::unsupported, where_, ": the ", affix, " is not supported");
            }
        }
        if (const std::optional<JsonValue> dropout = model.find("dropout");
            dropout && !dropout->is_null() && dropout->as_real() != 0.0) {
            return error(StatusCode::unsupported, where_, ": a dropout is not supported, ids would be random");
        }
        BpeOptions options;
        std::vector<PreTokenizeStage>& stages = state_->pre_tokenizer.stages;
        if (!stages.empty() && stages.back().kind == PreTokenizeStage::Kind::byte_letters) {
            // The byte letters are only another spelling: the model works on the bytes themselves.
            options.has_byte_symbols = true;
            stages.pop_back();
        }
        MIXTURA_ASSIGN_OR_RETURN(options.byte_fallback, json_boolean_or(model, "byte_fallback", false, where_));
        MIXTURA_ASSIGN_OR_RETURN(options.fuse_unk, json_boolean_or(model, "fuse_unk", false, where_));
        MIXTURA_ASSIGN_OR_RETURN(options.ignore_merges, json_boolean_or(model, "ignore_merges", false, where_));
        if (const std::optional<JsonValue> unk = model.find("unk_token"); unk && !unk->is_null()) {
            MIXTURA_ASSIGN_OR_RETURN(const std::string_view spelling, json_string(model, "unk_token", where_));
            options.unk = state_->vocabulary.find(spelling);
            // Byte-level models have a symbol for every byte, so a name that leads nowhere is never followed.
            if (options.unk < 0 && !options.has_byte_symbols) {
                return error(StatusCode::corrupt_file, where_, ": the vocabulary lacks its unk_token ",
                             quoted(spelling));
            }
            if (options.unk >= 0) state_->vocabulary.set_flags(options.unk, kTokenUnknown);
            state_->special.unk = options.unk;
        }
        std::vector<BpeModel::MergePair> merges;
        MIXTURA_RETURN_IF_ERROR(read_merges(model, merges));
        MIXTURA_ASSIGN_OR_RETURN(BpeModel bpe, BpeModel::from_merges(state_->vocabulary, options, merges, where_));
        state_->bpe.emplace(std::move(bpe));
        state_->kind = options.has_byte_symbols ? "byte-level BPE" : "BPE";
        return {};
    }

    // "a b", or since 2024 ["a", "b"], which can hold spaces.
    Status read_merges(JsonValue model, std::vector<BpeModel::MergePair>& merges) {
        const std::optional<JsonValue> list = model.find("merges");
        if (!list || !list->is_array())
            return error(StatusCode::corrupt_file, where_, ": expected a list as \"merges\"");
        merges.reserve(list->size());
        for (const JsonValue merge : list->elements()) {
            if (const std::optional<std::string_view> line = merge.as_string()) {
                if (line->starts_with("#version")) continue;
                const std::size_t space = line->find(' ');
                if (space == std::string_view::npos || line->find(' ', space + 1) != std::string_view::npos) {
                    return error(StatusCode::corrupt_file, where_, ": merge ", merges.size(),
                                 ": expected two tokens with a space between, found ", quoted(*line));
                }
                merges.push_back({line->substr(0, space), line->substr(space + 1)});
                continue;
            }
            std::string_view parts[2];
            std::size_t count = 0;
            for (const JsonValue part : merge.elements()) {
                if (count < 2) parts[count] = part.as_string().value_or("");
                ++count;
            }
            if (count != 2 || parts[0].empty() || parts[1].empty()) {
                return error(StatusCode::corrupt_file, where_, ": merge ", merges.size(),
                             ": expected a list of two tokens");
            }
            merges.push_back({parts[0], parts[1]});
        }
        return {};
    }

    Status read_unigram(JsonValue model, JsonValue vocabulary) {
        MIXTURA_RETURN_IF_ERROR(
            state_->vocabulary.reserve(vocabulary.size(), static_cast<std::int64_t>(vocabulary.size()) - 1, where_));
        std::vector<double> scores;
        scores.reserve(vocabulary.size());
        for (const JsonValue entry : vocabulary.elements()) {
            std::optional<std::string_view> spelling;
            std::optional<double> score;
            std::size_t count = 0;
            for (const JsonValue part : entry.elements()) {
                if (count == 0) spelling = part.as_string();
                if (count == 1) score = part.as_real();
                ++count;
            }
            if (count != 2 || !spelling || !score) {
                return error(StatusCode::corrupt_file, where_, ": entry ", scores.size(),
                             " of the vocabulary: expected a list of a text and a number");
            }
            MIXTURA_RETURN_IF_ERROR(
                state_->vocabulary.add(static_cast<TokenId>(scores.size()), *spelling, 0, where_, true));
            scores.push_back(*score);
        }
        UnigramOptions options;
        MIXTURA_ASSIGN_OR_RETURN(options.byte_fallback, json_boolean_or(model, "byte_fallback", false, where_));
        if (const std::optional<JsonValue> unk = model.find("unk_id"); unk && !unk->is_null()) {
            MIXTURA_ASSIGN_OR_RETURN(
                const std::int64_t id,
                json_integer(model, "unk_id", 0, static_cast<std::int64_t>(scores.size()) - 1, where_));
            options.unk = static_cast<TokenId>(id);
            state_->vocabulary.set_flags(options.unk, kTokenUnknown);
            state_->special.unk = options.unk;
        }
        MIXTURA_RETURN_IF_ERROR(read_added_tokens());
        scores.resize(state_->vocabulary.size());
        MIXTURA_ASSIGN_OR_RETURN(UnigramModel unigram,
                                 UnigramModel::create(state_->vocabulary, options, scores, where_));
        state_->unigram.emplace(std::move(unigram));
        state_->kind = "Unigram";
        return {};
    }

    Status read_added_tokens() {
        const std::optional<JsonValue> list = root_.find("added_tokens");
        if (!list || list->is_null()) return {};
        if (!list->is_array()) return error(StatusCode::corrupt_file, name_, ": expected a list as \"added_tokens\"");
        std::size_t index = 0;
        std::int64_t id_max = static_cast<std::int64_t>(state_->vocabulary.size());
        for (const JsonValue entry : list->elements()) {
            const std::optional<JsonValue> id = entry.find("id");
            id_max = std::max(id_max, id ? id->as_integer().value_or(0) : 0);
        }
        MIXTURA_RETURN_IF_ERROR(state_->vocabulary.reserve(state_->vocabulary.size() + list->size(), id_max, name_));
        for (const JsonValue entry : list->elements()) {
            const std::string where = text(name_, ": added_tokens[", index++, ']');
            MIXTURA_ASSIGN_OR_RETURN(AddedToken token, read_added_token(entry, where));
            if (!token.content.empty()) MIXTURA_RETURN_IF_ERROR(add_token(*state_, std::move(token), where));
        }
        return {};
    }

    JsonValue root_;
    std::string name_, where_;
    StatePointer state_;
};

}  // namespace

Result<AddedToken> read_added_token(JsonValue entry, const std::string& where) {
    AddedToken token;
    MIXTURA_ASSIGN_OR_RETURN(token.content, json_string(entry, "content", where));
    token.id = -1;
    if (entry.find("id")) {
        MIXTURA_ASSIGN_OR_RETURN(const std::int64_t id, json_integer(entry, "id", 0, Vocabulary::kSizeMax - 1, where));
        token.id = static_cast<TokenId>(id);
    }
    MIXTURA_ASSIGN_OR_RETURN(token.is_single_word, json_boolean_or(entry, "single_word", false, where));
    MIXTURA_ASSIGN_OR_RETURN(token.strips_left, json_boolean_or(entry, "lstrip", false, where));
    MIXTURA_ASSIGN_OR_RETURN(token.strips_right, json_boolean_or(entry, "rstrip", false, where));
    MIXTURA_ASSIGN_OR_RETURN(token.is_special, json_boolean_or(entry, "special", false, where));
    MIXTURA_ASSIGN_OR_RETURN(token.is_normalized, json_boolean_or(entry, "normalized", !token.is_special, where));
    return token;
}

Status add_token(Tokenizer::State& state, AddedToken token, const std::string& where) {
    // A token that the model has keeps the model's id, as in the reference.
    if (const TokenId known = state.vocabulary.find(token.content); known >= 0) {
        token.id = known;
    } else {
        if (token.id < 0)
            return error(StatusCode::corrupt_file, where, ": the token ", quoted(token.content), " has no id");
        MIXTURA_RETURN_IF_ERROR(state.vocabulary.add(token.id, token.content, kTokenOutsideModel, where));
    }
    const auto [place, is_new] = state.added_index.emplace(token.id, state.added.size());
    if (is_new) {
        state.added.push_back(std::move(token));
    } else {
        state.added[place->second] = std::move(token);
    }
    return {};
}

Result<StatePointer> read_tokenizer_json(std::string_view json, std::string_view name) {
    MIXTURA_ASSIGN_OR_RETURN(const JsonDocument document, parse_json_file(json, name));
    return TokenizerJsonReader(document.root(), name).read();
}

}  // namespace mixtura
