#include <algorithm>
#include <cmath>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/dict.hpp"
#include "tokenizer/template/format.hpp"
#include "tokenizer/template/print.hpp"

namespace mixtura {
namespace {

// What Python takes for a mapping, whose values may stay unused: all that can be indexed but a tuple and text.
bool has_items(const JinjaValue& values) {
    return values.is(JinjaKind::dict) || values.is(JinjaKind::list) || values.is(JinjaKind::range) ||
           values.is(JinjaKind::undefined);
}

class PercentFormat {
  public:
    PercentFormat(JinjaRun& run, const JinjaValue& format, const JinjaValue& values)
        : run_(run), format_(format), bytes_(jinja_text(format)), values_(values), builder_(run) {}

    bool run(JinjaValue& out) {
        if (!run_.step_bytes(bytes_.size())) return false;
        std::size_t at = 0;
        for (;;) {
            const std::size_t percent = std::min(bytes_.find('%', at), bytes_.size());
            if (!builder_.append(jinja_slice(format_, at, percent - at))) return false;
            if (percent == bytes_.size()) break;
            at = percent + 1;
            if (!directive(percent, at)) return false;
        }
        const bool is_whole = values_.is(JinjaKind::tuple) ? next_ >= values_.size : next_ > 0 || has_items(values_);
        if (!is_whole) return run_.fail("not all values for '%' are used by the format");
        return builder_.finish(out);
    }

  private:
    bool take(JinjaValue& value) {
        if (values_.is(JinjaKind::tuple) ? next_ >= values_.size : next_ > 0)
            return run_.fail("'%' has fewer values than its format asks for");
        value = values_.is(JinjaKind::tuple) ? values_.list->items[values_.offset + next_] : values_;
        ++next_;
        return true;
    }

    // A number written out, or * for one among the values.
    bool amount(std::size_t& at, std::int64_t& out) {
        if (at < bytes_.size() && bytes_[at] == '*') {
            ++at;
            JinjaValue value;
            if (!take(value)) return false;
            if (!value.is(JinjaKind::integer))
                return run_.fail("'*' in a format needs an integer, found ", jinja_type_name(value));
            out = value.integer;
        } else {
            for (; at < bytes_.size() && bytes_[at] >= '0' && bytes_[at] <= '9'; ++at) {
                out = (out < 0 ? 0 : out) * 10 + (bytes_[at] - '0');
                if (out > static_cast<std::int64_t>(run_.bytes_max())) return run_.out_of_memory();
            }
        }
        return out <= static_cast<std::int64_t>(run_.bytes_max()) || run_.out_of_memory();
    }

    bool directive(std::size_t percent, std::size_t& at) {
        JinjaFormatSpec spec;
        JinjaValue value;
        bool is_keyed = false;
        if (at < bytes_.size() && bytes_[at] == '(' && !key(at, value, is_keyed)) return false;
        bool is_left = false, is_zero = false;
        for (; at < bytes_.size(); ++at) {
            const char c = bytes_[at];
            if (c == '-')
                is_left = true;
            else if (c == '0')
                is_zero = true;
            else if (c == '+')
                spec.sign = '+';
            else if (c == ' ')
                spec.sign = spec.sign == '+' ? '+' : ' ';
            else if (c == '#')
                spec.is_alternate = true;
            else
                break;
        }
        if (!amount(at, spec.width)) return false;
        if (spec.width < 0) {
            is_left = true;
            spec.width = -spec.width;
        }
        if (at < bytes_.size() && bytes_[at] == '.') {
            spec.precision = 0;
            if (!amount(++at, spec.precision)) return false;
            if (spec.precision < 0) spec.precision = 0;
        }
        if (at < bytes_.size() && (bytes_[at] == 'l' || bytes_[at] == 'h' || bytes_[at] == 'L'))
            ++at;  // C's, without effect
        if (at >= bytes_.size()) return run_.fail("the format ends inside of a '%'");
        const char type = bytes_[at++];
        if (type == '%') return builder_.append(jinja_slice(format_, percent, 1));
        if (!is_keyed && !take(value)) return false;
        spec.align = is_left ? '<' : '>';
        return convert(type, value, spec, is_zero && !is_left);
    }

    bool key(std::size_t& at, JinjaValue& value, bool& is_keyed) {
        int open = 1;
        const std::size_t begin = ++at;
        for (; at < bytes_.size() && open > 0; ++at) open += bytes_[at] == '(' ? 1 : bytes_[at] == ')' ? -1 : 0;
        if (open > 0) return run_.fail("the format has a key without ')'");
        const std::string_view name = bytes_.substr(begin, at - 1 - begin);
        if (!values_.is(JinjaKind::dict))
            return run_.fail("a format with keys needs a dict, found ", jinja_type_name(values_));
        const JinjaEntry* entry = find_in_jinja_dict(*values_.dict, name);
        if (entry == nullptr) return run_.fail("the dict has no key ", quoted(name));
        value = entry->value;
        is_keyed = true;
        ++next_;
        return true;
    }

