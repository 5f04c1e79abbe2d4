// Operators, from the loosest (a if b else c) to the tightest (unary minus); operands are in parse_postfix.cpp.
#include <array>

#include "tokenizer/template/parser.hpp"

namespace mixtura {
namespace {

struct OperatorName {
    std::string_view written;
    JinjaOperator op;
};
constexpr std::array<OperatorName, 6> kComparisons{{{"==", JinjaOperator::equal},
                                                    {"!=", JinjaOperator::not_equal},
                                                    {"<", JinjaOperator::less},
                                                    {"<=", JinjaOperator::less_equal},
                                                    {">", JinjaOperator::greater},
                                                    {">=", JinjaOperator::greater_equal}}};
constexpr std::array<OperatorName, 2> kSums{{{"+", JinjaOperator::add}, {"-", JinjaOperator::subtract}}};
constexpr std::array<OperatorName, 4> kProducts{{{"*", JinjaOperator::multiply},
                                                 {"/", JinjaOperator::divide},
                                                 {"//", JinjaOperator::floor_divide},
                                                 {"%", JinjaOperator::modulo}}};
constexpr std::array<OperatorName, 1> kPowers{{{"**", JinjaOperator::power}}};

const OperatorName* find_operator(std::span<const OperatorName> names, const JinjaToken& token) {
    if (token.kind != JinjaTokenKind::operation) return nullptr;
    for (const OperatorName& name : names) {
        if (name.written == token.text) return &name;
    }
    return nullptr;
}

// Binary operators that are chains, loosest first.  In Jinja ~ binds tighter than + and looser than *.
constexpr int kSumLevel = 0, kConcatLevel = 1, kProductLevel = 2, kPowerLevel = 3;

}  // namespace

JinjaExpressionPtr JinjaParser::make(JinjaExpressionKind kind, JinjaPosition at) const {
    auto node = std::make_unique<JinjaExpression>();
    node->kind = kind;
    node->at = at;
    return node;
}

JinjaExpressionPtr JinjaParser::make_constant(JinjaConstant constant, JinjaPosition at) {
    JinjaExpressionPtr node = make(JinjaExpressionKind::constant, at);
    node->constant = static_cast<std::uint32_t>(program_.constants.size());
    program_.constants.push_back(std::move(constant));
    return node;
}

bool JinjaParser::count_depth(JinjaExpression& parent, const JinjaExpression* child) {
    if (child == nullptr) return true;
    parent.depth = std::max(parent.depth, child->depth + 1);
    return parent.depth <= kDepthMax ||
           fail_as(StatusCode::budget_exceeded, parent.at, "the expression is deeper than ", kDepthMax, " levels");
}

bool JinjaParser::adopt(JinjaExpression& parent, JinjaExpressionPtr operand) {
    if (!operand || !count_depth(parent, operand.get())) return false;
    parent.operands.push_back(std::move(operand));
    return true;
}

bool JinjaParser::enter(JinjaPosition at) {
    return nesting_ <= kNestingMax ||
           fail_as(StatusCode::budget_exceeded, at, "the template nests deeper than ", kNestingMax, " levels");
}

// One expression, or several with commas between them as a tuple.
JinjaExpressionPtr JinjaParser::parse_tuple(TupleRule rule) {
    const JinjaPosition at = peek().at;
    const auto is_end = [&] {
        return is_kind(JinjaTokenKind::variable_end) || is_kind(JinjaTokenKind::block_end) || is_operation(")") ||
               (rule == TupleRule::without_condition && is_name("recursive"));
    };
    JinjaExpressionPtr tuple = make(JinjaExpressionKind::tuple, at);
    bool has_comma = false;
    while (!is_end()) {
        JinjaExpressionPtr item = rule == TupleRule::without_condition ? parse_or() : parse_expression();
        if (!adopt(*tuple, std::move(item))) return nullptr;
        if (!skip_operation(",")) break;
        has_comma = true;
    }
    if (!has_comma && tuple->operands.size() == 1) return std::move(tuple->operands[0]);
    if (!has_comma && rule != TupleRule::in_parentheses) {
        unexpected("an expression");
        return nullptr;
    }
    return tuple;
}

JinjaExpressionPtr JinjaParser::parse_expression() {
    ++nesting_;
    JinjaExpressionPtr value = enter(peek().at) ? parse_or() : nullptr;
    while (value && is_name("if")) {
        JinjaExpressionPtr node = make(JinjaExpressionKind::conditional, take().at);
        if (!adopt(*node, std::move(value)) || !adopt(*node, parse_or())) return nullptr;
        if (!skip_name("else"))
            node->operands.push_back(nullptr);
        else if (!adopt(*node, parse_expression()))
            return nullptr;
        value = std::move(node);
    }
    --nesting_;
    return value;
}

JinjaExpressionPtr JinjaParser::parse_or() {
    JinjaExpressionPtr first = parse_and();
    if (!first || !is_name("or")) return first;
    JinjaExpressionPtr node = make(JinjaExpressionKind::logical_or, peek().at);
    if (!adopt(*node, std::move(first))) return nullptr;
    while (skip_name("or")) {
        if (!adopt(*node, parse_and())) return nullptr;
    }
    return node;
}

JinjaExpressionPtr JinjaParser::parse_and() {
    JinjaExpressionPtr first = parse_not();
    if (!first || !is_name("and")) return first;
    JinjaExpressionPtr node = make(JinjaExpressionKind::logical_and, peek().at);
    if (!adopt(*node, std::move(first))) return nullptr;
    while (skip_name("and")) {
        if (!adopt(*node, parse_not())) return nullptr;
    }
    return node;
}

JinjaExpressionPtr JinjaParser::parse_not() {
    if (!is_name("not")) return parse_compare();
    JinjaExpressionPtr node = make(JinjaExpressionKind::logical_not, take().at);
    ++nesting_;
    if (!enter(node->at) || !adopt(*node, parse_not())) return nullptr;
    --nesting_;
    return node;
}

JinjaExpressionPtr JinjaParser::parse_compare() {
    JinjaExpressionPtr first = parse_arithmetic(kSumLevel);
    JinjaExpressionPtr node;
    while (first || node) {
        const JinjaPosition at = peek().at;
        JinjaOperator op = JinjaOperator::in;
        if (const OperatorName* name = find_operator(kComparisons, peek())) {
            op = name->op;
            take();
        } else if (is_name("not") && is_name("in", 1)) {
            op = JinjaOperator::not_in;
            take();
            take();
        } else if (!skip_name("in")) {
            break;
        }
        if (!node) {
            node = make(JinjaExpressionKind::compare, at);
            if (!adopt(*node, std::move(first))) return nullptr;
        }
        node->operators.push_back({op, at});
        if (!adopt(*node, parse_arithmetic(kSumLevel))) return nullptr;
    }
    return node ? std::move(node) : std::move(first);
}

JinjaExpressionPtr JinjaParser::parse_arithmetic(int level) {
    if (level > kPowerLevel) return parse_unary(true);
    JinjaExpressionPtr first = parse_arithmetic(level + 1);
    if (!first) return nullptr;
    JinjaExpressionPtr node;
    for (;;) {
        const JinjaPosition at = peek().at;
        if (level == kConcatLevel) {
            if (!skip_operation("~")) break;
        } else {
            const std::span<const OperatorName> names = level == kSumLevel ? std::span<const OperatorName>(kSums)
                                                        : level == kProductLevel
                                                            ? std::span<const OperatorName>(kProducts)
                                                            : std::span<const OperatorName>(kPowers);
            const OperatorName* name = find_operator(names, peek());
            if (name == nullptr) break;
            take();
            if (!node) node = make(JinjaExpressionKind::arithmetic, at);
            node->operators.push_back({name->op, at});
        }
        if (!node) node = make(JinjaExpressionKind::concat, at);
        if (first && !adopt(*node, std::move(first))) return nullptr;
        first = nullptr;
        if (!adopt(*node, parse_arithmetic(level + 1))) return nullptr;
    }
    return node ? std::move(node) : std::move(first);
}

// Unary operators bind tighter than **: -2 ** 2 is 4 in Jinja.
JinjaExpressionPtr JinjaParser::parse_unary(bool with_filter) {
    JinjaExpressionPtr node;
    if (is_operation("-") || is_operation("+")) {
        node = make(is_operation("-") ? JinjaExpressionKind::negative : JinjaExpressionKind::positive, peek().at);
        take();
        ++nesting_;
        if (!enter(node->at) || !adopt(*node, parse_unary(false))) return nullptr;
        --nesting_;
    } else {
        node = parse_primary();
    }
    if (node) node = parse_postfix(std::move(node));
    if (node && with_filter) node = parse_filters(std::move(node));
    return node;
}

}  // namespace mixtura
