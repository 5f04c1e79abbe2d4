#include "tokenizer/template/resolve.hpp"

namespace mixtura {
namespace {

// Walks a body in the order Jinja does, until the name is read (found) or assigned to (declared).
class NameScan {
  public:
    explicit NameScan(std::string_view name) : name_(name) {}
    bool was_found() const { return was_found_; }

    void body(const JinjaBody& statements) {
        for (const auto& node : statements) {
            if (is_over_) return;
            statement(*node);
        }
    }

  private:
    void expression(const JinjaExpression* node) {
        if (node == nullptr || is_over_) return;
        if (node->kind == JinjaExpressionKind::name && node->text == name_) was_found_ = is_over_ = true;
        for (const JinjaExpressionPtr& operand : node->operands) expression(operand.get());
        if (!node->arguments) return;
        for (const JinjaExpressionPtr& argument : node->arguments->positional) expression(argument.get());
        for (const JinjaKeyword& keyword : node->arguments->keywords) expression(keyword.value.get());
        expression(node->arguments->star.get());
        expression(node->arguments->double_star.get());
    }
    void target(const JinjaTarget& node) {
        if (node.kind == JinjaTarget::Kind::name && node.name == name_) is_over_ = true;
        for (const JinjaTarget& item : node.items) target(item);
    }
    void macro(const JinjaMacroDefinition& node) {
        for (const JinjaParameter& parameter : node.parameters) {
            if (parameter.name == name_) is_over_ = true;
        }
        for (const JinjaParameter& parameter : node.parameters) expression(parameter.standard.get());
        body(node.body);
    }

    void statement(const JinjaStatement& any) {
        switch (any.kind) {
            case JinjaStatementKind::output: expression(static_cast<const JinjaOutput&>(any).expression.get()); break;
            case JinjaStatementKind::condition: {
                const auto& node = static_cast<const JinjaCondition&>(any);
                for (const JinjaBranch& branch : node.branches) {
                    expression(branch.test.get());
                    body(branch.body);
                }
                body(node.otherwise);
                break;
            }
            case JinjaStatementKind::loop: {
                const auto& node = static_cast<const JinjaLoopStatement&>(any);
                target(node.target);
                expression(node.iterable.get());
                body(node.body);
                body(node.otherwise);
                expression(node.test.get());
                break;
            }
            case JinjaStatementKind::set: {
                const auto& node = static_cast<const JinjaSet&>(any);
                target(node.target);
                expression(node.value.get());
                break;
            }
            case JinjaStatementKind::set_block: {
                const auto& node = static_cast<const JinjaSetBlock&>(any);
                target(node.target);
                expression(node.filter.get());
                body(node.body);
                break;
            }
            case JinjaStatementKind::with: {
                const auto& node = static_cast<const JinjaWith&>(any);
                for (const JinjaTarget& each : node.targets) target(each);
                for (const JinjaExpressionPtr& value : node.values) expression(value.get());
                body(node.body);
                break;
            }
            case JinjaStatementKind::macro: macro(static_cast<const JinjaMacroStatement&>(any).macro); break;
            case JinjaStatementKind::call_block: {
                const auto& node = static_cast<const JinjaCallBlock&>(any);
                expression(node.call.get());
                macro(node.caller);
                break;
            }
            case JinjaStatementKind::filter_block: {
                const auto& node = static_cast<const JinjaFilterBlock&>(any);
                body(node.body);
                expression(node.filter.get());
                break;
            }
            case JinjaStatementKind::break_loop:
            case JinjaStatementKind::continue_loop: break;
        }
    }

    std::string_view name_;
    bool was_found_ = false;
    bool is_over_ = false;
};

bool assigns(const JinjaTarget& target, std::string_view name, JinjaPosition& where) {
    if (target.kind == JinjaTarget::Kind::name && target.name == name) {
        where = target.at;
        return true;
    }
    for (const JinjaTarget& item : target.items) {
        if (assigns(item, name, where)) return true;
    }
    return false;
}

bool assigns(const JinjaBody& body, std::string_view name, JinjaPosition& where) {
    for (const auto& any : body) {
        bool found = false;
        switch (any->kind) {
            case JinjaStatementKind::condition: {
                const auto& node = static_cast<const JinjaCondition&>(*any);
                for (const JinjaBranch& branch : node.branches) found = found || assigns(branch.body, name, where);
                found = found || assigns(node.otherwise, name, where);
                break;
            }
            case JinjaStatementKind::loop:
                found = assigns_jinja_name(static_cast<const JinjaLoopStatement&>(*any), name, where);
                break;
            case JinjaStatementKind::set:
                found = assigns(static_cast<const JinjaSet&>(*any).target, name, where);
                break;
            case JinjaStatementKind::set_block: {
                const auto& node = static_cast<const JinjaSetBlock&>(*any);
                found = assigns(node.target, name, where) || assigns(node.body, name, where);
                break;
            }
            case JinjaStatementKind::with:
                found = assigns(static_cast<const JinjaWith&>(*any).body, name, where);
                break;
            case JinjaStatementKind::macro:
                found = assigns(static_cast<const JinjaMacroStatement&>(*any).macro.body, name, where);
                break;
            case JinjaStatementKind::call_block:
                found = assigns(static_cast<const JinjaCallBlock&>(*any).caller.body, name, where);
                break;
            case JinjaStatementKind::filter_block:
                found = assigns(static_cast<const JinjaFilterBlock&>(*any).body, name, where);
                break;
            case JinjaStatementKind::output:
            case JinjaStatementKind::break_loop:
            case JinjaStatementKind::continue_loop: break;
        }
        if (found) return true;
    }
    return false;
}

}  // namespace

bool mentions_jinja_name(const JinjaBody& body, std::string_view name) {
    NameScan scan(name);
    scan.body(body);
    return scan.was_found();
}

bool assigns_jinja_name(const JinjaLoopStatement& loop, std::string_view name, JinjaPosition& where) {
    return assigns(loop.target, name, where) || assigns(loop.body, name, where) || assigns(loop.otherwise, name, where);
}

}  // namespace mixtura
