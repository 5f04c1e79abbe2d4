#include "tokenizer/template/text.hpp"

#include <algorithm>
#include <cstring>

namespace mixtura {
namespace {

constexpr std::uint32_t kNoCodePoint = 0xFFFFFFFF;

JinjaValue whole(JinjaTextStore* store) {
    JinjaValue value;
    value.kind = JinjaKind::string;
    value.text = store;
    value.size = store->used;
    return value;
}

void start_runs(JinjaTextStore& store, bool is_trusted) {
    store.first_run = {store.used, is_trusted};
    store.runs = &store.first_run;
    store.run_count = 1;
    store.run_capacity = 1;
}

// Makes the bytes from the store's last run to `used` one of the given origin.
bool extend_runs(JinjaRun& run, JinjaTextStore& store, bool is_trusted) {
    if (store.run_count > 0 && store.runs[store.run_count - 1].is_trusted == is_trusted) {
        store.runs[store.run_count - 1].end = store.used;
        return true;
    }
    if (store.run_count == store.run_capacity) {
        const std::uint32_t capacity = std::max<std::uint32_t>(4, store.run_capacity * 2);
        auto* runs = run.make<JinjaTextRun>(capacity);
        if (runs == nullptr) return false;
        std::copy_n(store.runs, store.run_count, runs);
        store.runs = runs;
        store.run_capacity = capacity;
    }
    store.runs[store.run_count++] = {store.used, is_trusted};
    return true;
}

// A store of its own bytes, empty, with room for `capacity`.
JinjaTextStore* make_store(JinjaRun& run, std::size_t capacity) {
    auto* store = run.make<JinjaTextStore>();
    if (store == nullptr) return nullptr;
    store->writable = run.make_bytes(capacity);
    if (store->writable == nullptr) return nullptr;
    store->bytes = store->writable;
    store->capacity = static_cast<std::uint32_t>(capacity);
    start_runs(*store, true);
    store->run_count = 0;
    return store;
}

// Appends where there is room already.
bool append_piece(JinjaRun& run, JinjaTextStore& store, JinjaPiece piece) {
    if (piece.bytes.empty()) return true;
    std::memcpy(store.writable + store.used, piece.bytes.data(), piece.bytes.size());
    store.used += static_cast<std::uint32_t>(piece.bytes.size());
    return extend_runs(run, store, piece.is_trusted);
}

// Half as much again: what is copied and thrown away while a text grows stays under twice its size.
std::size_t grown(JinjaRun& run, std::size_t needed) {
    return std::max(needed, std::min(needed + needed / 2 + 32, run.bytes_max()));
}

}  // namespace

bool jinja_borrow(JinjaRun& run, std::string_view bytes, bool is_trusted, JinjaValue& out) {
    if (bytes.size() > run.bytes_max()) return run.out_of_memory();
    auto* store = run.make<JinjaTextStore>();
    if (store == nullptr) return false;
    store->bytes = bytes.empty() ? "" : bytes.data();  // never null, which C's functions do not take
    store->used = static_cast<std::uint32_t>(bytes.size());
    start_runs(*store, is_trusted);
    out = whole(store);
    return true;
}

bool jinja_copy(JinjaRun& run, std::string_view bytes, bool is_trusted, JinjaValue& out) {
    JinjaTextBuilder builder(run);
    return builder.append(bytes, is_trusted) && builder.finish(out);
}

JinjaPieces::JinjaPieces(const JinjaValue& text)
    : store_(text.text), at_(text.offset), end_(text.offset + text.size), run_(0) {
    const auto* first = store_->runs;
    const auto* last = first + store_->run_count;
    const auto* found =
        std::upper_bound(first, last, at_, [](std::uint32_t at, const JinjaTextRun& r) { return at < r.end; });
    run_ = static_cast<std::uint32_t>(found - first);
}

bool JinjaPieces::next(JinjaPiece& piece) {
    if (at_ == end_) return false;
    const JinjaTextRun& run = store_->runs[run_++];
    const std::uint32_t stop = std::min(run.end, end_);
    piece = {std::string_view(store_->bytes + at_, stop - at_), run.is_trusted};
    at_ = stop;
    return true;
}

bool is_wholly_trusted(const JinjaValue& text) {
    JinjaPieces pieces(text);
    for (JinjaPiece piece; pieces.next(piece);) {
        if (!piece.is_trusted) return false;
    }
    return true;
}

JinjaCharacters::JinjaCharacters(const JinjaValue& text)
    : pieces_(text), begin_(jinja_text(text).data()), end_(begin_ + text.size) {
    bytes_ = std::string_view(begin_, 0);
    piece_.bytes = bytes_;
}

bool JinjaCharacters::next() {
    const char* at = bytes_.data() + bytes_.size();
    if (at == end_) return false;
    const std::string_view rest(at, static_cast<std::size_t>(end_ - at));
    const std::size_t length = utf8_sequence_bytes(rest);
    is_well_formed_ = length != 0;
    bytes_ = rest.substr(0, std::max<std::size_t>(length, 1));
    while (at >= piece_.bytes.data() + piece_.bytes.size() && pieces_.next(piece_)) {
    }
    is_trusted_ = piece_.is_trusted;
    // A character that reaches into other pieces (a caller's broken byte joined with another's) is no more than data.
    while (bytes_.data() + bytes_.size() > piece_.bytes.data() + piece_.bytes.size() && pieces_.next(piece_)) {
        is_trusted_ = is_trusted_ && piece_.is_trusted;
    }
    return true;
}

std::uint32_t JinjaCharacters::code_point() const { return is_well_formed_ ? jinja_code_point(bytes_) : kNoCodePoint; }

std::string_view jinja_first_character(std::string_view bytes) {
    return bytes.substr(0, std::max<std::size_t>(utf8_sequence_bytes(bytes), 1));
}

std::string_view jinja_last_character(std::string_view bytes) {
    for (std::size_t length = std::min<std::size_t>(4, bytes.size()); length > 1; --length) {
        const std::string_view tail = bytes.substr(bytes.size() - length);
        if (utf8_sequence_bytes(tail) == length) return tail;
    }
    return bytes.substr(bytes.size() - 1);
}

std::uint32_t jinja_code_point(std::string_view character) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
    const std::size_t length = utf8_sequence_bytes(character);
    if (length != character.size()) return kNoCodePoint;
    switch (length) {
        case 1: return at(0);
        case 2: return (at(0) & 0x1F) << 6 | (at(1) & 0x3F);
        case 3: return (at(0) & 0x0F) << 12 | (at(1) & 0x3F) << 6 | (at(2) & 0x3F);
        case 4: return (at(0) & 0x07) << 18 | (at(1) & 0x3F) << 12 | (at(2) & 0x3F) << 6 | (at(3) & 0x3F);
        default: return kNoCodePoint;
    }
}

