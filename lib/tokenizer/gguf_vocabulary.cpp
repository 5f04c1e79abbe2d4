// The vocabulary in a GGUF file: tokenizer.ggml.* of the GGUF specification, as llama.cpp's converter writes them.
#include <limits>

#include "base/error.hpp"
#include "tokenizer/gguf_pre.hpp"
#include "tokenizer/read.hpp"
#include "tokenizer/sentencepiece_build.hpp"

namespace mixtura {
namespace {

class GgufVocabularyReader {
  public:
    GgufVocabularyReader(const GgufHeader& header, std::string_view name)
        : header_(header), where_(quoted(name, 400)), state_(std::make_shared<Tokenizer::State>()) {}

    Result<StatePointer> read() {
        const GgufValue* model = key("model");
        const std::optional<std::string_view> kind = model != nullptr ? model->as_string() : std::nullopt;
        if (!kind || *kind == "none" || *kind == "no_vocab") {
            return error(StatusCode::not_found, where_, ": the file holds no vocabulary (tokenizer.ggml.model is ",
                         kind ? quoted(*kind) : "missing", ')');
        }
        MIXTURA_RETURN_IF_ERROR(read_tokens());
        if (*kind == "llama" || *kind == "t5") {
            MIXTURA_RETURN_IF_ERROR(read_sentencepiece(*kind == "t5"));
            state_->source = text("GGUF (", *kind, ')');
        } else if (*kind == "gpt2" || *kind == "gemma4") {
            MIXTURA_RETURN_IF_ERROR(read_bpe(*kind == "gemma4"));
        } else {
            return error(StatusCode::unsupported, where_, ": the tokenizer model ", quoted(*kind), " is not supported");
        }
        MIXTURA_RETURN_IF_ERROR(read_special_tokens(*kind));
        return std::move(state_);
    }

  private:
    const GgufValue* key(std::string_view name) const { return header_.find(text("tokenizer.ggml.", name)); }

    Result<bool> flag(std::string_view name, bool absent) const {
        const GgufValue* value = key(name);
        if (value == nullptr) return absent;
        if (const std::optional<bool> boolean = value->as_boolean()) return *boolean;
        return error(StatusCode::corrupt_file, where_, ": tokenizer.ggml.", name, " is a ",
                     gguf_type_name(value->type()), ", expected a boolean");
    }

    Result<const GgufValue*> list(std::string_view name, GgufType type, std::size_t count_min) const {
        const GgufValue* value = key(name);
        const bool is_list = value != nullptr && value->is_array() && value->element_type() == type;
        if (!is_list || value->size() < count_min) {
            return error(StatusCode::corrupt_file, where_, ": expected a list of ", gguf_type_name(type),
                         " as tokenizer.ggml.", name, ", found ",
                         value == nullptr ? std::string("none")
                         : is_list        ? text("one of ", value->size(), " elements for ", count_min, " tokens")
                                          : text("a value of type ", gguf_type_name(value->type())));
        }
        return value;
    }

    Status read_tokens() {
        MIXTURA_ASSIGN_OR_RETURN(const GgufValue* tokens, list("tokens", GgufType::string, 1));
        const std::size_t count = tokens->size();
        const GgufValue* types = nullptr;
        if (key("token_type") != nullptr) {
            MIXTURA_ASSIGN_OR_RETURN(types, list("token_type", GgufType::i32, count));
        }
        MIXTURA_RETURN_IF_ERROR(state_->vocabulary.reserve(count, static_cast<std::int64_t>(count) - 1, where_));
        for (std::size_t i = 0; i < count; ++i) {
            const std::string_view spelling = tokens->string_at(i).value_or("");
            if (!is_utf8(spelling)) {
                return error(StatusCode::corrupt_file, where_, ": the token ", i, ", ", quoted(spelling),
                             ", is not UTF-8");
            }
            const std::int64_t type = types != nullptr ? types->integer_at(i).value_or(1) : 1;
            // 0 is llama.cpp's "undefined"; it treats it, and numbers it does not know, as no kind of its own.
            const std::uint16_t flags = piece_flags(type).value_or(std::uint16_t{0});
            // Models padded to a round size have tokens without a spelling; their ids stay unused.
            if (spelling.empty()) continue;
            MIXTURA_RETURN_IF_ERROR(state_->vocabulary.add(static_cast<TokenId>(i), spelling, flags, where_));
        }
        token_count_ = count;
        return {};
    }

