// The public object: which file a path means, and the calls on what was read.
#include <mixtura/tokenizer.hpp>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "formats/file_kind.hpp"
#include "memory/file.hpp"
#include "tokenizer/charsmap.hpp"
#include "tokenizer/encode.hpp"
#include "tokenizer/read.hpp"
#include "tokenizer/state.hpp"

namespace mixtura {
namespace {

constexpr std::uint64_t kFileBytesMax = 256 << 20;  // the largest published tokenizer.json has 33 MB
constexpr std::size_t kTextBytesMax =
    std::numeric_limits<std::int32_t>::max() / 4;  // positions are 32-bit, spaces grow to 3 bytes

// Meta's and others' tokenizer.model of this name: a line for each token, its bytes in base64 and its rank.
bool is_tiktoken(std::string_view bytes) {
    const std::string_view line = bytes.substr(0, bytes.find('\n'));
    const std::size_t space = line.find(' ');
    return space != std::string_view::npos && space > 0 && decode_base64(line.substr(0, space)) &&
           parse_integer<std::uint32_t>(line.substr(space + 1));
}

Result<StatePointer> read_lone_file(const std::string& path) {
    MIXTURA_ASSIGN_OR_RETURN(const std::shared_ptr<const File> file, File::open(path));
    MIXTURA_ASSIGN_OR_RETURN(const FileKindFacts facts, file_kind(*file));
    switch (facts.kind) {
        case FileKind::gguf: {
            MIXTURA_ASSIGN_OR_RETURN(const GgufHeader header, GgufHeader::read(*file));
            return read_gguf_vocabulary(header, path);
        }
        case FileKind::safetensors:
            return error(StatusCode::unknown_format, quoted(path, 400),
                         " holds weights; its vocabulary lies beside it");
        case FileKind::foreign: return error(StatusCode::unknown_format, quoted(path, 400), ' ', facts.what);
        case FileKind::json: {
            MIXTURA_ASSIGN_OR_RETURN(const std::string json, read_whole_file(path, kFileBytesMax));
            return read_tokenizer_json(json, path);
        }
        case FileKind::unknown: break;
    }
    MIXTURA_ASSIGN_OR_RETURN(const std::string bytes, read_whole_file(path, kFileBytesMax));
    if (is_tiktoken(bytes)) {
        return error(StatusCode::unsupported, quoted(path, 400),
                     ": a tiktoken vocabulary is not supported, since it "
                     "lacks the pattern that splits words; use the tokenizer.json of the same checkpoint");
    }
    return read_sentencepiece_model(bytes, path);
}

Result<StatePointer> read_folder(const std::string& folder) {
    for (const char* name : {"tokenizer.json", "tokenizer.model", "spiece.model"}) {
        const std::string path = folder + "/" + name;
        Result<StatePointer> state = read_lone_file(path);
        if (!state && state.status().code() == StatusCode::not_found) continue;
        if (!state) return state;
        MIXTURA_RETURN_IF_ERROR(read_folder_settings(folder, **state));
        return state;
    }
    return error(StatusCode::not_found, quoted(folder, 400), " holds neither a tokenizer.json nor a tokenizer.model");
}

Result<StatePointer> read_state(const std::string& path) {
    std::error_code failure;
    return std::filesystem::is_directory(path, failure) ? read_folder(path) : read_lone_file(path);
}

}  // namespace

Result<Tokenizer> Tokenizer::open(const std::string& path) noexcept {
    return without_exceptions([&]() -> Result<Tokenizer> {
        MIXTURA_ASSIGN_OR_RETURN(const StatePointer state, read_state(path));
        // A vocabulary alone names no ends, and a text's end is not always a turn's.
        if (state->end_tokens.empty()) find_end_tokens(*state);
        if (state->special.bos < 0 && !state->front.empty()) state->special.bos = state->front.front();
        MIXTURA_RETURN_IF_ERROR(finish_state(*state));
        return Tokenizer(state);
    });
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const noexcept {
    return without_exceptions([&]() -> Result<std::vector<TokenId>> {
        if (text.size() > kTextBytesMax) {
            return error(StatusCode::invalid_argument, "the text has ", text.size(), " bytes, at most ", kTextBytesMax,
                         " are encoded at once");
        }
        std::vector<TokenId> ids;
        ids.reserve(text.size() / 4 + 8);
        if (options.add_bos == AddBos::yes && state_->special.bos < 0) {
            return error(StatusCode::invalid_argument, "this vocabulary names no beginning-of-text token to add");
        }
        const bool adds_own = options.add_bos != AddBos::no;
        const bool has_bos =
            std::find(state_->front.begin(), state_->front.end(), state_->special.bos) != state_->front.end();
        if (options.add_bos == AddBos::yes && !has_bos) ids.push_back(state_->special.bos);
        if (adds_own) ids.insert(ids.end(), state_->front.begin(), state_->front.end());
        Encoder encoder(*state_, options.added_tokens, text.size());
        MIXTURA_RETURN_IF_ERROR(encoder.encode({text, nullptr}, ids));
        if (adds_own) ids.insert(ids.end(), state_->back.begin(), state_->back.end());
        return ids;
    });
}

Result<std::vector<TokenId>> Tokenizer::encode_spans(std::span<const TextSpan> spans) const noexcept {
    return without_exceptions([&]() -> Result<std::vector<TokenId>> {
        std::size_t bytes = 0;
        for (const TextSpan& span : spans) {
            if (span.text.size() > kTextBytesMax - std::min(bytes, kTextBytesMax)) {
                return error(StatusCode::invalid_argument, "the prompt has more than ", kTextBytesMax, " bytes");
            }
            bytes += span.text.size();
        }
        TracedText prompt;
        prompt.bytes.reserve(bytes);
        prompt.trust.reserve(bytes);
        for (const TextSpan& span : spans) {
            prompt.bytes += span.text;
            prompt.trust.append(span.text.size(), span.is_trusted ? '\1' : '\0');
        }
        std::vector<TokenId> ids = state_->front;
        const std::size_t front = ids.size();
        Encoder encoder(*state_, AddedTokens::all, bytes);
        MIXTURA_RETURN_IF_ERROR(encoder.encode(prompt.word(), ids));
        // The template spelled what the vocabulary would add: once is enough.
        const bool is_doubled = front > 0 && ids.size() >= 2 * front &&
                                std::equal(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(front),
                                           ids.begin() + static_cast<std::ptrdiff_t>(front));
        if (is_doubled) ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(front));
        return ids;
    });
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, const DecodeOptions& options) const noexcept {
    return without_exceptions([&]() -> Result<std::string> {
        std::string out;
        DecodeRun run(state_->decode, state_->vocabulary, options.skip_special);
        for (const TokenId id : ids) {
            if (id < 0 || static_cast<std::size_t>(id) >= size()) {
                return error(StatusCode::out_of_range, "the token id ", id, " is not in [0, ", size(), ')');
            }
            MIXTURA_RETURN_IF_ERROR(run.push(id, out));
        }
        MIXTURA_RETURN_IF_ERROR(run.finish(out));
        return out;
    });
}

Result<std::string> Tokenizer::token_bytes(TokenId id) const noexcept {
    return without_exceptions([&]() -> Result<std::string> {
        if (id < 0 || static_cast<std::size_t>(id) >= size()) {
            return error(StatusCode::out_of_range, "the token id ", id, " is not in [0, ", size(), ')');
        }
        return bytes_of_token(state_->decode, state_->vocabulary, id);
    });
}

std::string_view Tokenizer::kind() const noexcept { return state_->kind; }
std::string_view Tokenizer::source() const noexcept { return state_->source; }
std::size_t Tokenizer::size() const noexcept { return state_->vocabulary.size(); }
std::string_view Tokenizer::token_text(TokenId id) const noexcept {
    return state_->vocabulary.contains(id) ? state_->vocabulary.spelling(id) : std::string_view();
}
TokenId Tokenizer::find(std::string_view token_text) const noexcept { return state_->vocabulary.find(token_text); }
const SpecialTokens& Tokenizer::special_tokens() const noexcept { return state_->special; }
std::span<const TokenId> Tokenizer::end_tokens() const noexcept { return state_->end_tokens; }
bool Tokenizer::is_end(TokenId id) const noexcept {
    return std::binary_search(state_->end_tokens.begin(), state_->end_tokens.end(), id);
}
bool Tokenizer::is_special(TokenId id) const noexcept {
    return state_->vocabulary.contains(id) && state_->vocabulary.has(id, kTokenSpecial);
}
bool Tokenizer::is_added(TokenId id) const noexcept {
    return state_->vocabulary.contains(id) && state_->vocabulary.has(id, kTokenAdded);
}
bool Tokenizer::adds_bos() const noexcept {
    return state_->special.bos >= 0 &&
           std::find(state_->front.begin(), state_->front.end(), state_->special.bos) != state_->front.end();
}

struct StreamDecoder::Impl {
    std::shared_ptr<const Tokenizer::State> state;
    DecodeRun run;
    std::string text;
};

StreamDecoder::StreamDecoder(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

Result<StreamDecoder> StreamDecoder::create(const Tokenizer& tokenizer, const DecodeOptions& options) noexcept {
    return without_exceptions([&]() -> Result<StreamDecoder> {
        const std::shared_ptr<const Tokenizer::State>& state = tokenizer.state_;
        return StreamDecoder(std::unique_ptr<Impl>(
            new Impl{state, DecodeRun(state->decode, state->vocabulary, options.skip_special), {}}));
    });
}

Result<std::string_view> StreamDecoder::push(TokenId id) noexcept {
    return without_exceptions([&]() -> Result<std::string_view> {
        const std::size_t size = impl_->state->vocabulary.size();
        if (id < 0 || static_cast<std::size_t>(id) >= size) {
            return error(StatusCode::out_of_range, "the token id ", id, " is not in [0, ", size, ')');
        }
        impl_->text.clear();
        MIXTURA_RETURN_IF_ERROR(impl_->run.push(id, impl_->text));
        return std::string_view(impl_->text);
    });
}

Result<std::string_view> StreamDecoder::finish() noexcept {
    return without_exceptions([&]() -> Result<std::string_view> {
        impl_->text.clear();
        MIXTURA_RETURN_IF_ERROR(impl_->run.finish(impl_->text));
        return std::string_view(impl_->text);
    });
}

}  // namespace mixtura
