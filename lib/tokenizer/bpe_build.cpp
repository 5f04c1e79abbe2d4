// Making a BpeModel out of what the files say.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "tokenizer/bpe.hpp"
#include "tokenizer/byte_alphabet.hpp"

namespace mixtura {
namespace {

Status colliding_merges(std::string_view where) {
    return error(StatusCode::corrupt_file, where, ": the merges are chosen so that their hashes collide");
}

}  // namespace

void BpeModel::find_symbols() {
    byte_symbols_.fill(-1);
    byte_tokens_.fill(-1);
    for (std::size_t i = 0; i < vocabulary_->size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        has_unused_ = has_unused_ || vocabulary_->has(id, kTokenUnused);
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        byte_tokens_[byte] = vocabulary_->find_in_model(byte_token_spelling(byte));
    }
    for (unsigned byte = 0; byte < 256; ++byte) {
        std::string character;
        if (options_.has_byte_symbols) {
            append_utf8(character, kByteLetters[byte]);
        } else if (byte < 0x80) {
            character.push_back(static_cast<char>(byte));
        } else {
            break;
        }
        const TokenId token = vocabulary_->find_in_model(character);
        const bool is_reserved = token >= 0 && options_.is_sentencepiece &&
                                 vocabulary_->has(token, kTokenSpecial | kTokenByte | kTokenUnknown);
        if (!is_reserved) byte_symbols_[byte] = token;
    }
}

Result<BpeModel> BpeModel::from_merges(const Vocabulary& vocabulary, const BpeOptions& options,
                                       std::span<const MergePair> merges, std::string_view where) {
    BpeModel model(vocabulary, options);
    model.find_symbols();
    model.merges_.reserve(merges.size());
    bool crosses_into_meta_space = false;
    std::string joint;
    for (std::size_t rank = 0; rank < merges.size(); ++rank) {
        const auto& [left, right] = merges[rank];
        joint.assign(left).append(right);
        const TokenId left_id = vocabulary.find_in_model(left), right_id = vocabulary.find_in_model(right),
                      id = vocabulary.find_in_model(joint);
        if (left_id < 0 || right_id < 0 || id < 0) {
            const std::string_view missing = left_id < 0 ? left : right_id < 0 ? right : std::string_view(joint);
            return error(StatusCode::corrupt_file, where, ": merge ", rank, ", ", quoted(left), " and ", quoted(right),
                         ", needs the token ", quoted(missing), ", which the vocabulary lacks");
        }
        // A pair listed twice has its last rank, as in the reference.
        if (model.merges_.insert(left_id, right_id, {static_cast<std::uint32_t>(rank), id}) == Insertion::no_place) {
            return colliding_merges(where);
        }
        crosses_into_meta_space =
            crosses_into_meta_space || (!left.ends_with(kMetaSpace) && right.starts_with(kMetaSpace));
    }
    model.splits_at_meta_space_ = !options.has_byte_symbols && !options.ignore_merges && !crosses_into_meta_space &&
                                  vocabulary.find_in_model(kMetaSpace) >= 0;
    return model;
}

// SentencePiece joins any two neighbours whose joint spelling is a piece, so every way to cut a piece in two symbols is
// a merge; pieces of one score merge from the left, so they share a rank.
Result<BpeModel> BpeModel::from_scores(const Vocabulary& vocabulary, const BpeOptions& options,
                                       std::span<const float> scores, std::string_view where) {
    BpeModel model(vocabulary, options);
    model.find_symbols();
    const auto is_piece = [&](TokenId id) {
        return vocabulary.contains(id) && !vocabulary.has(id, kTokenSpecial | kTokenByte | kTokenUnknown);
    };
    std::vector<TokenId> pieces;
    std::size_t cut_count = 0;
    for (std::size_t i = 0; i < vocabulary.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (!is_piece(id)) continue;
        if (std::isnan(scores[i])) {
            return error(StatusCode::corrupt_file, where, ": the piece ", id, " has a score that is no number");
        }
        pieces.push_back(id);
        std::size_t characters = 0;
        const std::string_view spelling = vocabulary.spelling(id);
        for (std::size_t at = 0; at < spelling.size(); at += utf8_length(spelling[at])) {
            ++characters;
            // A character inside a piece that is no piece itself still takes part in merging.
            const std::string_view character = spelling.substr(at, utf8_length(spelling[at]));
            if (spelling.size() > character.size() && model.symbol_of(character) < 0) {
                const auto symbol = static_cast<std::int32_t>(vocabulary.size() + model.part_symbols_.size());
                if (character.size() == 1) {
                    model.byte_symbols_[static_cast<unsigned char>(character[0])] = symbol;
                }
                model.part_symbols_.emplace(character, symbol);
            }
        }
        cut_count += characters > 0 ? characters - 1 : 0;
    }
    std::stable_sort(pieces.begin(), pieces.end(), [&](TokenId a, TokenId b) {
        return scores[static_cast<std::size_t>(a)] > scores[static_cast<std::size_t>(b)];
    });
    model.merges_.reserve(cut_count);
    bool crosses_into_meta_space = false;
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const TokenId id = pieces[i];
        if (i > 0 && scores[static_cast<std::size_t>(id)] != scores[static_cast<std::size_t>(pieces[i - 1])]) ++rank;
        const std::string_view spelling = vocabulary.spelling(id);
        const auto symbol = [&](std::string_view part) {
            if (part.size() == utf8_length(part[0])) return model.symbol_of(part);
            const TokenId token = vocabulary.find_in_model(part);
            return is_piece(token) ? token : -1;
        };
        for (std::size_t at = utf8_length(spelling[0]); at < spelling.size(); at += utf8_length(spelling[at])) {
            const std::string_view left = spelling.substr(0, at), right = spelling.substr(at);
            const std::int32_t left_id = symbol(left), right_id = symbol(right);
            if (left_id < 0 || right_id < 0) continue;
            if (model.merges_.insert(left_id, right_id, {rank, id}) == Insertion::no_place)
                return colliding_merges(where);
            crosses_into_meta_space =
                crosses_into_meta_space || (!left.ends_with(kMetaSpace) && right.starts_with(kMetaSpace));
        }
    }
    model.splits_at_meta_space_ = !crosses_into_meta_space && model.symbol_of(kMetaSpace) >= 0;
    return model;
}

}  // namespace mixtura
