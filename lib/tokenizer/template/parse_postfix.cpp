// Operands: literals, names, brackets, and what may follow them: attributes, subscripts, calls, filters, tests.
#include "tokenizer/template/parser.hpp"

namespace mixtura {

JinjaExpressionPtr JinjaParser::parse_primary() {
    const JinjaToken& token = peek();
    if (token.kind == JinjaTokenKind::name) {
        take();
        JinjaConstant constant;
        if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
            constant.kind = JinjaKind::boolean;
            constant.integer = token.text == "true" || token.text == "True" ? 1 : 0;
            return make_constant(std::move(constant), token.at);
        }
        if (token.text == "none" || token.text == "None") return make_constant(std::move(constant), token.at);
        JinjaExpressionPtr name = make(JinjaExpressionKind::name, token.at);
        name->text = token.text;
        return name;
    }
    if (is_operation("(")) {
        take();
        JinjaExpressionPtr inner = parse_tuple(TupleRule::in_parentheses);
        return inner && expect_operation(")") ? std::move(inner) : nullptr;
    }
    if (is_operation("[")) return parse_list();
    if (is_operation("{")) return parse_dict();
    return parse_literal();
}

JinjaExpressionPtr JinjaParser::parse_literal() {
    const JinjaToken& token = peek();
    JinjaConstant constant;
    switch (token.kind) {
        case JinjaTokenKind::string:
            constant.kind = JinjaKind::string;
            while (is_kind(JinjaTokenKind::string)) constant.text += take().text;  // 'a' 'b' is 'ab'
            break;
        case JinjaTokenKind::integer:
            constant.kind = JinjaKind::integer;
            constant.integer = take().integer;
            break;
        case JinjaTokenKind::real:
            constant.kind = JinjaKind::real;
            constant.real = take().real;
            break;
        default: unexpected("an expression"); return nullptr;
    }
    return make_constant(std::move(constant), token.at);
}

JinjaExpressionPtr JinjaParser::parse_list() {
    JinjaExpressionPtr list = make(JinjaExpressionKind::list, take().at);
    while (!is_operation("]")) {
        if (!adopt(*list, parse_expression())) return nullptr;
        if (!skip_operation(",")) break;
    }
    return expect_operation("]") ? std::move(list) : nullptr;
}

JinjaExpressionPtr JinjaParser::parse_dict() {
    JinjaExpressionPtr dict = make(JinjaExpressionKind::dict, take().at);
    while (!is_operation("}")) {
        if (!adopt(*dict, parse_expression()) || !expect_operation(":") || !adopt(*dict, parse_expression()))
            return nullptr;
        if (!skip_operation(",")) break;
    }
    return expect_operation("}") ? std::move(dict) : nullptr;
}

JinjaExpressionPtr JinjaParser::parse_postfix(JinjaExpressionPtr base) {
    while (base) {
        if (is_operation("."))
            base = parse_attribute(std::move(base));
        else if (is_operation("["))
            base = parse_subscript(std::move(base));
        else if (is_operation("("))
            base = parse_call(std::move(base));
        else
            break;
    }
    return base;
}

JinjaExpressionPtr JinjaParser::parse_filters(JinjaExpressionPtr base) {
    while (base) {
        if (skip_operation("|"))
            base = parse_filter(std::move(base));
        else if (is_name("is"))
            base = parse_test(std::move(base));
        else if (is_operation("("))
            base = parse_call(std::move(base));
        else
            break;
    }
    return base;
}

JinjaExpressionPtr JinjaParser::parse_attribute(JinjaExpressionPtr base) {
    const JinjaPosition at = take().at;
    if (is_kind(JinjaTokenKind::integer)) {  // a.0 is a[0]
        JinjaExpressionPtr item = make(JinjaExpressionKind::item, at);
        return adopt(*item, std::move(base)) && adopt(*item, parse_literal()) ? std::move(item) : nullptr;
    }
    JinjaExpressionPtr attribute = make(JinjaExpressionKind::attribute, at);
    return take_name(attribute->text) && adopt(*attribute, std::move(base)) ? std::move(attribute) : nullptr;
}

// An index, or the three parts of a slice, appended to the operands.
bool JinjaParser::parse_subscripted(JinjaExpression& parent, bool& is_slice) {
    JinjaExpressionPtr parts[3];
    if (!is_operation(":")) {
        parts[0] = parse_expression();
        if (!parts[0]) return false;
    }
    is_slice = is_operation(":");
    if (!is_slice) return adopt(parent, std::move(parts[0]));
    const auto is_left_out = [&] { return is_operation(":") || is_operation("]") || is_operation(","); };
    for (int i = 1; i < 3 && skip_operation(":"); ++i) {
        if (is_left_out()) continue;
        parts[i] = parse_expression();
        if (!parts[i]) return false;
    }
    for (JinjaExpressionPtr& part : parts) {
        if (part && !count_depth(parent, part.get())) return false;
        parent.operands.push_back(std::move(part));
    }
    return true;
}

