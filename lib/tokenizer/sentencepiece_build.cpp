#include "tokenizer/sentencepiece_build.hpp"

#include "base/error.hpp"

namespace mixtura {

std::optional<std::uint16_t> piece_flags(std::int64_t type) noexcept {
    switch (type) {
        case 1: return std::uint16_t{0};
        case 2: return std::uint16_t{kTokenUnknown};
        case 3: return std::uint16_t{kTokenSpecial};
        case 4: return std::uint16_t{kTokenUserDefined};
        case 5: return std::uint16_t{kTokenUnused};
        case 6: return std::uint16_t{kTokenByte};
        default: return std::nullopt;
    }
}

Status build_sentencepiece(Tokenizer::State& state, const SentencePieceFacts& facts, const std::string& where) {
    Vocabulary& vocabulary = state.vocabulary;
    if (facts.unk < 0 || !vocabulary.contains(facts.unk)) {
        return error(StatusCode::corrupt_file, where, ": the vocabulary has no unknown piece");
    }
    vocabulary.set_flags(facts.unk, kTokenUnknown);
    state.special.unk = facts.unk;

    SpmNormalizer& spm = state.spm.emplace();
    spm.vocabulary = &vocabulary;
    MIXTURA_ASSIGN_OR_RETURN(spm.charsmap, Charsmap::read(facts.charsmap, where));
    spm.adds_dummy_prefix = facts.adds_dummy_prefix;
    spm.removes_extra_spaces = facts.removes_extra_spaces;
    spm.escapes_spaces = facts.escapes_spaces;
    spm.puts_space_behind = facts.puts_space_behind;
    std::vector<std::pair<std::string_view, std::int32_t>> user_defined;
    for (std::size_t i = 0; i < vocabulary.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (!vocabulary.contains(id)) continue;
        const std::string_view spelling = vocabulary.spelling(id);
        if (!is_utf8(spelling)) {
            return error(StatusCode::corrupt_file, where, ": the piece ", id, ", ", quoted(spelling), ", is not UTF-8");
        }
        if (vocabulary.has(id, kTokenByte) && byte_token_value(spelling) < 0) {
            return error(StatusCode::corrupt_file, where, ": the byte piece ", id, " is spelled ", quoted(spelling),
                         ", expected \"<0x00>\" to \"<0xFF>\"");
        }
        if (vocabulary.has(id, kTokenUserDefined)) user_defined.emplace_back(spelling, id);
        if (vocabulary.has(id, kTokenSpecial | kTokenUnknown)) {
            AddedToken token;
            token.id = id;
            token.content = spelling;
            token.is_special = true;
            state.added_index.emplace(id, state.added.size());
            state.added.push_back(std::move(token));
        }
    }
    spm.user_defined = ByteTrie(std::move(user_defined));
    if (facts.byte_fallback) {
        for (unsigned byte = 0; byte < 256; ++byte) {
            if (vocabulary.find(byte_token_spelling(byte)) >= 0) continue;
            return error(StatusCode::corrupt_file, where, ": bytes are a fallback, but the piece ",
                         byte_token_spelling(byte), " is missing");
        }
    }
    if (facts.is_unigram) {
        UnigramOptions options;
        options.is_sentencepiece = true;
        options.byte_fallback = facts.byte_fallback;
        options.unk = facts.unk;
        const std::vector<double> scores(facts.scores.begin(), facts.scores.end());
        MIXTURA_ASSIGN_OR_RETURN(UnigramModel unigram, UnigramModel::create(vocabulary, options, scores, where));
        state.unigram.emplace(std::move(unigram));
        state.kind = "Unigram";
    } else {
        BpeOptions options;
        options.is_sentencepiece = true;
        options.byte_fallback = facts.byte_fallback;
        options.unk = facts.unk;
        MIXTURA_ASSIGN_OR_RETURN(BpeModel bpe, BpeModel::from_scores(vocabulary, options, facts.scores, where));
        state.bpe.emplace(std::move(bpe));
        state.kind = "SentencePiece BPE";
    }
    DecodeStage stage;
    stage.kind = DecodeStage::Kind::sentencepiece;
    state.decode.stages.push_back(std::move(stage));
    state.decode.sentencepiece = {facts.adds_dummy_prefix || facts.removes_extra_spaces, facts.removes_extra_spaces,
                                  facts.unknown_surface};
    return {};
}

}  // namespace mixtura