std::size_t jinja_character_count(std::string_view bytes) {
    std::size_t count = 0;
    for (std::size_t at = 0; at < bytes.size(); ++count) {
        at += std::max<std::size_t>(utf8_sequence_bytes(bytes.substr(at)), 1);
    }
    return count;
}

std::size_t jinja_character_offset(std::string_view bytes, std::size_t index) {
    std::size_t at = 0;
    for (; index > 0 && at < bytes.size(); --index) {
        at += std::max<std::size_t>(utf8_sequence_bytes(bytes.substr(at)), 1);
    }
    return at;
}

std::size_t find_jinja_text(std::string_view whole, std::string_view part, std::size_t from) {
    if (from > whole.size()) return std::string_view::npos;
    if (part.empty()) return from;
    if (part.size() > whole.size() - from)
        return std::string_view::npos;  // an empty text may have no address for memmem
    const void* found =
        ::memmem(whole.data() + from, whole.size() - from, part.data(), part.size());  // two-way: linear
    return found == nullptr ? std::string_view::npos
                            : static_cast<std::size_t>(static_cast<const char*>(found) - whole.data());
}

bool find_last_jinja_text(JinjaRun& run, std::string_view whole, std::string_view part, std::size_t end,
                          std::size_t& at) {
    at = std::string_view::npos;
    if (end > whole.size() || part.size() > end) return true;
    if (!run.step_bytes(end)) return false;
    for (std::size_t place = end - part.size() + 1; place-- > 0;) {
        if (!part.empty() && (whole[place] != part.front() || whole[place + part.size() - 1] != part.back())) continue;
        if (!run.step_bytes(part.size())) return false;
        if (whole.substr(place, part.size()) != part) continue;
        at = place;
        return true;
    }
    return true;
}

