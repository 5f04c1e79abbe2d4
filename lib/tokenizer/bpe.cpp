// The order of merges is the references': lowest rank first, then the leftmost.  Short words scan all their pairs for
// the next merge (a word of 12 symbols needs a few dozen comparisons, all in cache); long ones keep a heap.
#include "tokenizer/bpe.hpp"

#include <algorithm>
#include <limits>

#include "tokenizer/byte_alphabet.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kShortSymbols = 48;
constexpr std::uint32_t kNoRank = std::numeric_limits<std::uint32_t>::max();

// Heap order: std::push_heap keeps the largest on top, so "less" means "merges later".
bool merges_later(const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
}

}  // namespace

bool BpeModel::is_allowed(std::int32_t symbol, const Word& word, std::size_t begin, std::size_t end) const noexcept {
    if (word.trust == nullptr || static_cast<std::size_t>(symbol) >= vocabulary_->size()) return true;
    return !vocabulary_->has(symbol, kTokenMarker | kTokenUnknown) || !word.touches_untrusted(begin, end);
}

std::int32_t BpeModel::symbol_of(std::string_view character) const noexcept {
    if (character.size() == 1) return byte_symbols_[static_cast<unsigned char>(character[0])];
    const TokenId token = vocabulary_->find_in_model(character);
    const bool is_reserved =
        token >= 0 && options_.is_sentencepiece && vocabulary_->has(token, kTokenSpecial | kTokenByte | kTokenUnknown);
    if (token >= 0 && !is_reserved) return token;
    if (part_symbols_.empty()) return -1;
    const auto part = part_symbols_.find(std::string(character));
    return part == part_symbols_.end() ? -1 : part->second;
}

// Symbols of the word before any merge.  The order in which unknown tokens come out is the reference's own.
void BpeModel::start_symbols(const Word& word, BpeScratch& scratch) const {
    scratch.symbols.clear();
    bool is_unknown_open = false;  // an unknown token waits for what follows it
    BpeScratch::Symbol unknown{options_.unk, 0, 0};
    const auto close_unknown = [&] {
        if (is_unknown_open) scratch.symbols.push_back(unknown);
        is_unknown_open = false;
    };
    for (std::size_t at = 0; at < word.text.size();) {
        const std::size_t length =
            options_.has_byte_symbols ? 1 : std::min(utf8_length(word.text[at]), word.text.size() - at);
        const auto begin = static_cast<std::uint32_t>(at), end = static_cast<std::uint32_t>(at + length);
        at = end;
        std::int32_t symbol = symbol_of(word.text.substr(begin, length));
        if (symbol >= 0 && !is_allowed(symbol, word, begin, end)) symbol = -1;
        if (symbol >= 0 || options_.is_sentencepiece) {
            close_unknown();
            scratch.symbols.push_back({symbol, begin, end});
            continue;
        }
        if (options_.byte_fallback) {
            const auto token = [&](std::uint32_t i) { return byte_tokens_[static_cast<unsigned char>(word.text[i])]; };
            bool has_all = true;
            for (std::uint32_t i = begin; i < end; ++i) has_all = has_all && token(i) >= 0;
            if (has_all) {
                for (std::uint32_t i = begin; i < end; ++i) scratch.symbols.push_back({token(i), i, i + 1});
                continue;
            }
        }
        if (options_.unk < 0) continue;
        if (is_unknown_open && options_.fuse_unk) {
            unknown.end = end;
        } else {
            close_unknown();
            unknown = {options_.unk, begin, end};
            is_unknown_open = true;
        }
    }
    close_unknown();
}

const Merge* BpeModel::candidate(const Word& word, const BpeScratch::Symbol& left, const BpeScratch::Symbol& right,
                                 BpeScratch& scratch) const {
    if (left.id < 0 || right.id < 0) return nullptr;
    const Merge* merge = merges_.find(left.id, right.id);
    if (merge == nullptr || !is_allowed(merge->symbol, word, left.begin, right.end)) return nullptr;
    if (has_unused_ && vocabulary_->has(merge->symbol, kTokenUnused)) {
        scratch.unused_parts[merge->symbol] = {left.id, right.id};
    }
    return merge;
}

void BpeModel::merge_short(const Word& word, BpeScratch& scratch) const {
    std::vector<BpeScratch::Symbol>& symbols = scratch.symbols;
    std::size_t count = symbols.size();
    std::array<Merge, kShortSymbols> merges;  // [i]: of symbols i and i + 1
    const auto look_up = [&](std::size_t i) {
        const Merge* merge = candidate(word, symbols[i], symbols[i + 1], scratch);
        merges[i] = merge == nullptr ? Merge{kNoRank, -1} : *merge;
    };
    for (std::size_t i = 0; i + 1 < count; ++i) look_up(i);
    while (count > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < count; ++i) {
            if (merges[i].rank < merges[best].rank) best = i;
        }
        if (merges[best].rank == kNoRank) break;
        symbols[best].id = merges[best].symbol;
        symbols[best].end = symbols[best + 1].end;
        --count;
        for (std::size_t i = best + 1; i < count; ++i) symbols[i] = symbols[i + 1];
        for (std::size_t i = best + 1; i + 1 < count; ++i) merges[i] = merges[i + 1];
        if (best > 0) look_up(best - 1);
        if (best + 1 < count) look_up(best);
    }
    symbols.resize(count);
}

