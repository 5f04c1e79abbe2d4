// Tokens, and the statements between them: text, {{ … }} and the tags that hold no body or only plain ones.
#include "tokenizer/template/parser.hpp"

namespace mixtura {
namespace {

// What stands at a token, for messages.
std::string describe(const JinjaToken& token) {
    switch (token.kind) {
        case JinjaTokenKind::data: return "text";
        case JinjaTokenKind::variable_begin: return "'{{'";
        case JinjaTokenKind::variable_end: return "'}}'";
        case JinjaTokenKind::block_begin: return "'{%'";
        case JinjaTokenKind::block_end: return "'%}'";
        case JinjaTokenKind::string: return "a string";
        case JinjaTokenKind::integer:
        case JinjaTokenKind::real: return "a number";
        case JinjaTokenKind::end: return "the end of the template";
        case JinjaTokenKind::name:
        case JinjaTokenKind::operation: break;
    }
    return quoted(token.text);
}

std::string list_ends(std::initializer_list<std::string_view> ends) {
    std::string list;
    std::size_t i = 0;
    for (const std::string_view end : ends) {
        if (i > 0) list += i + 1 == ends.size() ? " or " : ", ";
        list += text("'", end, "'");
        ++i;
    }
    return list;
}

}  // namespace

bool JinjaParser::is_name(std::string_view name, std::size_t ahead) const {
    return peek(ahead).kind == JinjaTokenKind::name && peek(ahead).text == name;
}

bool JinjaParser::is_operation(std::string_view operation, std::size_t ahead) const {
    return peek(ahead).kind == JinjaTokenKind::operation && peek(ahead).text == operation;
}

bool JinjaParser::skip_name(std::string_view name) {
    if (!is_name(name)) return false;
    take();
    return true;
}

bool JinjaParser::skip_operation(std::string_view operation) {
    if (!is_operation(operation)) return false;
    take();
    return true;
}

bool JinjaParser::unexpected(std::string_view expected) {
    return fail(peek().at, "found ", describe(peek()), ", expected ", expected);
}

bool JinjaParser::expect_name(std::string_view name) { return skip_name(name) || unexpected(text("'", name, "'")); }

bool JinjaParser::expect_operation(std::string_view operation) {
    return skip_operation(operation) || unexpected(text("'", operation, "'"));
}

bool JinjaParser::expect_kind(JinjaTokenKind kind) {
    if (!is_kind(kind)) {
        JinjaToken wanted;
        wanted.kind = kind;
        return unexpected(describe(wanted));
    }
    take();
    return true;
}

bool JinjaParser::take_name(std::string& name) {
    if (!is_kind(JinjaTokenKind::name)) return unexpected("a name");
    name = take().text;
    return true;
}

Result<JinjaProgram> JinjaParser::run() {
    if (!parse_body(program_.body, {}, {}, {})) return failure_;
    return std::move(program_);
}

// Statements up to one of `ends`, whose name is then the next token; without `ends`, to the end of the template.
bool JinjaParser::parse_body(JinjaBody& body, std::string_view tag, JinjaPosition at, Ends ends) {
    ++nesting_;
    if (!enter(peek().at)) return false;
    while (!is_kind(JinjaTokenKind::end)) {
        if (is_kind(JinjaTokenKind::data)) {
            auto output = std::make_unique<JinjaOutput>(peek().at);
            output->data = take().text;
            body.push_back(std::move(output));
        } else if (is_kind(JinjaTokenKind::variable_begin)) {
            auto output = std::make_unique<JinjaOutput>(take().at);
            output->expression = parse_tuple(TupleRule::plain);
            if (!output->expression || !expect_kind(JinjaTokenKind::variable_end)) return false;
            body.push_back(std::move(output));
        } else {
            take();
            if (std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return is_name(end); })) {
                --nesting_;
                return true;
            }
            if (!parse_statement(body, ends) || !expect_kind(JinjaTokenKind::block_end)) return false;
        }
    }
    --nesting_;
    if (ends.size() == 0) return true;
    return fail(peek().at, "the template ends, expected ", list_ends(ends), " for the ", quoted(tag), " of line ",
                at.line);
}

// The rest of the opening tag, then a body; its end tag's name is the next token.
bool JinjaParser::parse_block(JinjaBody& body, std::string_view tag, JinjaPosition at, Ends ends) {
    skip_operation(":");
    return expect_kind(JinjaTokenKind::block_end) && parse_body(body, tag, at, ends);
}

