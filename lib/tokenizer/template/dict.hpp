// Dicts and namespaces: made once, looked up by key in time bounded whatever the keys.
#pragma once

#include <string_view>

#include "tokenizer/template/run.hpp"

namespace mixtura {

// Whether a value can be a key: text, numbers, none, tuples of those (nested 16 deep at most), objects without content.
bool is_jinja_key(const JinjaValue& value);

// Null where there is no such key.  1, 1.0 and true are one key, as in Python.
const JinjaEntry* find_in_jinja_dict(const JinjaDict& dict, const JinjaValue& key);
const JinjaEntry* find_in_jinja_dict(const JinjaDict& dict, std::string_view key);

// Makes a dict of entries as a template or a document lists them.  A later entry of a key replaces the value of an
// earlier one.  `entries` lies in the arena and is the dict's from now on.  Every key must be a key.
bool make_jinja_dict(JinjaRun& run, JinjaEntry* entries, std::size_t count, bool is_trusted, JinjaValue& out);

// Text as a key, borrowed: the bytes must live as long as the rendering.
bool make_jinja_key(JinjaRun& run, std::string_view name, bool is_trusted, JinjaValue& out);

const JinjaEntry* find_in_jinja_namespace(const JinjaNamespace& name_space, std::string_view name);
bool set_in_jinja_namespace(JinjaRun& run, JinjaNamespace& name_space, const JinjaValue& key, const JinjaValue& value);

}  // namespace mixtura