    bool convert(char type, const JinjaValue& value, JinjaFormatSpec& spec, bool is_zero) {
        switch (type) {
            case 's':
            case 'r':
            case 'a': return convert_text(type, value, spec);
            case 'c': return convert_character(value, spec);
            case 'd':
            case 'i':
            case 'u':
            case 'x':
            case 'X':
            case 'o': return convert_integer(type, value, spec, is_zero);
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G': break;
            default: return run_.fail("the format has the unknown type '%", quoted(std::string_view(&type, 1)), "'");
        }
        if (value.is(JinjaKind::undefined)) return fail_jinja_undefined(run_, value);
        if (!value.is_number()) return run_.fail("'%", type, "' needs a number, found ", jinja_type_name(value));
        return number(
            type,
            jinja_real(value.is(JinjaKind::real) ? value.real : static_cast<double>(value.integer), value.is_trusted),
            spec, is_zero);
    }

    bool number(char type, const JinjaValue& value, JinjaFormatSpec& spec, bool is_zero) {
        spec.type = type;
        if (is_zero) {
            spec.fill = "0";
            spec.align = '=';
        }
        return append_jinja_number(run_, value, spec, builder_);
    }

    bool convert_text(char type, const JinjaValue& value, const JinjaFormatSpec& spec) {
        JinjaValue shown;
        JinjaTextBuilder builder(run_);
        if (!(type == 's' ? append_jinja_text(run_, value, builder) : append_jinja_repr(run_, value, builder)))
            return false;
        if (!builder.finish(shown, type != 's')) return false;
        if (spec.precision >= 0) {
            shown = jinja_slice(shown, 0,
                                jinja_character_offset(jinja_text(shown), static_cast<std::size_t>(spec.precision)));
        }
        return append_jinja_padded(run_, shown, spec, '>', builder_);
    }

    bool convert_character(const JinjaValue& value, const JinjaFormatSpec& spec) {
        JinjaValue shown = value;
        char buffer[4];
        if (value.is(JinjaKind::integer)) {
            const std::string_view bytes = value.integer < 0 || value.integer > 0x10FFFF
                                               ? std::string_view()
                                               : jinja_encode(static_cast<std::uint32_t>(value.integer), buffer);
            if (bytes.empty()) return run_.fail("'%c' needs a character's number, found ", value.integer);
            if (!jinja_copy(run_, bytes, value.is_trusted, shown)) return false;
        } else if (!value.is(JinjaKind::string) || jinja_character_count(jinja_text(value)) != 1) {
            return run_.fail("'%c' needs a number or one character");
        }
        return append_jinja_padded(run_, shown, spec, '>', builder_);
    }

    bool convert_integer(char type, JinjaValue value, JinjaFormatSpec& spec, bool is_zero) {
        if (value.is(JinjaKind::undefined)) return fail_jinja_undefined(run_, value);
        const bool takes_real = type == 'd' || type == 'i' || type == 'u';
        if (value.is(JinjaKind::real) && takes_real) {
            if (!(std::fabs(value.real) < 0x1p63)) return run_.fail("'%d' cannot show this real as an integer");
            value = jinja_integer(static_cast<std::int64_t>(value.real), value.is_trusted);
        }
        if (!value.is_number() || value.is(JinjaKind::real))
            return run_.fail("'%", type, "' needs an integer, found ", jinja_type_name(value));
        if (spec.precision < 0) return number(takes_real ? 'd' : type, value, spec, is_zero);
        // '%5.3d': zeros up to three digits, then spaces (or more zeros) up to five places.
        JinjaFormatSpec inner = spec;
        inner.type = takes_real ? 'd' : type;
        inner.precision = -1;
        inner.fill = "0";
        inner.align = '=';
        const std::int64_t marks =
            (value.integer < 0 || spec.sign != '-' ? 1 : 0) + (spec.is_alternate && !takes_real ? 2 : 0);
        inner.width = std::max(spec.precision + marks, is_zero ? spec.width : 0);
        JinjaTextBuilder digits(run_);
        JinjaValue shown;
        return append_jinja_number(run_, value, inner, digits) && digits.finish(shown) &&
               append_jinja_padded(run_, shown, spec, '>', builder_);
    }

    JinjaRun& run_;
    const JinjaValue& format_;
    std::string_view bytes_;
    const JinjaValue& values_;
    std::uint32_t next_ = 0;
    JinjaTextBuilder builder_;
};

}  // namespace

bool format_jinja_percent(JinjaRun& run, const JinjaValue& format, const JinjaValue& values, JinjaValue& out) {
    return PercentFormat(run, format, values).run(out);
}

}  // namespace mixtura