bool JinjaParser::parse_statement(JinjaBody& body, Ends ends) {
    if (!is_kind(JinjaTokenKind::name)) return unexpected("the name of a tag");
    using Parse = bool (JinjaParser::*)(JinjaBody&);
    struct Tag {
        std::string_view name;
        Parse parse;
    };
    static constexpr Tag kTags[] = {
        {"if", &JinjaParser::parse_condition},    {"for", &JinjaParser::parse_loop},
        {"set", &JinjaParser::parse_set},         {"macro", &JinjaParser::parse_macro},
        {"call", &JinjaParser::parse_call_block}, {"filter", &JinjaParser::parse_filter_block},
        {"with", &JinjaParser::parse_with},       {"generation", &JinjaParser::parse_generation},
        {"break", &JinjaParser::parse_flow},      {"continue", &JinjaParser::parse_flow},
        {"print", &JinjaParser::parse_print},
    };
    for (const Tag& tag : kTags) {
        if (is_name(tag.name)) return (this->*tag.parse)(body);
    }
    return parse_unknown_tag(peek().text, ends);
}

bool JinjaParser::parse_unknown_tag(std::string_view tag, Ends ends) {
    static constexpr std::string_view kNeedsOthers[] = {"include", "import", "from", "extends", "block"};
    if (std::find(std::begin(kNeedsOthers), std::end(kNeedsOthers), tag) != std::end(kNeedsOthers)) {
        return fail_as(StatusCode::unsupported, peek().at, "the tag ", quoted(tag),
                       " is not supported: a chat template stands alone, without parts in other files");
    }
    if (tag == "autoescape") {
        return fail_as(StatusCode::unsupported, peek().at,
                       "the tag 'autoescape' is not supported: a prompt is no HTML");
    }
    const std::string expected =
        ends.size() == 0 ? std::string() : text(", expected ", list_ends(ends), " or a tag that opens a block");
    return fail(peek().at, "unknown tag ", quoted(tag), expected);
}

// {% print a, b %}
bool JinjaParser::parse_print(JinjaBody& body) {
    take();
    for (bool is_first = true; !is_kind(JinjaTokenKind::block_end); is_first = false) {
        if (!is_first && !expect_operation(",")) return false;
        auto output = std::make_unique<JinjaOutput>(peek().at);
        output->expression = parse_expression();
        if (!output->expression) return false;
        body.push_back(std::move(output));
    }
    return true;
}

bool JinjaParser::parse_flow(JinjaBody& body) {
    const bool is_break = is_name("break");
    const JinjaPosition at = take().at;
    if (loops_ == 0)
        return fail(at, is_break ? "'break'" : "'continue'", " stands outside of any loop it could act on");
    body.push_back(std::make_unique<JinjaFlowStatement>(
        is_break ? JinjaStatementKind::break_loop : JinjaStatementKind::continue_loop, at));
    return true;
}

bool JinjaParser::parse_simple_target(JinjaTarget& target, bool with_attributes) {
    target.at = peek().at;
    if (skip_operation("(")) {
        ++nesting_;
        if (!enter(target.at) || !parse_target(target, with_attributes) || !expect_operation(")")) return false;
        --nesting_;
        return true;
    }
    if (!is_kind(JinjaTokenKind::name)) return unexpected("the name of a variable to assign to");
    target.name = take().text;
    static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
    if (std::find(std::begin(kConstants), std::end(kConstants), target.name) != std::end(kConstants)) {
        return fail(target.at, "cannot assign to ", quoted(target.name));
    }
    if (!with_attributes || !skip_operation(".")) return true;
    target.kind = JinjaTarget::Kind::attribute;
    return take_name(target.attribute);
}

// A name, an attribute of a namespace where allowed, or several with commas.
bool JinjaParser::parse_target(JinjaTarget& target, bool with_attributes) {
    target.at = peek().at;
    JinjaTarget first;
    if (!parse_simple_target(first, with_attributes)) return false;
    if (!is_operation(",")) {
        target = std::move(first);
        return true;
    }
    target.kind = JinjaTarget::Kind::tuple;
    target.items.push_back(std::move(first));
    while (skip_operation(",")) {
        if (is_operation(")") || is_name("in") || is_kind(JinjaTokenKind::block_end)) break;
        if (!parse_simple_target(target.items.emplace_back(), with_attributes)) return false;
    }
    return true;
}

}  // namespace mixtura
