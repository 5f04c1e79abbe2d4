#include "tokenizer/unigram.hpp"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "tokenizer/utf8.hpp"

namespace mixtura {
namespace {

constexpr double kUnknownPenalty =
    10.0;  // both references': an unknown character scores the lowest piece's score less 10

}  // namespace

Result<UnigramModel> UnigramModel::create(const Vocabulary& vocabulary, const UnigramOptions& options,
                                          std::span<const double> scores, std::string_view where) {
    UnigramModel model;
    model.vocabulary_ = &vocabulary;
    model.options_ = options;
    model.scores_.assign(scores.begin(), scores.end());
    // SentencePiece takes its bounds from normal pieces and starts the upper one at FLT_MIN; scores are logarithms of
    // probabilities, so FLT_MIN it stays.  The tokenizers library takes every entry.
    double lowest = options.is_sentencepiece ? FLT_MAX : std::numeric_limits<double>::infinity();
    float highest = FLT_MIN;
    std::vector<std::pair<std::string_view, std::int32_t>> entries;
    bool crosses_into_meta_space = false;
    for (std::size_t i = 0; i < vocabulary.size(); ++i) {
        const auto id = static_cast<TokenId>(i);
        if (!vocabulary.contains(id) || vocabulary.spelling(id).empty() || vocabulary.has(id, kTokenOutsideModel))
            continue;
        if (!std::isfinite(scores[i])) {
            return error(StatusCode::corrupt_file, where, ": the piece ", id, " has a score that is no finite number");
        }
        const std::string_view spelling = vocabulary.spelling(id);
        if (options.is_sentencepiece) {
            if (vocabulary.has(id, kTokenSpecial | kTokenByte | kTokenUnknown)) continue;
            if (!vocabulary.has(id, kTokenUserDefined | kTokenUnused)) {
                lowest = std::min(lowest, scores[i]);
                highest = std::max(highest, static_cast<float>(scores[i]));
            }
            if (vocabulary.has(id, kTokenUnused)) continue;
        } else {
            lowest = std::min(lowest, scores[i]);
        }
        for (std::size_t at = spelling.find(kMetaSpace, 1); at != std::string_view::npos;
             at = spelling.find(kMetaSpace, at + 1)) {
            crosses_into_meta_space = crosses_into_meta_space || !spelling.substr(0, at).ends_with(kMetaSpace);
        }
        entries.emplace_back(spelling, id);
    }
    if (entries.empty()) return error(StatusCode::corrupt_file, where, ": the vocabulary has no pieces");
    model.pieces_ = ByteTrie(std::move(entries));
    model.unknown_score_ = options.is_sentencepiece
                               ? static_cast<double>(static_cast<float>(lowest) - static_cast<float>(kUnknownPenalty))
                               : lowest - kUnknownPenalty;
    model.user_defined_score_ = highest;
    model.splits_at_meta_space_ = !crosses_into_meta_space;
    for (unsigned byte = 0; byte < 256; ++byte) {
        model.byte_tokens_[byte] = vocabulary.find_in_model(byte_token_spelling(byte));
    }
    return model;
}

// best[e] = max over pieces p that end at e of best[e − |p|] + score(p); an unknown character where no piece is exactly
// one.
template <bool kIsSentencePiece>
void UnigramModel::find_path(const Word& word, UnigramScratch& scratch) const {
    const std::string_view text = word.text;
    scratch.nodes.assign(text.size() + 1, {});
    scratch.nodes[0].score = kIsSentencePiece ? static_cast<double>(scratch.score_so_far) : 0;
    const auto offer = [&](std::size_t begin, std::size_t end, TokenId id, double piece_score) {
        const double score_here = scratch.nodes[begin].score;
        const double sum = piece_score + score_here;
        const double score = kIsSentencePiece ? static_cast<double>(static_cast<float>(sum)) : sum;
        UnigramScratch::Node& node = scratch.nodes[end];
        if (node.begin >= 0 && !(score > node.score)) return;
        node = {score, static_cast<std::int32_t>(begin), id};
    };
    for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t character = std::min(utf8_length(text[begin]), text.size() - begin);
        bool has_single = false;
        pieces_.for_each_prefix(text.substr(begin), [&](std::size_t length, TokenId id) {
            if (word.trust != nullptr && vocabulary_->has(id, kTokenMarker | kTokenUnknown) &&
                word.touches_untrusted(begin, begin + length)) {
                return;
            }
            double score = scores_[static_cast<std::size_t>(id)];
            if (kIsSentencePiece && vocabulary_->has(id, kTokenUserDefined)) {
                // So that the whole symbol is taken: better than nearly every sum of its parts.
                score = static_cast<double>(static_cast<float>(length) * user_defined_score_) - 0.1;
            }
            offer(begin, begin + length, id, score);
            has_single = has_single || length == character;
        });
        if (!has_single) offer(begin, begin + character, options_.unk, unknown_score_);
        begin += character;
    }
}

void UnigramModel::write_bytes_or_unknown(std::string_view characters, std::vector<TokenId>& out) const {
    const bool has_all = options_.byte_fallback && std::all_of(characters.begin(), characters.end(), [&](char c) {
                             return byte_tokens_[static_cast<unsigned char>(c)] >= 0;
                         });
    if (!has_all) {
        out.push_back(options_.unk);
        return;
    }
    for (const char c : characters) out.push_back(byte_tokens_[static_cast<unsigned char>(c)]);
}

Status UnigramModel::encode(const Word& word, UnigramScratch& scratch, std::vector<TokenId>& out) const {
    if (word.text.empty()) return {};
    if (options_.is_sentencepiece) {
        find_path<true>(word, scratch);
    } else {
        find_path<false>(word, scratch);
    }
    scratch.path.clear();
    for (std::size_t end = word.text.size(); end > 0;) {
        const UnigramScratch::Node& node = scratch.nodes[end];
        scratch.path.push_back({static_cast<std::size_t>(node.begin), end, node.id});
        end = static_cast<std::size_t>(node.begin);
    }
    scratch.score_so_far = static_cast<float>(scratch.nodes[word.text.size()].score);
    for (std::size_t i = scratch.path.size(); i-- > 0;) {
        const UnigramScratch::Step& step = scratch.path[i];
        if (step.id >= 0 && step.id != options_.unk) {
            out.push_back(step.id);
            scratch.is_after_unknown = false;
            continue;
        }
        const std::string_view characters = word.text.substr(step.begin, step.end - step.begin);
        if (options_.unk < 0) {
            return error(StatusCode::unsupported, "the vocabulary has no unknown token for ", quoted(characters));
        }
        if (options_.is_sentencepiece) {
            if (options_.byte_fallback) {
                write_bytes_or_unknown(characters, out);
            } else if (!scratch.is_after_unknown) {
                out.push_back(options_.unk);
            }
            scratch.is_after_unknown = true;
            continue;
        }
        // The tokenizers library joins a run of unknown characters and looks their joint spelling up once more.
        const std::size_t begin = step.begin;
        while (i > 0 && scratch.path[i - 1].id == options_.unk) --i;
        const std::size_t end = scratch.path[i].end;
        const std::string_view run = word.text.substr(begin, end - begin);
        const TokenId token = vocabulary_->find_in_model(run);
        const bool is_allowed = token >= 0 && !(vocabulary_->has(token, kTokenMarker | kTokenUnknown) &&
                                                word.touches_untrusted(begin, end));
        if (is_allowed) {
            out.push_back(token);
        } else {
            write_bytes_or_unknown(run, out);
        }
    }
    return {};
}

}  // namespace mixtura