std::string_view jinja_encode(std::uint32_t code_point, char (&buffer)[4]) {
    if (code_point > 0x10FFFF || (code_point >= 0xD800 && code_point < 0xE000)) return {};
    std::size_t length = 0;
    const auto put = [&](std::uint32_t byte) {
        buffer[length++] = static_cast<char>(static_cast<unsigned char>(byte));
    };
    if (code_point < 0x80) {
        put(code_point);
    } else if (code_point < 0x800) {
        put(0xC0 | code_point >> 6);
        put(0x80 | (code_point & 0x3F));
    } else if (code_point < 0x10000) {
        put(0xE0 | code_point >> 12);
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    } else {
        put(0xF0 | code_point >> 18);
        put(0x80 | (code_point >> 12 & 0x3F));
        put(0x80 | (code_point >> 6 & 0x3F));
        put(0x80 | (code_point & 0x3F));
    }
    return {buffer, length};
}

bool JinjaTextBuilder::reserve(std::size_t more) {
    const std::size_t needed = size() + more;
    if (needed > bytes_max_) {
        return run_.fail_as(StatusCode::budget_exceeded, "the prompt grows beyond ", bytes_max_, " bytes, the limit");
    }
    if (needed > run_.bytes_max()) return run_.out_of_memory();
    if (store_ == nullptr) {
        store_ = make_store(run_, std::max<std::size_t>(needed, 16));
        return store_ != nullptr;
    }
    if (needed <= store_->capacity) return true;
    const std::size_t capacity = grown(run_, needed);
    char* bytes = run_.make_bytes(capacity);
    if (bytes == nullptr) return false;
    std::memcpy(bytes, store_->bytes, store_->used);
    store_->bytes = store_->writable = bytes;
    store_->capacity = static_cast<std::uint32_t>(capacity);
    return true;
}

bool JinjaTextBuilder::append(std::string_view bytes, bool is_trusted) {
    return run_.step_bytes(bytes.size()) && reserve(bytes.size()) && append_piece(run_, *store_, {bytes, is_trusted});
}

bool JinjaTextBuilder::append(const JinjaValue& text) {
    if (!run_.step_bytes(text.size) || !reserve(text.size)) return false;
    JinjaPieces pieces(text);
    for (JinjaPiece piece; pieces.next(piece);) {
        if (!append_piece(run_, *store_, piece)) return false;
    }
    return true;
}

bool JinjaTextBuilder::append_repeated(const JinjaValue& text, std::size_t count) {
    if (text.size == 0 || count == 0) return true;
    if (count > run_.bytes_max() / text.size) return run_.out_of_memory();
    if (!reserve(text.size * count)) return false;
    for (; count > 0; --count) {
        if (!append(text)) return false;
    }
    return true;
}

bool JinjaTextBuilder::finish(JinjaValue& out, bool is_new_text) {
    if (store_ == nullptr) return jinja_borrow(run_, {}, true, out);
    if (is_new_text && store_->run_count > 1) start_runs(*store_, false);
    out = whole(store_);
    return true;
}

bool jinja_concatenate(JinjaRun& run, const JinjaValue& left, const JinjaValue& right, JinjaValue& out) {
    const bool is_markup = left.is_markup || right.is_markup;
    if (left.size == 0 || right.size == 0) {
        out = left.size == 0 ? right : left;
        out.is_markup = is_markup;
        return true;
    }
    const std::size_t size = std::size_t{left.size} + right.size;
    if (!run.step_bytes(right.size)) return false;
    if (size > run.bytes_max()) return run.out_of_memory();
    JinjaTextStore* store = left.text;
    std::uint32_t offset = left.offset;
    if (store->writable == nullptr || store->used != left.offset + left.size ||
        store->capacity - store->used < right.size) {
        if (!run.step_bytes(left.size)) return false;
        store = make_store(run, grown(run, size));
        if (store == nullptr) return false;
        offset = 0;
        JinjaPieces pieces(left);
        for (JinjaPiece piece; pieces.next(piece);) {
            if (!append_piece(run, *store, piece)) return false;
        }
    }
    JinjaPieces pieces(right);  // of the old bytes, should right lie in the same store
    for (JinjaPiece piece; pieces.next(piece);) {
        if (!append_piece(run, *store, piece)) return false;
    }
    out = left;
    out.text = store;
    out.offset = offset;
    out.size = static_cast<std::uint32_t>(size);
    out.is_markup = is_markup;
    return true;
}

}  // namespace mixtura
