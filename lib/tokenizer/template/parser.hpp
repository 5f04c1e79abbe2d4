// Source text to a program whose names are not yet resolved: Jinja's grammar as chat templates use it, with bounded
// depth.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "tokenizer/template/ast.hpp"
#include "tokenizer/template/lexer.hpp"

namespace mixtura {

class JinjaParser {
  public:
    explicit JinjaParser(std::vector<JinjaToken> tokens) : tokens_(std::move(tokens)) {}

    // INVALID_ARGUMENT with line and column and what was expected; UNSUPPORTED for tags that need other templates.
    Result<JinjaProgram> run();

  private:
    // 100 levels of brackets or blocks: published templates stay under 15, and 100 take about 100 KiB of stack.
    static constexpr std::uint32_t kNestingMax = 100;
    static constexpr std::uint32_t kDepthMax = 200;  // of one expression, chains of filters and attributes included

    enum class TupleRule : std::uint8_t { plain, without_condition, in_parentheses };

    // tokens
    const JinjaToken& peek(std::size_t ahead = 0) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }
    const JinjaToken& take() { return tokens_[next_ + 1 < tokens_.size() ? next_++ : next_]; }
    bool is_kind(JinjaTokenKind kind) const { return peek().kind == kind; }
    bool is_name(std::string_view name, std::size_t ahead = 0) const;
    bool is_operation(std::string_view operation, std::size_t ahead = 0) const;
    bool skip_name(std::string_view name);
    bool skip_operation(std::string_view operation);
    bool expect_name(std::string_view name);
    bool expect_operation(std::string_view operation);
    bool expect_kind(JinjaTokenKind kind);
    bool take_name(std::string& name);
    template <class... Parts>
    bool fail(JinjaPosition at, const Parts&... parts) {
        return fail_as(StatusCode::invalid_argument, at, parts...);
    }
    template <class... Parts>
    bool fail_as(StatusCode code, JinjaPosition at, const Parts&... parts) {
        if (failure_.is_ok()) failure_ = Status(code, jinja_message(at, parts...));
        return false;
    }
    bool unexpected(std::string_view expected);
    bool enter(JinjaPosition at);

    // statements (parse_statement.cpp, parse_block.cpp): false or null once failed
    using Ends = std::initializer_list<std::string_view>;
    bool parse_body(JinjaBody& body, std::string_view tag, JinjaPosition at, Ends ends);
    bool parse_block(JinjaBody& body, std::string_view tag, JinjaPosition at, Ends ends);
    bool parse_unknown_tag(std::string_view tag, Ends ends);
    bool parse_statement(JinjaBody& body, Ends ends);
    bool parse_condition(JinjaBody& body);
    bool parse_loop(JinjaBody& body);
    bool parse_set(JinjaBody& body);
    bool parse_with(JinjaBody& body);
    bool parse_macro(JinjaBody& body);
    bool parse_call_block(JinjaBody& body);
    bool parse_generation(JinjaBody& body);
    bool parse_filter_block(JinjaBody& body);
    bool parse_print(JinjaBody& body);
    bool parse_flow(JinjaBody& body);
    bool parse_signature(JinjaMacroDefinition& macro);
    bool parse_macro_body(JinjaMacroDefinition& macro, std::string_view tag, JinjaPosition at, std::string_view end);
    bool parse_target(JinjaTarget& target, bool with_attributes);
    bool parse_simple_target(JinjaTarget& target, bool with_attributes);

    // expressions (parse_expression.cpp, parse_postfix.cpp): null once failed
    JinjaExpressionPtr parse_tuple(TupleRule rule);
    JinjaExpressionPtr parse_expression();
    JinjaExpressionPtr parse_or();
    JinjaExpressionPtr parse_and();
    JinjaExpressionPtr parse_not();
    JinjaExpressionPtr parse_compare();
    JinjaExpressionPtr parse_arithmetic(int level);
    JinjaExpressionPtr parse_unary(bool with_filter);
    JinjaExpressionPtr parse_primary();
    JinjaExpressionPtr parse_literal();
    JinjaExpressionPtr parse_list();
    JinjaExpressionPtr parse_dict();
    JinjaExpressionPtr parse_postfix(JinjaExpressionPtr base);
    JinjaExpressionPtr parse_filters(JinjaExpressionPtr base);
    JinjaExpressionPtr parse_filter(JinjaExpressionPtr base);  // behind the "|"
    JinjaExpressionPtr parse_test(JinjaExpressionPtr base);
    JinjaExpressionPtr parse_call(JinjaExpressionPtr base);
    JinjaExpressionPtr parse_attribute(JinjaExpressionPtr base);
    JinjaExpressionPtr parse_subscript(JinjaExpressionPtr base);
    bool parse_subscripted(JinjaExpression& parent, bool& is_slice);
    std::unique_ptr<JinjaArgumentList> parse_arguments();
    bool take_arguments(JinjaExpression& node);
    bool parse_dotted_name(std::string& name);

    JinjaExpressionPtr make(JinjaExpressionKind kind, JinjaPosition at) const;
    JinjaExpressionPtr make_constant(JinjaConstant constant, JinjaPosition at);
    // Takes an operand and the depth it brings; false once the expression is too deep.
    bool adopt(JinjaExpression& parent, JinjaExpressionPtr operand);
    bool count_depth(JinjaExpression& parent, const JinjaExpression* child);

    std::vector<JinjaToken> tokens_;
    std::size_t next_ = 0;
    Status failure_;
    std::uint32_t nesting_ = 0;
    std::uint32_t loops_ = 0;  // around here, within the current macro: what break may leave
    JinjaProgram program_;
};

}  // namespace mixtura