JinjaExpressionPtr JinjaParser::parse_subscript(JinjaExpressionPtr base) {
    const JinjaPosition at = take().at;
    JinjaExpressionPtr node = make(JinjaExpressionKind::item, at);
    bool is_slice = false;
    if (!adopt(*node, std::move(base))) return nullptr;
    if (is_operation("]")) {  // a[] takes the empty tuple
        take();
        return adopt(*node, make(JinjaExpressionKind::tuple, at)) ? std::move(node) : nullptr;
    }
    if (!parse_subscripted(*node, is_slice)) return nullptr;
    if (is_slice) node->kind = JinjaExpressionKind::slice;
    if (is_operation(",") && !is_slice) {  // a[1, 2] takes the tuple (1, 2)
        JinjaExpressionPtr tuple = make(JinjaExpressionKind::tuple, at);
        tuple->depth = node->operands[1]->depth + 1;
        tuple->operands.push_back(std::move(node->operands[1]));
        while (skip_operation(",") && !is_operation("]")) {
            if (!adopt(*tuple, parse_expression())) return nullptr;
        }
        node->operands.pop_back();
        if (!adopt(*node, std::move(tuple))) return nullptr;
    }
    return expect_operation("]") ? std::move(node) : nullptr;
}

std::unique_ptr<JinjaArgumentList> JinjaParser::parse_arguments() {
    auto list = std::make_unique<JinjaArgumentList>();
    if (!expect_operation("(")) return nullptr;
    const auto misplaced = [&](JinjaPosition at, std::string_view what) {
        fail(at, what, " cannot stand here in a call");
        return nullptr;
    };
    while (!is_operation(")")) {
        const JinjaPosition at = peek().at;
        if (skip_operation("*")) {
            if (list->star || list->double_star) return misplaced(at, "'*'");
            if (!(list->star = parse_expression())) return nullptr;
        } else if (skip_operation("**")) {
            if (list->double_star) return misplaced(at, "'**'");
            if (!(list->double_star = parse_expression())) return nullptr;
        } else if (is_kind(JinjaTokenKind::name) && is_operation("=", 1)) {
            if (list->double_star) return misplaced(at, "a named argument");
            JinjaKeyword keyword;
            keyword.name = take().text;
            take();
            for (const JinjaKeyword& other : list->keywords) {
                if (other.name == keyword.name) {
                    fail(at, "the argument ", quoted(keyword.name), " is given twice");
                    return nullptr;
                }
            }
            if (!(keyword.value = parse_expression())) return nullptr;
            list->keywords.push_back(std::move(keyword));
        } else {
            if (list->star || list->double_star || !list->keywords.empty())
                return misplaced(at, "an argument without a name");
            JinjaExpressionPtr argument = parse_expression();
            if (!argument) return nullptr;
            list->positional.push_back(std::move(argument));
        }
        if (!skip_operation(",")) break;
    }
    return expect_operation(")") ? std::move(list) : nullptr;
}

bool JinjaParser::take_arguments(JinjaExpression& node) {
    node.arguments = parse_arguments();
    if (!node.arguments) return false;
    for (const JinjaExpressionPtr& argument : node.arguments->positional) {
        if (!count_depth(node, argument.get())) return false;
    }
    for (const JinjaKeyword& keyword : node.arguments->keywords) {
        if (!count_depth(node, keyword.value.get())) return false;
    }
    return count_depth(node, node.arguments->star.get()) && count_depth(node, node.arguments->double_star.get());
}

JinjaExpressionPtr JinjaParser::parse_call(JinjaExpressionPtr base) {
    JinjaExpressionPtr call = make(JinjaExpressionKind::call, peek().at);
    return take_arguments(*call) && adopt(*call, std::move(base)) ? std::move(call) : nullptr;
}

bool JinjaParser::parse_dotted_name(std::string& name) {
    if (!take_name(name)) return false;
    while (skip_operation(".")) {
        std::string part;
        if (!take_name(part)) return false;
        name += '.';
        name += part;
    }
    return true;
}

JinjaExpressionPtr JinjaParser::parse_filter(JinjaExpressionPtr base) {
    JinjaExpressionPtr filter = make(JinjaExpressionKind::filter, peek().at);
    if (!parse_dotted_name(filter->text)) return nullptr;
    filter->arguments = std::make_unique<JinjaArgumentList>();
    if (is_operation("(") && !take_arguments(*filter)) return nullptr;
    if (base) return adopt(*filter, std::move(base)) ? std::move(filter) : nullptr;
    filter->operands.push_back(nullptr);
    return filter;
}

JinjaExpressionPtr JinjaParser::parse_test(JinjaExpressionPtr base) {
    const JinjaPosition at = take().at;
    const bool is_negated = skip_name("not");
    JinjaExpressionPtr test = make(JinjaExpressionKind::test, at);
    if (!parse_dotted_name(test->text)) return nullptr;
    test->arguments = std::make_unique<JinjaArgumentList>();
    if (is_name("is")) {
        fail(peek().at, "tests cannot be chained with 'is'");
        return nullptr;
    }
    const bool is_operand = is_kind(JinjaTokenKind::name) || is_kind(JinjaTokenKind::string) ||
                            is_kind(JinjaTokenKind::integer) || is_kind(JinjaTokenKind::real) || is_operation("[") ||
                            is_operation("{");
    if (is_operation("(")) {
        if (!take_arguments(*test)) return nullptr;
    } else if (is_operand && !is_name("else") && !is_name("or") && !is_name("and")) {  // x is divisibleby 3
        JinjaExpressionPtr operand = parse_primary();
        if (operand) operand = parse_postfix(std::move(operand));
        if (!operand || !count_depth(*test, operand.get())) return nullptr;
        test->arguments->positional.push_back(std::move(operand));
    }
    if (!adopt(*test, std::move(base))) return nullptr;
    if (!is_negated) return test;
    JinjaExpressionPtr negation = make(JinjaExpressionKind::logical_not, at);
    return adopt(*negation, std::move(test)) ? std::move(negation) : nullptr;
}

}  // namespace mixtura
