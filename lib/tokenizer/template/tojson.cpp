#include "tokenizer/template/tojson.hpp"

#include <cmath>

#include "tokenizer/template/access.hpp"
#include "tokenizer/template/arguments.hpp"
#include "tokenizer/template/compare.hpp"
#include "tokenizer/template/print.hpp"
#include "tokenizer/template/text.hpp"

namespace mixtura {
namespace {

class JsonWriter {
  public:
    explicit JsonWriter(JinjaRun& run) : run_(run), out_(run) {}

    bool options(const JinjaValue* a) {
        ensures_ascii_ = is_given(a[1]) && is_jinja_true(a[1]);
        sorts_keys_ = is_given(a[4]) && is_jinja_true(a[4]);
        if (is_given_and_not_none(a[2]) && !indent(a[2])) return false;
        if (is_indented_) item_separator_ = ",";
        if (!is_given_and_not_none(a[3])) return true;
        if (!a[3].is_sequence() || a[3].size != 2) return run_.fail("'separators' must be two texts");
        const JinjaValue* parts = a[3].list->items + a[3].offset;
        if (!want_text(run_, parts[0], "the separator") || !want_text(run_, parts[1], "the separator")) return false;
        is_trusted_ = is_trusted_ && is_wholly_trusted(parts[0]) && is_wholly_trusted(parts[1]);
        item_separator_ = jinja_text(parts[0]);
        key_separator_ = jinja_text(parts[1]);
        return true;
    }

    bool value(const JinjaValue& value) {
        const JinjaRun::Level level(run_);
        if (!level || !run_.step()) return false;
        if (!value.is(JinjaKind::string)) is_trusted_ = is_trusted_ && value.is_trusted;
        switch (value.kind) {
            case JinjaKind::none:
            case JinjaKind::boolean:
            case JinjaKind::integer:
            case JinjaKind::real: return put(scalar(value));
            case JinjaKind::string: return string(value);
            case JinjaKind::list:
            case JinjaKind::tuple: return elements(value);
            case JinjaKind::dict: return members(*value.dict);
            default: return run_.fail(jinja_type_name(value), " has no form in JSON");
        }
    }
    bool finish(JinjaValue& out) {
        if (!out_.finish(out, true)) return false;
        if (is_trusted_ || out.size == 0) return true;
        out.text->first_run = {out.size, false};  // the whole is data
        out.text->runs = &out.text->first_run;
        out.text->run_count = out.text->run_capacity = 1;
        return true;
    }

  private:
    bool put(std::string_view written) { return out_.append(written, true); }

    bool indent(const JinjaValue& width) {
        is_indented_ = true;
        if (width.is(JinjaKind::string)) {
            is_trusted_ = is_trusted_ && is_wholly_trusted(width);
            indent_ = jinja_text(width);
            return true;
        }
        std::int64_t spaces = 0;
        if (!want_width(run_, width, "the indent", spaces)) return false;
        if (spaces > 1000) return run_.fail("the indent must be at most 1000, found ", spaces);
        if (spaces > 0) indent_.assign(static_cast<std::size_t>(spaces), ' ');
        return true;
    }
    bool line() {
        if (!is_indented_) return true;
        if (!put("\n")) return false;
        for (std::size_t i = 0; i < depth_; ++i) {
            if (!put(indent_)) return false;
        }
        return true;
    }

    static std::string scalar(const JinjaValue& value) {
        if (value.is(JinjaKind::none)) return "null";
        if (value.is(JinjaKind::boolean)) return value.integer != 0 ? "true" : "false";
        if (value.is(JinjaKind::integer)) return text(value.integer);
        if (std::isnan(value.real)) return "NaN";
        if (std::isinf(value.real)) return value.real < 0 ? "-Infinity" : "Infinity";
        return python_real_text(value.real);
    }

