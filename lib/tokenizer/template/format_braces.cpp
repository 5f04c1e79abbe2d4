#include <algorithm>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {
namespace {

constexpr int kNestingMax = 3;  // the format, '{:{width}}' and one inside of that, as Python has it

class BracesFormat {
  public:
    BracesFormat(JinjaRun& run, const JinjaArguments& arguments) : run_(run), arguments_(arguments) {}

    bool append(const JinjaValue& format, int nesting, JinjaTextBuilder& out) {
        if (nesting == kNestingMax) return run_.fail("the format nests deeper than ", kNestingMax, " levels");
        const std::string_view bytes = jinja_text(format);
        if (!run_.step_bytes(bytes.size())) return false;
        std::size_t at = 0;
        while (at < bytes.size()) {
            const std::size_t brace = std::min(bytes.find_first_of("{}", at), bytes.size());
            if (!out.append(jinja_slice(format, at, brace - at))) return false;
            if (brace == bytes.size()) return true;
            at = brace + 1;
            if (at < bytes.size() && bytes[at] == bytes[brace]) {  // {{ or }}
                if (!out.append(jinja_slice(format, brace, 1))) return false;
                ++at;
                continue;
            }
            if (bytes[brace] == '}') return run_.fail("the format has a '}' without '{'");
            const std::size_t end = field_end(bytes, at);
            if (end == std::string_view::npos) return run_.fail("the format has a '{' without '}'");
            if (!field(jinja_slice(format, at, end - at), nesting, out)) return false;
            at = end + 1;
        }
        return true;
    }

  private:
    static std::size_t field_end(std::string_view bytes, std::size_t at) {
        for (int open = 1; at < bytes.size(); ++at) {
            open += bytes[at] == '{' ? 1 : bytes[at] == '}' ? -1 : 0;
            if (open == 0) return at;
        }
        return std::string_view::npos;
    }

    // name!conversion:specification
    bool field(const JinjaValue& text, int nesting, JinjaTextBuilder& out) {
        const std::string_view bytes = jinja_text(text);
        std::size_t name_end = 0;
        for (bool is_index = false; name_end < bytes.size(); ++name_end) {
            if (bytes[name_end] == '[')
                is_index = true;
            else if (bytes[name_end] == ']')
                is_index = false;
            else if (!is_index && (bytes[name_end] == '!' || bytes[name_end] == ':'))
                break;
        }
        char conversion = '\0';
        std::size_t spec_at = name_end;
        if (name_end < bytes.size() && bytes[name_end] == '!') {
            if (name_end + 1 >= bytes.size()) return run_.fail("the format ends behind '!'");
            conversion = bytes[name_end + 1];
            spec_at = name_end + 2;
            if (spec_at < bytes.size() && bytes[spec_at] != ':')
                return run_.fail("expected ':' behind the conversion of a format");
        }
        JinjaValue value, written;
        if (!find(bytes.substr(0, name_end), value) || !convert(conversion, value)) return false;
        JinjaTextBuilder spec_text(run_);
        const std::size_t spec_begin = std::min(spec_at + 1, bytes.size());
        if (!append(jinja_slice(text, spec_begin, bytes.size() - spec_begin), nesting + 1, spec_text)) return false;
        JinjaFormatSpec spec;
        if (!spec_text.finish(written) || !parse_jinja_format_spec(run_, jinja_text(written), spec)) return false;
        if (written.size == 0) return append_jinja_text(run_, value, out);
        return append_jinja_formatted(run_, value, spec, out);
    }

    bool convert(char conversion, JinjaValue& value) {
        if (conversion == '\0') return true;
        if (conversion != 's' && conversion != 'r' && conversion != 'a')
            return run_.fail("unknown conversion ", quoted(std::string_view(&conversion, 1)), " in a format");
        JinjaTextBuilder shown(run_);
        if (!(conversion == 's' ? append_jinja_text(run_, value, shown) : append_jinja_repr(run_, value, shown)))
            return false;
        return shown.finish(value, conversion != 's');
    }

    // The name's first part is an argument; .attribute and [item] follow.
    bool find(std::string_view name, JinjaValue& value) {
        const std::size_t first_end = std::min(name.find_first_of(".["), name.size());
        if (!argument(name.substr(0, first_end), name.empty(), value)) return false;
        std::size_t at = first_end;
        while (at < name.size()) {
            JinjaValue found;
            if (name[at] == '.') {
                const std::size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
                if (end == at + 1) return run_.fail("the format has an empty attribute");
                if (!jinja_attribute(run_, value, name.substr(at + 1, end - at - 1), found)) return false;
                at = end;
            } else if (name[at] == '[') {
                const std::size_t end = name.find(']', at);
                if (end == std::string_view::npos || end == at + 1)
                    return run_.fail("the format has a '[' without an index and ']'");
                JinjaValue key;
                const std::string_view written = name.substr(at + 1, end - at - 1);
                if (const std::optional<std::int64_t> index = parse_integer<std::int64_t>(written);
                    index && *index >= 0) {
                    key = jinja_integer(*index, true);
                } else if (!jinja_borrow(run_, written, true, key)) {
                    return false;
                }
                if (!jinja_item(run_, value, key, found)) return false;
                at = end + 1;
            } else {
                return run_.fail("expected '.' or '[' behind ']' in a format");
            }
            value = found;
        }
        return true;
    }

