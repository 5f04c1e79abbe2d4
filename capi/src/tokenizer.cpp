#include "convert.hpp"

using namespace mixtura::capi;
using mixtura::StatusCode;

namespace {

const mixtura::Tokenizer& of(const mixtura_tokenizer* tokenizer) { return given(tokenizer, "tokenizer").tokenizer; }

bool has(const mixtura_tokenizer* tokenizer, std::int32_t token) {
    return token >= 0 && static_cast<std::size_t>(token) < tokenizer->tokenizer.size();
}

mixtura_text lent(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

extern "C" {

mixtura_status mixtura_tokenizer_open(const char* path, mixtura_tokenizer** tokenizer) noexcept {
    return guard([&] {
        given(tokenizer, "tokenizer");
        give_handle(tokenizer, take(mixtura::Tokenizer::open(&given(path, "path"))));
    });
}

mixtura_status mixtura_tokenizer_of_model(const mixtura_model* model, mixtura_tokenizer** tokenizer) noexcept {
    return guard([&] {
        given(tokenizer, "tokenizer");
        give_handle(tokenizer, take(mixtura::Result<mixtura::Tokenizer>(given(model, "model").model.tokenizer())));
    });
}

void mixtura_tokenizer_destroy(mixtura_tokenizer* tokenizer) noexcept { delete tokenizer; }

mixtura_status mixtura_tokenizer_encode(const mixtura_tokenizer* tokenizer, const char* utf8, size_t bytes,
                                        const mixtura_encode_options* options, int32_t* tokens, size_t capacity,
                                        size_t* needed) noexcept {
    return guard([&] {
        const mixtura_encode_options defaults = MIXTURA_ENCODE_OPTIONS_INIT;
        const mixtura_encode_options wanted = options_of(options, defaults, "options");
        mixtura::EncodeOptions ours;
        ours.added_tokens = enum_of(wanted.added_tokens, mixtura::AddedTokens::none, "options.added_tokens");
        ours.add_bos = enum_of(wanted.add_bos, mixtura::AddBos::no, "options.add_bos");
        const auto found = take(of(tokenizer).encode(text_of(utf8, bytes, "utf8"), ours));
        give_array(std::span(found), tokens, capacity, needed, "tokens");
    });
}

mixtura_status mixtura_tokenizer_encode_spans(const mixtura_tokenizer* tokenizer, const mixtura_text_span* spans,
                                              size_t span_count, int32_t* tokens, size_t capacity,
                                              size_t* needed) noexcept {
    return guard([&] {
        std::vector<mixtura::TextSpan> ours;
        for (const mixtura_text_span& span : array(spans, span_count, "spans"))
            ours.push_back({text_of(span.utf8, span.bytes, "a span's utf8"), span.is_trusted != 0});
        const auto found = take(of(tokenizer).encode_spans(ours));
        give_array(std::span(found), tokens, capacity, needed, "tokens");
    });
}

mixtura_status mixtura_tokenizer_decode(const mixtura_tokenizer* tokenizer, const int32_t* tokens, size_t token_count,
                                        int32_t skip_special, char* text, size_t capacity, size_t* needed) noexcept {
    return guard([&] {
        const mixtura::DecodeOptions options{.skip_special = skip_special != 0};
        give_text(take(of(tokenizer).decode(array(tokens, token_count, "tokens"), options)), text, capacity, needed);
    });
}

mixtura_status mixtura_tokenizer_token_bytes(const mixtura_tokenizer* tokenizer, int32_t token, char* bytes,
                                             size_t capacity, size_t* needed) noexcept {
    return guard([&] { give_text(take(of(tokenizer).token_bytes(token)), bytes, capacity, needed); });
}

mixtura_status mixtura_tokenizer_token_text(const mixtura_tokenizer* tokenizer, int32_t token, char* text,
                                            size_t capacity, size_t* needed) noexcept {
    return guard([&] {
        const mixtura::Tokenizer& t = of(tokenizer);
        if (!has(tokenizer, token)) {
            fail(StatusCode::out_of_range,
                 "token " + std::to_string(token) + " is not in [0, " + std::to_string(t.size()) + ")");
        }
        give_text(t.token_text(token), text, capacity, needed);
    });
}

int32_t mixtura_tokenizer_find(const mixtura_tokenizer* tokenizer, const char* utf8, size_t bytes) noexcept {
    if (tokenizer == nullptr || (utf8 == nullptr && bytes > 0)) return MIXTURA_NO_TOKEN;
    return tokenizer->tokenizer.find(std::string_view(utf8, bytes));
}

size_t mixtura_tokenizer_size(const mixtura_tokenizer* tokenizer) noexcept {
    return tokenizer == nullptr ? 0 : tokenizer->tokenizer.size();
}

int32_t mixtura_tokenizer_token_flags(const mixtura_tokenizer* tokenizer, int32_t token) noexcept {
    if (tokenizer == nullptr || !has(tokenizer, token)) return 0;
    const mixtura::Tokenizer& t = tokenizer->tokenizer;
    return (t.is_end(token) ? MIXTURA_TOKEN_IS_END : 0) | (t.is_special(token) ? MIXTURA_TOKEN_IS_SPECIAL : 0) |
           (t.is_added(token) ? MIXTURA_TOKEN_IS_ADDED : 0);
}

mixtura_status mixtura_tokenizer_get_special_tokens(const mixtura_tokenizer* tokenizer,
                                                    mixtura_special_tokens* special) noexcept {
    return guard([&] {
        const mixtura::SpecialTokens& found = of(tokenizer).special_tokens();
        mixtura_special_tokens out = MIXTURA_SPECIAL_TOKENS_INIT;
        out.bos = found.bos;
        out.eos = found.eos;
        out.eot = found.eot;
        out.eom = found.eom;
        out.unk = found.unk;
        out.pad = found.pad;
        out.sep = found.sep;
        out.mask = found.mask;
        out.fim_prefix = found.fim_prefix;
        out.fim_suffix = found.fim_suffix;
        out.fim_middle = found.fim_middle;
        give(special, out, "special");
    });
}

mixtura_status mixtura_stream_decoder_create(const mixtura_tokenizer* tokenizer, int32_t skip_special,
                                             mixtura_stream_decoder** decoder) noexcept {
    return guard([&] {
        given(decoder, "decoder");
        const mixtura::DecodeOptions options{.skip_special = skip_special != 0};
        give_handle(decoder, take(mixtura::StreamDecoder::create(of(tokenizer), options)));
    });
}

void mixtura_stream_decoder_destroy(mixtura_stream_decoder* decoder) noexcept { delete decoder; }

mixtura_status mixtura_stream_decoder_push(mixtura_stream_decoder* decoder, int32_t token,
                                           mixtura_text* text) noexcept {
    return guard([&] {
        given(text, "text");
        *text = lent(take(given(decoder, "decoder").decoder.push(token)));
    });
}

mixtura_status mixtura_stream_decoder_finish(mixtura_stream_decoder* decoder, mixtura_text* text) noexcept {
    return guard([&] {
        given(text, "text");
        *text = lent(take(given(decoder, "decoder").decoder.finish()));
    });
}

}  // extern "C"