    bool escape(std::uint32_t code_unit) {
        char written[7] = "\\u0000";
        for (int i = 0; i < 4; ++i) written[2 + i] = "0123456789abcdef"[code_unit >> (12 - 4 * i) & 15];
        return put({written, 6});
    }
    bool string(const JinjaValue& value) {
        is_trusted_ = is_trusted_ && is_wholly_trusted(value);
        const std::string_view bytes = jinja_text(value);
        if (!run_.step_bytes(bytes.size()) || !put("\"")) return false;
        std::size_t done = 0;  // bytes before it are written
        for (std::size_t at = 0; at < bytes.size();) {
            const auto byte = static_cast<unsigned char>(bytes[at]);
            const bool is_plain = byte >= 0x20 && byte != '"' && byte != '\\' && (byte < 0x7F || !ensures_ascii_);
            if (is_plain) {
                ++at;
                continue;
            }
            if (!put(bytes.substr(done, at - done))) return false;
            const std::string_view character = jinja_first_character(bytes.substr(at));
            if (!special(character)) return false;
            at += character.size();
            done = at;
        }
        return put(bytes.substr(done)) && put("\"");
    }
    bool special(std::string_view character) {
        static constexpr std::string_view kCharacters = "\"\\\b\f\n\r\t";
        static constexpr std::string_view kLetters = "\"\\bfnrt";
        const std::size_t known = character.size() == 1 ? kCharacters.find(character[0]) : std::string_view::npos;
        if (known != std::string_view::npos) return put("\\") && put(kLetters.substr(known, 1));
        const std::uint32_t code_point = jinja_code_point(character);
        if (code_point > 0x10FFFF)
            return escape(0xDC00 + static_cast<unsigned char>(character[0]));  // Python's surrogate escape
        if (code_point < 0x10000) return escape(code_point);
        return escape(0xD800 + ((code_point - 0x10000) >> 10)) && escape(0xDC00 + ((code_point - 0x10000) & 0x3FF));
    }

    bool elements(const JinjaValue& list) {
        if (list.size == 0) return put("[]");
        if (!put("[")) return false;
        ++depth_;
        for (std::uint32_t i = 0; i < list.size; ++i) {
            if ((i > 0 && !put(item_separator_)) || !line() || !value(list.list->items[list.offset + i])) return false;
        }
        --depth_;
        return line() && put("]");
    }

    bool members(const JinjaDict& dict) {
        if (dict.count == 0) return put("{}");
        auto* keys = run_.make<JinjaValue>(dict.count);
        auto* order = run_.make<JinjaValue>(dict.count);
        if (keys == nullptr || order == nullptr || !put("{")) return false;
        for (std::uint32_t i = 0; i < dict.count; ++i) {
            keys[i] = dict.entries[i].key;
            order[i] = jinja_integer(i, true);
        }
        if (sorts_keys_ && !sort_jinja_values(run_, keys, order, dict.count, false)) return false;
        ++depth_;
        for (std::uint32_t i = 0; i < dict.count; ++i) {
            const JinjaEntry& entry = dict.entries[order[i].integer];
            if ((i > 0 && !put(item_separator_)) || !line() || !key(entry.key) || !put(key_separator_) ||
                !value(entry.value))
                return false;
        }
        --depth_;
        return line() && put("}");
    }
    bool key(const JinjaValue& key) {
        switch (key.kind) {
            case JinjaKind::string: return string(key);
            case JinjaKind::none:
            case JinjaKind::boolean:
            case JinjaKind::integer:
            case JinjaKind::real:
                is_trusted_ = is_trusted_ && key.is_trusted;
                return put("\"") && put(scalar(key)) && put("\"");
            default: return run_.fail(jinja_type_name(key), " cannot be a key in JSON");
        }
    }

    JinjaRun& run_;
    JinjaTextBuilder out_;
    bool ensures_ascii_ = false;
    bool sorts_keys_ = false;
    bool is_indented_ = false;
    bool is_trusted_ = true;
    std::string indent_;
    std::string_view item_separator_ = ", ";
    std::string_view key_separator_ = ": ";
    std::size_t depth_ = 0;
};

}  // namespace

bool jinja_tojson(JinjaRun& run, const JinjaValue* arguments, JinjaValue& out) {
    JsonWriter writer(run);
    return writer.options(arguments) && writer.value(arguments[0]) && writer.finish(out);
}

}  // namespace mixtura