    bool argument(std::string_view name, bool is_next, JinjaValue& value) {
        std::optional<std::size_t> index = parse_integer<std::size_t>(name);
        if (is_next || index) {
            if (is_next ? was_numbered_ : next_ > 0) return run_.fail("the format mixes '{}' with numbered fields");
            was_numbered_ = was_numbered_ || !is_next;
            if (is_next) index = next_++;
            if (*index >= arguments_.positional.size())
                return run_.fail("the format asks for argument ", *index, ", there are ", arguments_.positional.size());
            value = arguments_.positional[*index];
            return true;
        }
        for (const JinjaNamedValue& named : arguments_.named) {
            if (named.name != name) continue;
            value = named.value;
            return true;
        }
        return run_.fail("the format asks for ", quoted(name), ", which is not among the arguments");
    }

    JinjaRun& run_;
    const JinjaArguments& arguments_;
    std::size_t next_ = 0;
    bool was_numbered_ = false;
};

bool is_align(std::string_view c) { return c == "<" || c == ">" || c == "^" || c == "="; }

}  // namespace

bool parse_jinja_format_spec(JinjaRun& run, std::string_view written, JinjaFormatSpec& spec) {
    const auto skip = [&](char c) {
        if (written.empty() || written.front() != c) return false;
        written.remove_prefix(1);
        return true;
    };
    const auto number = [&](std::int64_t& out) {
        bool has_digits = false;
        while (!written.empty() && written.front() >= '0' && written.front() <= '9') {
            out = (has_digits ? out : 0) * 10 + (written.front() - '0');
            has_digits = true;
            written.remove_prefix(1);
            if (out > static_cast<std::int64_t>(run.bytes_max())) return run.out_of_memory();
        }
        return true;
    };
    const std::string_view whole = written;
    const std::string_view first = jinja_first_character(written);
    bool has_fill = false;
    if (first.size() < written.size() && is_align(written.substr(first.size(), 1))) {
        spec.fill = first;
        spec.align = written[first.size()];
        written.remove_prefix(first.size() + 1);
        has_fill = true;
    } else if (is_align(written.substr(0, 1))) {
        spec.align = written.front();
        written.remove_prefix(1);
    }
    if (skip('+'))
        spec.sign = '+';
    else if (skip(' '))
        spec.sign = ' ';
    else
        skip('-');
    spec.is_alternate = skip('#');
    if (skip('0') && !has_fill) {
        spec.fill = "0";
        if (spec.align == '\0') spec.align = '=';
    }
    if (!number(spec.width)) return false;
    if (skip(','))
        spec.grouping = ',';
    else if (skip('_'))
        spec.grouping = '_';
    if (skip('.')) {
        if (written.empty() || written.front() < '0' || written.front() > '9')
            return run.fail("the format ", quoted(whole), " has no precision behind '.'");
        if (!number(spec.precision)) return false;
    }
    if (!written.empty()) {
        spec.type = written.front();
        written.remove_prefix(1);
    }
    return written.empty() || run.fail("the format ", quoted(whole), " is not one of Python's");
}

bool append_jinja_formatted(JinjaRun& run, const JinjaValue& value, const JinjaFormatSpec& spec,
                            JinjaTextBuilder& out) {
    if (value.is(JinjaKind::string)) {
        if (spec.type != '\0' && spec.type != 's')
            return run.fail("the format '", quoted(std::string_view(&spec.type, 1)), "' does not take text");
        if (spec.align == '=' && spec.fill != "0") return run.fail("'=' in a format does not take text");
        if (spec.sign != '-') return run.fail("a sign in a format does not take text");
        JinjaValue shown = value;
        if (spec.precision >= 0) {
            shown = jinja_slice(value, 0,
                                jinja_character_offset(jinja_text(value), static_cast<std::size_t>(spec.precision)));
        }
        return append_jinja_padded(run, shown, spec, '<', out);
    }
    if (!value.is_number()) return run.fail("the format does not take ", jinja_type_name(value));
    if (spec.type == 'c' && !value.is(JinjaKind::real)) {
        char buffer[4];
        JinjaValue shown;
        const bool is_valid = value.integer >= 0 && value.integer <= 0x10FFFF;
        const std::string_view bytes =
            is_valid ? jinja_encode(static_cast<std::uint32_t>(value.integer), buffer) : std::string_view();
        if (bytes.empty()) return run.fail("the format 'c' needs a character's number, found ", value.integer);
        return jinja_copy(run, bytes, value.is_trusted, shown) && append_jinja_padded(run, shown, spec, '<', out);
    }
    return append_jinja_number(run, value, spec, out);
}

bool format_jinja_braces(JinjaRun& run, const JinjaValue& format, const JinjaArguments& arguments, JinjaValue& out) {
    JinjaTextBuilder builder(run);
    return BracesFormat(run, arguments).append(format, 0, builder) && builder.finish(out);
}

}  // namespace mixtura