    Status read_sentencepiece(bool is_t5) {
        SentencePieceFacts facts;
        facts.is_unigram = is_t5;
        MIXTURA_ASSIGN_OR_RETURN(const GgufValue* scores, list("scores", GgufType::f32, token_count_));
        facts.scores.reserve(token_count_);
        for (std::size_t i = 0; i < state_->vocabulary.size(); ++i) {
            facts.scores.push_back(static_cast<float>(scores->real_at(i).value_or(0)));
        }
        MIXTURA_ASSIGN_OR_RETURN(facts.adds_dummy_prefix, flag("add_space_prefix", !is_t5));
        MIXTURA_ASSIGN_OR_RETURN(facts.removes_extra_spaces, flag("remove_extra_whitespaces", false));
        std::string charsmap;
        if (const GgufValue* map = key("precompiled_charsmap")) {
            if (!map->is_array() || (map->element_type() != GgufType::u8 && map->element_type() != GgufType::i8)) {
                return error(StatusCode::corrupt_file, where_,
                             ": expected a list of bytes as "
                             "tokenizer.ggml.precompiled_charsmap");
            }
            charsmap.assign(reinterpret_cast<const char*>(map->raw().data()), map->raw().size());
            facts.charsmap = charsmap;
        }
        MIXTURA_ASSIGN_OR_RETURN(facts.unk, special("unknown_token_id", is_t5 ? 2 : 0));
        bool has_all_bytes = true;
        for (unsigned byte = 0; byte < 256; ++byte) {
            const TokenId id = state_->vocabulary.find(byte_token_spelling(byte));
            has_all_bytes = has_all_bytes && id >= 0 && state_->vocabulary.has(id, kTokenByte);
        }
        facts.byte_fallback = has_all_bytes;
        MIXTURA_RETURN_IF_ERROR(build_sentencepiece(*state_, facts, where_));
        // Phi-3's turn markers swallow the white space behind them.  The file has no field for that, so the
        // architecture stands for it, as in llama.cpp.
        const GgufValue* architecture = header_.find("general.architecture");
        const std::string_view family = architecture != nullptr ? architecture->as_string().value_or("") : "";
        if (family == "phi3" || family == "phimoe") {
            for (AddedToken& token : state_->added) {
                token.strips_right =
                    token.content != "<unk>" && token.content != "<s>" && token.content != "<|endoftext|>";
            }
        }
        return {};
    }

    Status read_bpe(bool is_gemma4) {
        std::string_view name = is_gemma4 ? "gemma4" : "default";
        if (const GgufValue* pre = key("pre"); pre != nullptr && !is_gemma4) {
            if (!pre->as_string()) return error(StatusCode::corrupt_file, where_, ": tokenizer.ggml.pre is no text");
            name = *pre->as_string();
        }
        const GgufPreTokenizer* row = find_gguf_pre_tokenizer(name);
        if (row == nullptr) {
            return error(StatusCode::unsupported, where_, ": the pre-tokenizer ", quoted(name), " is not supported");
        }
        adds_bos_ = (row->flags & kPreAddsBos) != 0;
        MIXTURA_RETURN_IF_ERROR(build_pre_tokenizer(*row));
        for (std::size_t i = 0; i < state_->vocabulary.size(); ++i) {
            const auto id = static_cast<TokenId>(i);
            if (!state_->vocabulary.has(id, kTokenSpecial | kTokenUserDefined | kTokenUnknown)) continue;
            AddedToken token;
            token.id = id;
            token.content = state_->vocabulary.spelling(id);
            token.is_special = !state_->vocabulary.has(id, kTokenUserDefined);
            state_->vocabulary.set_flags(id, kTokenOutsideModel);
            state_->added_index.emplace(id, state_->added.size());
            state_->added.push_back(std::move(token));
        }
        BpeOptions options;
        options.has_byte_symbols = (row->flags & kPreMetaSpace) == 0 && row->letter_patterns[0].empty();
        options.byte_fallback = (row->flags & kPreMetaSpace) != 0;
        options.ignore_merges = (row->flags & kPreIgnoreMerges) != 0;
        MIXTURA_ASSIGN_OR_RETURN(const GgufValue* lines, list("merges", GgufType::string, 0));
        std::vector<BpeModel::MergePair> merges;
        merges.reserve(lines->size());
        for (std::size_t i = 0; i < lines->size(); ++i) {
            const std::string_view line = lines->string_at(i).value_or("");
            const std::size_t space = line.empty() ? std::string_view::npos : line.find(' ', 1);
            if (space == std::string_view::npos || space + 1 == line.size()) {
                return error(StatusCode::corrupt_file, where_, ": merge ", i,
                             ": expected two tokens with a space between, "
                             "found ",
                             quoted(line));
            }
            merges.push_back({line.substr(0, space), line.substr(space + 1)});
        }
        MIXTURA_ASSIGN_OR_RETURN(BpeModel bpe, BpeModel::from_merges(state_->vocabulary, options, merges, where_));
        state_->bpe.emplace(std::move(bpe));
        state_->kind = (row->flags & kPreMetaSpace) != 0 ? "BPE" : "byte-level BPE";
        state_->source = text("GGUF (", is_gemma4 ? "gemma4" : "gpt2", ", ", name, ')');
        return build_decoder((row->flags & kPreMetaSpace) != 0);
    }

