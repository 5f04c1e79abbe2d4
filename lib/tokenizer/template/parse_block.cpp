// The tags with a body: if, for, set, with, macro, call, filter, generation.
#include "tokenizer/template/parser.hpp"

namespace mixtura {

bool JinjaParser::parse_condition(JinjaBody& body) {
    const JinjaPosition at = peek().at;
    auto node = std::make_unique<JinjaCondition>(at);
    while (skip_name("if") || skip_name("elif")) {
        JinjaBranch& branch = node->branches.emplace_back();
        branch.test = parse_tuple(TupleRule::without_condition);
        if (!branch.test || !parse_block(branch.body, "if", at, {"elif", "else", "endif"})) return false;
    }
    if (skip_name("else") && !parse_block(node->otherwise, "if", at, {"endif"})) return false;
    body.push_back(std::move(node));
    return expect_name("endif");
}

bool JinjaParser::parse_loop(JinjaBody& body) {
    const JinjaPosition at = take().at;
    auto node = std::make_unique<JinjaLoopStatement>(at);
    if (!parse_target(node->target, false) || !expect_name("in")) return false;
    node->iterable = parse_tuple(TupleRule::without_condition);
    if (!node->iterable) return false;
    if (skip_name("if") && !(node->test = parse_expression())) return false;
    node->is_recursive = skip_name("recursive");
    const std::uint32_t loops_outside = loops_;
    loops_ = node->is_recursive ? 1 : loops_ + 1;
    if (!parse_block(node->body, "for", at, {"else", "endfor"})) return false;
    loops_ = node->is_recursive ? 0 : loops_outside;  // the else part runs after the loop
    if (skip_name("else") && !parse_block(node->otherwise, "for", at, {"endfor"})) return false;
    loops_ = loops_outside;
    body.push_back(std::move(node));
    return expect_name("endfor");
}

bool JinjaParser::parse_set(JinjaBody& body) {
    const JinjaPosition at = take().at;
    JinjaTarget target;
    if (!parse_target(target, true)) return false;
    if (skip_operation("=")) {
        auto node = std::make_unique<JinjaSet>(at);
        node->target = std::move(target);
        node->value = parse_tuple(TupleRule::plain);
        if (!node->value) return false;
        body.push_back(std::move(node));
        return true;
    }
    auto node = std::make_unique<JinjaSetBlock>(at);
    node->target = std::move(target);
    while (skip_operation("|")) {
        node->filter = parse_filter(std::move(node->filter));
        if (!node->filter) return false;
    }
    if (!parse_block(node->body, "set", at, {"endset"})) return false;
    body.push_back(std::move(node));
    return expect_name("endset");
}

bool JinjaParser::parse_with(JinjaBody& body) {
    const JinjaPosition at = take().at;
    auto node = std::make_unique<JinjaWith>(at);
    while (!is_kind(JinjaTokenKind::block_end)) {
        if (!node->targets.empty() && !expect_operation(",")) return false;
        JinjaTarget& target = node->targets.emplace_back();
        if (!parse_target(target, false) || !expect_operation("=")) return false;
        JinjaExpressionPtr value = parse_expression();
        if (!value) return false;
        node->values.push_back(std::move(value));
    }
    if (!parse_block(node->body, "with", at, {"endwith"})) return false;
    body.push_back(std::move(node));
    return expect_name("endwith");
}

// (a, b=1)
bool JinjaParser::parse_signature(JinjaMacroDefinition& macro) {
    if (!expect_operation("(")) return false;
    while (!is_operation(")")) {
        if (!macro.parameters.empty() && !expect_operation(",")) return false;
        const JinjaPosition at = peek().at;
        JinjaParameter parameter;
        if (!take_name(parameter.name)) return false;
        for (const JinjaParameter& other : macro.parameters) {
            if (other.name == parameter.name)
                return fail(at, "the parameter ", quoted(parameter.name), " is there twice");
        }
        if (skip_operation("=")) {
            if (!(parameter.standard = parse_expression())) return false;
        } else if (!macro.parameters.empty() && macro.parameters.back().standard) {
            return fail(at, "the parameter ", quoted(parameter.name), " without a default follows one with a default");
        }
        macro.parameters.push_back(std::move(parameter));
    }
    return expect_operation(")");
}

bool JinjaParser::parse_macro_body(JinjaMacroDefinition& macro, std::string_view tag, JinjaPosition at,
                                   std::string_view end) {
    const std::uint32_t loops_outside = loops_;
    loops_ = 0;  // a loop around the macro is not its own
    if (!parse_block(macro.body, tag, at, {end})) return false;
    loops_ = loops_outside;
    return expect_name(end);
}

bool JinjaParser::parse_macro(JinjaBody& body) {
    auto node = std::make_unique<JinjaMacroStatement>(take().at);
    node->target.at = peek().at;
    if (!take_name(node->macro.name) || !parse_signature(node->macro)) return false;
    node->target.name = node->macro.name;
    if (!parse_macro_body(node->macro, "macro", node->at, "endmacro")) return false;
    body.push_back(std::move(node));
    return true;
}

bool JinjaParser::parse_call_block(JinjaBody& body) {
    auto node = std::make_unique<JinjaCallBlock>(take().at);
    if (is_operation("(") && !parse_signature(node->caller)) return false;
    node->call = parse_expression();
    if (!node->call) return false;
    if (node->call->kind != JinjaExpressionKind::call) return fail(node->at, "'call' needs the call of a macro");
    if (!parse_macro_body(node->caller, "call", node->at, "endcall")) return false;
    body.push_back(std::move(node));
    return true;
}

// Marks what the assistant said, for training; a prompt prints it as it is.
bool JinjaParser::parse_generation(JinjaBody& body) {
    auto node = std::make_unique<JinjaCallBlock>(take().at);
    if (!parse_macro_body(node->caller, "generation", node->at, "endgeneration")) return false;
    body.push_back(std::move(node));
    return true;
}

bool JinjaParser::parse_filter_block(JinjaBody& body) {
    const JinjaPosition at = take().at;
    auto node = std::make_unique<JinjaFilterBlock>(at);
    do {
        node->filter = parse_filter(std::move(node->filter));
        if (!node->filter) return false;
    } while (skip_operation("|"));
    if (!parse_block(node->body, "filter", at, {"endfilter"})) return false;
    body.push_back(std::move(node));
    return expect_name("endfilter");
}

}  // namespace mixtura
