// Looking into values: attributes, items, slices, elements one by one, lengths; with the sandbox's rules.
#pragma once

#include <optional>
#include <string_view>

#include "tokenizer/template/run.hpp"

namespace mixtura {

// object.name: a method or property first, an item of that name else; undefined where there is neither.
bool jinja_attribute(JinjaRun& run, const JinjaValue& object, std::string_view name, JinjaValue& out);
// object.name without the item; `was_found` says whether there is such an attribute.
bool jinja_property(JinjaRun& run, const JinjaValue& object, std::string_view name, JinjaValue& out, bool& was_found);
// object[key]: the item first, an attribute else.
bool jinja_item(JinjaRun& run, const JinjaValue& object, const JinjaValue& key, JinjaValue& out);
// object[start:stop:step]; kind missing for a part left out.
bool jinja_slice_of(JinjaRun& run, const JinjaValue& object, const JinjaValue& start, const JinjaValue& stop,
                    const JinjaValue& step, JinjaValue& out);

// An undefined value and why; `name` must live as long as the rendering.
bool make_jinja_undefined(JinjaRun& run, JinjaUndefined::Reason reason, JinjaKind owner, std::string_view name,
                          JinjaValue& out);
// Fails because an undefined value was needed.
bool fail_jinja_undefined(JinjaRun& run, const JinjaValue& undefined);

bool is_jinja_iterable(const JinjaValue& value);
// Elements of what has a length; nothing for everything else.
std::optional<std::int64_t> jinja_length(const JinjaValue& value);

// Elements in order, as a for loop takes them.
class JinjaIterator {
  public:
    bool start(JinjaRun& run, const JinjaValue& value);  // fails for what cannot be iterated
    bool next(JinjaRun& run, JinjaValue& element);       // false at the end, and when it failed
  private:
    JinjaValue source_;
    std::uint32_t at_ = 0;
};

// Collects elements for a list or tuple.
class JinjaListBuilder {
  public:
    explicit JinjaListBuilder(JinjaRun& run) : run_(run) {}
    [[nodiscard]] bool push(const JinjaValue& value);
    std::uint32_t size() const { return store_ == nullptr ? 0 : store_->used; }
    JinjaValue& operator[](std::uint32_t i) { return store_->items[i]; }
    void clear() { store_ = nullptr; }  // starts a new list
    [[nodiscard]] bool finish(JinjaKind kind, bool is_trusted, JinjaValue& out);
    // As what Python gives out once and one by one; `name` is static.
    [[nodiscard]] bool finish_generator(std::string_view name, bool is_trusted, JinjaValue& out);

  private:
    JinjaRun& run_;
    JinjaListStore* store_ = nullptr;
};

bool make_jinja_pair(JinjaRun& run, const JinjaValue& first, const JinjaValue& second, JinjaValue& out);  // a tuple
bool collect_jinja_elements(JinjaRun& run, const JinjaValue& iterable, JinjaListBuilder& list);
// left + right for two lists or two tuples.
bool join_jinja_lists(JinjaRun& run, const JinjaValue& left, const JinjaValue& right, JinjaValue& out);

}  // namespace mixtura
