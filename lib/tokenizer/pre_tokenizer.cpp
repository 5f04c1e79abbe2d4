#include "tokenizer/pre_tokenizer.hpp"

#include "base/error.hpp"
#include "tokenizer/byte_alphabet.hpp"

namespace mixtura {

using Piece = PreTokenizer::Scratch::Piece;

namespace {

// The reference's rules for joining matches to what lies beside them, on the list of all pieces in order.
void join(SplitBehavior behavior, std::vector<Piece>& pieces) {
    std::size_t kept = 0;
    bool was_match = false;
    switch (behavior) {
        case SplitBehavior::contiguous:
            for (const Piece piece : pieces) {
                if (piece.is_match == was_match && kept > 0) {
                    pieces[kept - 1].end = piece.end;
                } else {
                    pieces[kept++] = piece;
                }
                was_match = piece.is_match;
            }
            break;
        case SplitBehavior::merged_with_previous:
            for (const Piece piece : pieces) {
                if (piece.is_match && !was_match && kept > 0) {
                    pieces[kept - 1].end = piece.end;
                } else {
                    pieces[kept++] = piece;
                }
                was_match = piece.is_match;
            }
            break;
        default: {  // merged_with_next: the same from the other end
            std::size_t first = pieces.size();
            for (std::size_t i = pieces.size(); i-- > 0;) {
                const Piece piece = pieces[i];
                if (piece.is_match && !was_match && first < pieces.size()) {
                    pieces[first].begin = piece.begin;
                } else {
                    pieces[--first] = piece;
                }
                was_match = piece.is_match;
            }
            pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(first));
            return;
        }
    }
    pieces.resize(kept);
}

}  // namespace

struct PreTokenizer::Call {
    Scratch& scratch;
    WordSink& sink;
    std::size_t bytes_max;  // of a piece
};

Status PreTokenizer::run(const Word& text, bool is_at_start, Scratch& scratch, WordSink& sink) const {
    if (scratch.levels.size() < stages.size()) scratch.levels.resize(stages.size());
    return run_from(0, text, is_at_start, Call{scratch, sink, expanded_bytes_max(text.text.size())});
}

Status PreTokenizer::run_from(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const {
    if (piece.text.empty()) return {};
    if (index == stages.size()) return call.sink.take(piece);
    if (stages[index].kind == PreTokenizeStage::Kind::split) return split(index, piece, is_at_start, call);
    return rewrite(index, piece, is_at_start, call);
}

Status PreTokenizer::split(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const {
    const PreTokenizeStage& stage = stages[index];
    const auto hand_on = [&](std::size_t begin, std::size_t end) {
        return run_from(index + 1, piece.part(begin, end), is_at_start && begin == 0, call);
    };
    const bool is_joined = stage.behavior != SplitBehavior::isolated && stage.behavior != SplitBehavior::removed;
    std::vector<Piece>& pieces = call.scratch.levels[index].pieces;
    pieces.clear();
    const auto found = [&](std::size_t begin, std::size_t end, bool is_match) {
        if (is_joined) {
            pieces.push_back({begin, end, is_match});
            return Status();
        }
        if (stage.behavior == SplitBehavior::removed && is_match) return Status();
        return hand_on(begin, end);
    };
    std::size_t done = 0;
    const auto match = [&](std::size_t begin, std::size_t end) -> Status {
        if (done != begin) MIXTURA_RETURN_IF_ERROR(found(done, begin, stage.inverts));
        done = end;
        return found(begin, end, !stage.inverts);
    };
    MIXTURA_RETURN_IF_ERROR(stage.pattern->for_each_match(piece.text, call.scratch.regex, match));
    if (done != piece.text.size()) MIXTURA_RETURN_IF_ERROR(found(done, piece.text.size(), stage.inverts));
    if (!is_joined) return {};
    join(stage.behavior, pieces);
    for (std::size_t i = 0; i < pieces.size(); ++i) MIXTURA_RETURN_IF_ERROR(hand_on(pieces[i].begin, pieces[i].end));
    return {};
}

Status PreTokenizer::rewrite(std::size_t index, const Word& piece, bool is_at_start, const Call& call) const {
    const PreTokenizeStage& stage = stages[index];
    TracedText& out = call.scratch.levels[index].text;
    out.bytes.clear();
    out.trust.clear();
    const auto append = [&](std::string_view bytes, char trust) {
        out.bytes += bytes;
        if (piece.trust != nullptr) out.trust.append(bytes.size(), trust);
    };
    const auto trust_at = [&](std::size_t at) { return piece.trust != nullptr ? piece.trust[at] : '\1'; };
    switch (stage.kind) {
        case PreTokenizeStage::Kind::prefix_space:
            if (piece.text[0] == ' ') return run_from(index + 1, piece, is_at_start, call);
            append(" ", '\1');
            out.bytes += piece.text;
            if (piece.trust != nullptr) out.trust.append(piece.trust, piece.text.size());
            break;
        case PreTokenizeStage::Kind::meta_space: {
            const bool has_prefix = piece.text[0] == ' ' || piece.text.starts_with(stage.content);
            const bool wants_prefix = stage.scheme == PreTokenizeStage::Scheme::always ||
                                      (stage.scheme == PreTokenizeStage::Scheme::first && is_at_start);
            if (wants_prefix && !has_prefix) append(stage.content, '\1');
            for (std::size_t at = 0; at < piece.text.size(); ++at) {
                append(piece.text[at] == ' ' ? std::string_view(stage.content) : piece.text.substr(at, 1),
                       trust_at(at));
            }
            break;
        }
        default:  // byte_letters
            for (std::size_t at = 0; at < piece.text.size(); ++at) {
                const std::size_t before = out.bytes.size();
                append_byte_letters(out.bytes, piece.text.substr(at, 1));
                if (piece.trust != nullptr) out.trust.append(out.bytes.size() - before, trust_at(at));
            }
            break;
    }
    MIXTURA_RETURN_IF_ERROR(check_expansion(out.bytes.size(), call.bytes_max));
    // The next stage may rewrite too, but into its own level.
    return run_from(index + 1, out.word(), is_at_start, call);
}

}  // namespace mixtura
