// PCRE2 with its JIT compiler where this machine has one, else its interpreter: both give the same matches, and both
// stop at kRegexStepsMax.  The JIT's own stack is 512 KiB; a match that needs more is repeated by the interpreter,
// whose stack is on the heap and bounded too.
#include "tokenizer/regex.hpp"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <new>

#include "base/error.hpp"
#include "tokenizer/onig_bracket.hpp"
#include "tokenizer/onig_syntax.hpp"

namespace mixtura {
namespace {

constexpr std::size_t kJitStackBytesMin = 32 * 1024;
constexpr std::size_t kJitStackBytesMax = 512 * 1024;
constexpr std::uint32_t kHeapKibibytesMax = 64 * 1024;

template <class Handle, void (*release)(Handle*)>
struct Release {
    void operator()(Handle* handle) const noexcept { release(handle); }
};
template <class Handle, void (*release)(Handle*)>
using Owned = std::unique_ptr<Handle, Release<Handle, release>>;

std::string pcre2_error_text(int code) {
    PCRE2_UCHAR buffer[256] = {};
    const int length = pcre2_get_error_message(code, buffer, sizeof buffer);
    if (length < 0) return text("error ", code);
    return std::string(reinterpret_cast<const char*>(buffer), static_cast<std::size_t>(length));
}

}  // namespace

struct Regex::Code {
    Owned<pcre2_code, pcre2_code_free> handle;
    bool has_jit = false;
};

struct RegexWorkspace::Handles {
    Owned<pcre2_match_data, pcre2_match_data_free> data;
    Owned<pcre2_match_context, pcre2_match_context_free> context;
    Owned<pcre2_jit_stack, pcre2_jit_stack_free> stack;
};

RegexWorkspace::RegexWorkspace() noexcept = default;
RegexWorkspace::~RegexWorkspace() = default;

bool RegexWorkspace::prepare() noexcept {
    if (handles_) return true;
    auto handles = std::unique_ptr<Handles>(new (std::nothrow) Handles);
    if (!handles) return false;
    handles->data.reset(pcre2_match_data_create(1, nullptr));
    handles->context.reset(pcre2_match_context_create(nullptr));
    if (!handles->data || !handles->context) return false;
    pcre2_set_match_limit(handles->context.get(), kRegexStepsMax);
    pcre2_set_depth_limit(handles->context.get(), kRegexStepsMax);
    pcre2_set_heap_limit(handles->context.get(), kHeapKibibytesMax);
    // Nothing where PCRE2 was built without a JIT compiler; then none is used either.
    handles->stack.reset(pcre2_jit_stack_create(kJitStackBytesMin, kJitStackBytesMax, nullptr));
    if (handles->stack) pcre2_jit_stack_assign(handles->context.get(), nullptr, handles->stack.get());
    handles_ = std::move(handles);
    return true;
}

Result<Regex> Regex::compile(std::string_view pattern, std::string_view where) {
    MIXTURA_ASSIGN_OR_RETURN(const std::string translated, translate_onig(pattern, where));
    return compile_translated(translated, pattern, where);
}

Result<Regex> Regex::compile_literal(std::string_view literal, std::string_view where) {
    if (!is_utf8(literal)) return error(StatusCode::corrupt_file, where, ": the text to find is not UTF-8");
    std::string translated;
    for (std::size_t i = 0; i < literal.size();) {
        const CodePoint point = code_point_at(literal, i);
        append_pattern_literal(translated, point.value);
        i += point.length;
    }
    return compile_translated(translated, literal, where);
}

Result<Regex> Regex::compile_translated(const std::string& translated, std::string_view pattern,
                                        std::string_view where) {
    Owned<pcre2_compile_context, pcre2_compile_context_free> context(pcre2_compile_context_create(nullptr));
    if (!context) return Status(StatusCode::out_of_host_memory, {});
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_bsr(context.get(), PCRE2_BSR_UNICODE);
    int code = 0;
    PCRE2_SIZE offset = 0;
    auto compiled = std::make_shared<Code>();
    compiled->handle.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                         PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &code,
                                         &offset, context.get()));
    if (!compiled->handle) {
        return error(StatusCode::unsupported, where, ": PCRE2 does not take the pattern ", quoted(pattern, 400), ": ",
                     pcre2_error_text(code));
    }
    compiled->has_jit = pcre2_jit_compile(compiled->handle.get(), PCRE2_JIT_COMPLETE) == 0;
    Regex regex;
    regex.code_ = std::move(compiled);
    regex.pattern_ = std::make_shared<const std::string>(pattern);
    return regex;
}

Status Regex::find(std::string_view subject, std::size_t start, RegexWorkspace& workspace, RegexMatch& match) const {
    if (!workspace.prepare()) return Status(StatusCode::out_of_host_memory, {});
    const RegexWorkspace::Handles& handles = *workspace.handles_;
    const auto* bytes = reinterpret_cast<PCRE2_SPTR>(subject.data() != nullptr ? subject.data() : "");
    int found = PCRE2_ERROR_JIT_STACKLIMIT;
    if (code_->has_jit && handles.stack) {
        found = pcre2_jit_match(code_->handle.get(), bytes, subject.size(), start, 0, handles.data.get(),
                                handles.context.get());
    }
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
        found = pcre2_match(code_->handle.get(), bytes, subject.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                            handles.data.get(), handles.context.get());
    }
    match.is_found = found >= 0;
    if (match.is_found) {
        const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(handles.data.get());
        match.begin = ends[0];
        match.end = ends[1];
        // \K inside a look-ahead can put the beginning behind the end, or the end before the start.
        if (match.begin <= match.end && match.begin >= start) return {};
        return error(StatusCode::unsupported, "the pattern ", quoted(*pattern_, 400),
                     " gives a match that ends before it begins");
    }
    switch (found) {
        case PCRE2_ERROR_NOMATCH: return {};
        case PCRE2_ERROR_NOMEMORY: return Status(StatusCode::out_of_host_memory, {});
        case PCRE2_ERROR_MATCHLIMIT:
        case PCRE2_ERROR_DEPTHLIMIT:
        case PCRE2_ERROR_HEAPLIMIT:
            return error(StatusCode::budget_exceeded, "the pattern ", quoted(*pattern_, 400), " needs more than ",
                         kRegexStepsMax, " steps for one match in this text");
        default:
            return error(StatusCode::internal, "PCRE2 fails on the pattern ", quoted(*pattern_, 400), ": ",
                         pcre2_error_text(found));
    }
}

}  // namespace mixtura