    Status build_pre_tokenizer(const GgufPreTokenizer& row) {
        NormalizeStep step;
        if ((row.flags & kPreNfc) != 0) {
            step.kind = NormalizeStep::Kind::unicode_form;
            step.form = UnicodeForm::nfc;
            state_->normalizer.steps.push_back(step);
        }
        if ((row.flags & kPreMetaSpace) != 0) {
            step.kind = NormalizeStep::Kind::replace;
            step.literal = " ";
            step.content = kMetaSpace;
            state_->normalizer.steps.push_back(step);
        }
        const auto split = [&](std::string_view pattern) -> Status {
            PreTokenizeStage stage;
            MIXTURA_ASSIGN_OR_RETURN(stage.pattern, Regex::compile(pattern, where_));
            state_->pre_tokenizer.stages.push_back(std::move(stage));
            return {};
        };
        for (const std::string_view pattern : row.patterns) {
            if (!pattern.empty()) MIXTURA_RETURN_IF_ERROR(split(pattern));
        }
        if (row.letter_patterns[0].empty()) return {};
        PreTokenizeStage letters;
        letters.kind = PreTokenizeStage::Kind::byte_letters;
        state_->pre_tokenizer.stages.push_back(std::move(letters));
        for (const std::string_view pattern : row.letter_patterns) {
            if (!pattern.empty()) MIXTURA_RETURN_IF_ERROR(split(pattern));
        }
        return {};
    }

    Status build_decoder(bool has_meta_space) {
        DecodeStage stage;
        if (has_meta_space) {
            stage.kind = DecodeStage::Kind::replace;
            stage.literal = kMetaSpace;
            stage.content = " ";
            state_->decode.stages.push_back(stage);
            stage = {};
            stage.kind = DecodeStage::Kind::byte_fallback;
        } else {
            stage.kind = DecodeStage::Kind::byte_level;
            stage.keeps_flagged = true;
        }
        state_->decode.stages.push_back(std::move(stage));
        return check_decode_plan(state_->decode, where_);
    }

    // The id under a key, `absent` where there is none.  llama.cpp goes on with its default when an id is out of range.
    Result<TokenId> special(std::string_view name, TokenId absent) const {
        const GgufValue* value = key(name);
        const TokenId fallback = state_->vocabulary.contains(absent) ? absent : kNoToken;
        if (value == nullptr) return fallback;
        const std::optional<std::int64_t> id = value->as_integer();
        if (!id) {
            return error(StatusCode::corrupt_file, where_, ": tokenizer.ggml.", name, " is a ",
                         gguf_type_name(value->type()), ", expected a whole number");
        }
        return state_->vocabulary.contains(*id) ? static_cast<TokenId>(*id) : fallback;
    }

    Status read_special_tokens(std::string_view kind) {
        SpecialTokens& tokens = state_->special;
        const bool is_llama = kind == "llama", is_t5 = kind == "t5";
        MIXTURA_ASSIGN_OR_RETURN(tokens.bos, special("bos_token_id", is_llama ? 1 : kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.eos, special("eos_token_id", is_llama ? 2 : is_t5 ? 1 : kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.eot, special("eot_token_id", kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.eom, special("eom_token_id", kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.unk, special("unknown_token_id", tokens.unk));
        MIXTURA_ASSIGN_OR_RETURN(tokens.pad, special("padding_token_id", is_t5 ? 0 : kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.sep, special("seperator_token_id", kNoToken));  // the specification's spelling
        MIXTURA_ASSIGN_OR_RETURN(tokens.mask, special("mask_token_id", kNoToken));
        // The older name of each first, so that the newer wins.
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_prefix, special("prefix_token_id", kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_suffix, special("suffix_token_id", kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_middle, special("middle_token_id", kNoToken));
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_prefix, special("fim_pre_token_id", tokens.fim_prefix));
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_suffix, special("fim_suf_token_id", tokens.fim_suffix));
        MIXTURA_ASSIGN_OR_RETURN(tokens.fim_middle, special("fim_mid_token_id", tokens.fim_middle));

        MIXTURA_ASSIGN_OR_RETURN(const bool adds_bos, flag("add_bos_token", adds_bos_ || is_llama));
        MIXTURA_ASSIGN_OR_RETURN(const bool adds_eos, flag("add_eos_token", is_t5));
        for (const auto& [adds, id, name] : {std::tuple{adds_bos, tokens.bos, "bos"}, {adds_eos, tokens.eos, "eos"}}) {
            if (!adds || id >= 0 || key(text("add_", name, "_token")) == nullptr) continue;
            return error(StatusCode::corrupt_file, where_, ": tokenizer.ggml.add_", name,
                         "_token is true, but there is no ", name, "_token_id");
        }
        if (adds_bos && tokens.bos >= 0) state_->front.push_back(tokens.bos);
        if (adds_eos && tokens.eos >= 0) state_->back.push_back(tokens.eos);
        for (const TokenId id : {tokens.eos, tokens.eot, tokens.eom}) {
            if (id >= 0) state_->end_tokens.push_back(id);
        }
        find_end_tokens(*state_);
        return {};
    }

    const GgufHeader& header_;
    std::string where_;
    StatePointer state_;
    std::size_t token_count_ = 0;
    bool adds_bos_ = false;
};

}  // namespace

Result<StatePointer> read_gguf_vocabulary(const GgufHeader& header, std::string_view name) {
    return GgufVocabularyReader(header, name).read();
}

}  // namespace mixtura