void BpeModel::merge_long(const Word& word, BpeScratch& scratch) const {
    std::vector<BpeScratch::Symbol>& symbols = scratch.symbols;
    std::vector<BpeScratch::Candidate>& heap = scratch.heap;
    std::vector<BpeScratch::Link>& links = scratch.links;
    const auto count = static_cast<std::int32_t>(symbols.size());
    links.resize(symbols.size());
    heap.clear();
    const auto offer = [&](std::int32_t left, std::int32_t right) {
        const Merge* merge =
            candidate(word, symbols[static_cast<std::size_t>(left)], symbols[static_cast<std::size_t>(right)], scratch);
        if (merge == nullptr) return false;
        heap.push_back({merge->rank, static_cast<std::uint32_t>(left), merge->symbol});
        return true;
    };
    for (std::int32_t i = 0; i < count; ++i) {
        links[static_cast<std::size_t>(i)] = {i - 1, i + 1 < count ? i + 1 : -1};
        if (i + 1 < count) offer(i, i + 1);
    }
    std::make_heap(heap.begin(), heap.end(), merges_later);
    while (!heap.empty()) {
        const BpeScratch::Candidate top = heap.front();
        std::pop_heap(heap.begin(), heap.end(), merges_later);
        heap.pop_back();
        BpeScratch::Symbol& left = symbols[top.at];
        const std::int32_t next = links[top.at].next;
        if (left.begin == left.end || next < 0) continue;  // merged away, or nothing to its right
        BpeScratch::Symbol& right = symbols[static_cast<std::size_t>(next)];
        const Merge* now = left.id < 0 || right.id < 0 ? nullptr : merges_.find(left.id, right.id);
        if (now == nullptr || now->symbol != top.symbol) continue;  // one of the two has merged since
        left.id = top.symbol;
        left.end = right.end;
        right.begin = right.end;  // marks it as merged away
        const std::int32_t after = links[static_cast<std::size_t>(next)].next;
        links[top.at].next = after;
        if (after >= 0) links[static_cast<std::size_t>(after)].previous = static_cast<std::int32_t>(top.at);
        const std::int32_t before = links[top.at].previous;
        if (before >= 0 && offer(before, static_cast<std::int32_t>(top.at))) {
            std::push_heap(heap.begin(), heap.end(), merges_later);
        }
        if (after >= 0 && offer(static_cast<std::int32_t>(top.at), after)) {
            std::push_heap(heap.begin(), heap.end(), merges_later);
        }
    }
    std::erase_if(symbols, [](const BpeScratch::Symbol& symbol) { return symbol.begin == symbol.end; });
}

void BpeModel::write(const Word& word, BpeScratch& scratch, std::vector<TokenId>& out) const {
    const auto vocabulary_size = static_cast<std::int32_t>(vocabulary_->size());
    bool is_after_unknown = false;
    for (const BpeScratch::Symbol& symbol : scratch.symbols) {
        if (symbol.id >= 0 && symbol.id < vocabulary_size &&
            !(has_unused_ && vocabulary_->has(symbol.id, kTokenUnused))) {
            out.push_back(symbol.id);
            is_after_unknown = false;
            continue;
        }
        // SentencePiece: an unused piece falls apart into the pair it was last seen as, and those likewise.
        std::vector<std::int32_t> parts{symbol.id};
        while (!parts.empty()) {
            const std::int32_t part = parts.back();
            parts.pop_back();
            if (part >= 0 && part < vocabulary_size) {
                const auto halves = scratch.unused_parts.find(part);
                if (!vocabulary_->has(part, kTokenUnused) || halves == scratch.unused_parts.end()) {
                    out.push_back(part);
                    is_after_unknown = false;
                } else {
                    parts.push_back(halves->second.second);
                    parts.push_back(halves->second.first);
                }
                continue;
            }
            if (options_.byte_fallback) {
                for (std::uint32_t i = symbol.begin; i < symbol.end; ++i) {
                    out.push_back(byte_tokens_[static_cast<unsigned char>(word.text[i])]);
                }
            } else if (options_.unk >= 0 && !is_after_unknown) {
                out.push_back(options_.unk);
            }
            is_after_unknown = true;
        }
    }
}

void BpeModel::encode(const Word& word, BpeScratch& scratch, std::vector<TokenId>& out) const {
    if (word.text.empty()) return;
    if (options_.ignore_merges) {
        std::string_view spelling = word.text;
        if (options_.has_byte_symbols) {
            scratch.spelling.clear();
            append_byte_letters(scratch.spelling, word.text);
            spelling = scratch.spelling;
        }
        const TokenId token = vocabulary_->find_in_model(spelling);
        if (token >= 0 && is_allowed(token, word, 0, word.text.size())) {
            out.push_back(token);
            return;
        }
    }
    start_symbols(word, scratch);
    if (has_unused_) scratch.unused_parts.clear();
    if (scratch.symbols.size() <= kShortSymbols) {
        merge_short(word, scratch);
    } else {
        merge_long(word, scratch);
    }
    write(word, scratch, out);
}

}  // namespace mixtura
