"""The templates of make_template_cases.py that are written out one by one."""
VARIABLES = dict(
    user="Ada", n=5, pi=3.25, yes=True, no=False, nothing=None, empty="", words=["b", "A", "c", "a"], numbers=[3, 1, 2], nested=[[1, [2, "x"]], {"k": [None]}],
    people=[{"name": "bo", "age": 30, "tags": ["x"], "home": {"city": "Oslo"}}, {"name": "Al", "age": 25, "tags": [], "home": {"city": "Rome"}}, {"name": "cy", "age": 30, "home": {"city": "oslo"}}],
    messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi <|im_end|>"}, {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}],
    table={"b": 1, "a": 2, "C": 3, "items": "shadowed", "_private": 4}, tree=[{"v": 1, "c": [{"v": 2, "c": []}, {"v": 3, "c": [{"v": 4, "c": []}]}]}], html="<b>&\"'", ns=None)
VARIABLES.pop("ns")

EXPRESSIONS = r"""
1 if true else 2
1 if false
(1 if false) is defined
'a' if no else 'b' if yes else 'c'
1 + 2 * 3 - 4 / 2
2 ** 3 ** 2
-2 ** 2
2 ** -1
7 // 2
-7 // 2
7 // -2
-7 % 3
7 % -3
7.5 // 2
-7.5 % 2
7.5 % -2
0.0 // -3
1 / 3
1 // 0
1 % 0
1.0 / 0
0 ** -1
10 ** 15
2 ** 62
'a' ~ 1 ~ none ~ true ~ 2.0 ~ [1] ~ missing
'a' + 'b' ~ 'c' + 'd'
1 ~ 2 + 3
'ab' * 3
3 * 'ab'
'ab' * -1
[1, 2] * 2
(1,) * 2
[1] + [2]
(1,) + (2,)
[1] + (2,)
1 < 2 < 3
1 < 3 < 2
3 > 2 > 1 == 1
1 == 1.0 == true
not 1 == 2
not not yes
yes and no
no or 'x'
0 or '' or none
1 and 'x'
missing or 'x'
'a' in 'cat'
'' in ''
1 in [1.0]
'a' in {'a': 1}
[1] in [[1]]
1 in {}
[1] in {}
none in [none]
'x' not in 'abc'
not 'x' in 'abc'
1 not in [1]
[1, 2] < [1, 3]
[1] < [1, 0]
(1, 'a') < (1, 'b')
[1, 'a'] < [1, 2]
'a' < 'B'
'' < 'a'
1 < none
'é' > 'z'
1 is 1
1 is not none
1 is eq 1
1 is eq(1) and 2 is gt 1
'a' is in 'cat'
'a' is in ['a']
3 is divisibleby 3
3 is divisibleby(2)
10 is odd or 10 is even
'a' is string is defined
missing is defined
missing is undefined
missing.x is defined
user.x is defined
user is defined and user is string
'upper' is filter
'nope' is filter
'odd' is test
none is none
nothing is none
yes is true
yes is boolean
1 is true
no is false
0 is false
1 is integer
true is integer
1.0 is float
1 is number
true is number
'1' is number
[] is sequence
{} is sequence
'' is sequence
{}.items() is sequence
range(2) is sequence
{} is mapping
[] is mapping
missing is iterable
missing is sequence
range is callable
user.upper is callable
user is callable
missing is callable
user is sameas user
[] is sameas []
none is sameas none
1 is sameas true
'A' is upper
'a' is lower
1 is upper
html|e is escaped
html is escaped
4 is ge 4
4 is le 3
4 is lessthan 5
4 is greaterthan 5
4 is ne 5
4 is equalto 4
4 is == 4
4 is >= 4
4 is nosuchtest
4|nosuchfilter
4 if yes else 4|nosuchfilter
4|nosuchfilter if no else 4
4 if no else 4|nosuchfilter
[1, 2, 3][0]
[1, 2, 3][-1]
[1, 2, 3][3]
[1, 2, 3][1:]
[1, 2, 3][:-1]
[1, 2, 3][::-1]
[1, 2, 3][::2]
[1, 2, 3][5:]
[1, 2, 3][none:2]
[1, 2, 3]['0']
[1, 2, 3].0
[[1, 2], [3]].0.1
[1, 2, 3][true]
[1, 2, 3][1.0]
[1, 2, 3][::0]
[1, 2, 3]['a':]
(1, 2, 3)[1:]
'hello'[1]
'hello'[-2:]
'hello'[::-1]
'hello'[1:4:2]
range(10)[2:8:3]
range(10)[-1]
range(10)[::-1]
range(10)[20:]
range(0, 7, 2)[::2]
range(0, 7, 2)
range(5, 0, -2)|list
range(0)
range(3)|length
range()
range(1, 2, 0)
range('a')
range(1.0)
range(100000)|length
range(100001)
range(0, 1000000000, 10000)|length
range(3) == range(0, 3, 1)
range(0) == range(5, 5)
{'a': 1}.a
{'a': 1}['a']
{'a': 1}.b
{'a': 1}.b.c
{'a': 1}[['x']]
{1: 'x'}[1.0]
{1: 'x'}[true]
{true: 'x', 1: 'y'}
{'a': 1, 'b': 2, 'a': 3}
{none: 1, 1.5: 2, (1, 'x'): 3}
{[1]: 2}
{'a': {'b': [1, {'c': none}]}}
{'x': 1,}
{}
{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9, 3: 33, 10: 10}
{1: 1, 2: 2, 3: 3, 4: 4, 5: 5, 6: 6, 7: 7, 8: 8, 9: 9}[9]
{'i': 1, 'h': 2, 'g': 3, 'f': 4, 'e': 5, 'd': 6, 'c': 7, 'b': 8, 'a': 9}.b
table.items
table.items()
table['items']
table.keys()
table.values()|list
table.keys()|list
table.get('a')
table.get('zz')
table.get('zz', 'dflt')
table.get('zz', default=1)
table.get()
table.copy() == table
table.pop('a')
table.update({'x': 1})
table.update is defined
table.setdefault('a', 1)
table.clear()
table.popitem()
table._private
table['_private']
table.__class__
table.nope.nope
words.append('x')
words.append is defined
words.append
words.sort()
words.index('A')
words.index('zz')
words.count('a')
words.copy()
words.extend([1])
words.insert(0, 1)
words.pop()
words.remove('a')
words.reverse()
words.clear
(1, 2, 1).count(1)
(1, 2).index(2)
(1, 2).append
user.upper()
user.upper(1)
user.upper(x=1)
user.split(sep='d')
user.split(sep='d', maxsplit=1)
user.split('')
user.join(words)
user.join([1])
','.join(words)
','.join('abc')
','.join({'x': 1})
','.join(missing)
','.join(5)
user.replace('A', 'B', count=1)
user.replace('A')
user.replace(1, 2)
user.strip(1)
user.strip(none)
user.center('x')
user.center(10, 'ab')
user.startswith(1)
user.startswith(('x', 'A'))
user.startswith(['A'])
user.startswith('d', 1)
user.startswith('a', 5)
user.find('a', -1)
user.find('d', 0, 1)
user.format()
user.encode('utf8')
user.__len__()
user.nope()
user.nope
(5).real
5.5.real
(5).bit_length()
(2.0).is_integer()
(5).numerator
true.real
'{} {}'.format(1, 2)
'{0} {1} {0}'.format('a', 'b')
'{a} {b.c} {d[0]} {d[1]}'.format(a=1, b={'c': 2}, d=[3, 4])
'{}{1}'.format(1, 2)
'{1}{}'.format(1, 2)
'{} {}'.format(1)
'{a}'.format(b=1)
'{{}} {}'.format(1)
'{'.format(1)
'}'.format(1)
'{:>{w}}'.format('x', w=5)
'{:{f}^{w}}'.format('x', f='*', w=5)
'{!r} {!s}'.format('a', 'b')
'{!x}'.format(1)
'{:5}|{:<5}|{:>5}|{:^5}'.format('ab', 'ab', 'ab', 'ab')
'{:.1}'.format('ab')
'{:d}'.format('ab')
'{:d}'.format(1.5)
'{:s}'.format(1)
'{}'.format([1, 'a', none])
'{:5}'.format([1])
'{}'.format(missing)
'{.x}'.format({'x': 1})
'{[x]}'.format({'x': 1})
'{.__class__}'.format('a')
'{a}'.format_map({'a': 1})
'{:,}'.format(1234567.891)
'{:08.3f}'.format(-3.14159)
'{:+.1e}'.format(12345)
'{:.0f}'.format(0.5)
'{:.0f}'.format(1.5)
'{:#b}'.format(5)
'{:=+6}'.format(-5)
'{:x<6}'.format(true)
'%s' % user
'%s %s' % (1, 'b')
'%s' % (1, 2)
'%s %s' % 1
'%(a)s-%(b)03d' % {'a': 'x', 'b': 7}
'%(a)s' % {'b': 1}
'%(a)s' % 1
'%s' % {'a': 1}
'%s' % [1, 2]
'%s' % missing
'x' % 1
'x' % []
'x' % {}
'%*d' % (5, 3)
'%-*d|' % (5, 3)
'%.*f' % (2, 3.14159)
'%r' % 'a'
'%5.1f%%' % 99.55
'%s %%' % 'a'
'%' % 1
'%z' % 1
'%s-%s' | format(1, 2)
'%(a)s' | format(a=1)
'%s' | format(1, a=2)
'%s' | format
1|abs
-1|abs
-1.5|abs
'a'|abs
missing|abs
user|attr('upper')
table|attr('items') is callable
table|attr('a')
table|attr('a') is defined
[1, 2, 3, 4, 5]|batch(2)|list
[1, 2, 3]|batch(2, 'x')|list
[1, 2, 3]|batch(5, 0)|list
[1, 2, 3]|batch(0)|list
[]|batch(2)|list
[1, 2, 3, 4, 5]|slice(2)|list
[1, 2, 3, 4, 5]|slice(3, 'x')|list
[1, 2]|slice(5)|list
[1]|slice(0)|list
missing|default
missing|default('x')
missing|d('x')
none|default('x')
none|default('x', true)
none|d('x', boolean=true)
''|default('x', true)
missing.x|default('x')
user.x|default('x')
user|default('x', foo=1)
table|dictsort
table|dictsort(true)
{'b': 1, 'a': 2}|dictsort(by='value')
{'b': 1, 'a': 2}|dictsort(false, 'value', true)
{'b': 1, 'a': 2}|dictsort(by='x')
{1: 2, 'a': 3}|dictsort
1|dictsort
html|e
html|escape
html|e|e
html|forceescape
html|e|forceescape
html|safe
(html|e) + '<i>'
'<i>' + (html|e)
(html|safe) ~ '<i>'
(html|safe) + '<i>'
(html|e).upper()
(html|e)|upper
('<a>'|safe).join(['<b>', '<c>'])
['<a>'|safe, '<b>']|join
('a<'|safe).replace('a', '<')
('a<'|safe)[0] + '<'
('x'|safe) * 2 + '<'
1|e
none|e
['<']|e
('<%s>'|safe) is escaped
'a b&c/d?e=f é'|urlencode
{'a b': 'c&d', 'e': 1}|urlencode
[('a', 1)]|urlencode
1|urlencode
{'class': 'x', 'id': none, 'data-x': '<'}|xmlattr
{'a': 1}|xmlattr(false)
{'a b': 1}|xmlattr
'<p>a  <b>b</b>\n c &amp; d</p><!-- x -->'|striptags
1000|filesizeformat
1|filesizeformat
999|filesizeformat
1500000|filesizeformat
1024|filesizeformat(true)
123456789012|filesizeformat
'2000'|filesizeformat
[1, 2]|first
[]|first
[]|first is defined
'abc'|first
{'x': 1}|first
missing|first
5|first
[1, 2]|last
[]|last
'abc'|last
{'x': 1, 'y': 2}|last
range(3)|last
{'x': 1}.items()|last
([1, 2]|map('string'))|last
missing|last
'1.5'|float
'x'|float
'x'|float(2.5)
'inf'|float
'1_0.5'|float
' 1e3 '|float
none|float
true|float
missing|float
'42'|int
'42.7'|int
'-42.7'|int
'x'|int
'x'|int(7)
'0x1A'|int(0, 16)
'1A'|int(0, 16)
'0b101'|int(0, 2)
'0x1A'|int(base=0)
'010'|int(base=0)
'1_000'|int
'1__0'|int
' 5 '|int
'٣'|int == 3
''|int
none|int
none|int(default=3)
2.9|int
-2.9|int
true|int
missing|int
[]|int
1e400|int
'inf'|int
'nan'|int
people|groupby('age')|list|length
people|groupby('age')|map('first')|list
people|groupby('home.city')|map(attribute='grouper')|list
people|groupby('home.city', case_sensitive=true)|map(attribute='grouper')|list
people|groupby('tags', default=[])|map('first')|list
people|groupby('nope', default='z')|map('first')|list
people|groupby('nope')
(people|groupby('age'))[0].grouper
(people|groupby('age'))[0].list|length
(people|groupby('age'))[0]|length
'a\nb\n\nc'|indent
'a\nb\n\nc'|indent(2)
'a\nb\n\nc'|indent(2, true)
'a\nb\n\nc'|indent(2, blank=true)
'a\nb'|indent('> ')
'a\nb'|indent(first=true)
''|indent
5|indent
missing|indent
words|join
words|join(', ')
numbers|join('-')
people|join(', ', attribute='name')
people|join(attribute='age')
words|join(1)
[none, true, missing]|join(',')
'abc'|join('-')
{'a': 1, 'b': 2}|join(',')
missing|join(',')
5|join
words|length
missing|length
5|length
none|length
{'a': 1}|length
{'a': 1}.items()|length
words|count
'añ'|length
words|list
'abc'|list
{'a': 1}|list
5|list
missing|list
words|map('upper')|list
words|map('upper')|join
words|map('replace', 'a', 'z')|list
words|map('default', 'x')|list
people|map(attribute='name')|list
people|map(attribute='home.city')|list
people|map(attribute='tags.0')|list
people|map(attribute='tags', default=[])|list
people|map(attribute='nope', default='x')|list
people|map(attribute='nope')|list
people|map(attribute='nope.x')|list
people|map('nosuch')|list
[]|map('nosuch')|list
people|map|list
people|map(attribute='name', foo=1)|list
numbers|map('string')|map('length')|list
[[1, 2], [3]]|map('sum')|list
[[1, 2], [3]]|map(attribute=0)|list
missing|map('upper')|list
(words|map('upper')) is iterable
(words|map('upper')) is sequence
(words|map('upper'))[0]
(words|map('upper'))|length
'y' if (words|select('eq', 'zz')) else 'n'
'y' if (words|select('eq', 'zz')|list) else 'n'
numbers|max
numbers|min
words|max
words|min
words|min(true)
people|max(attribute='age')|attr('x')
(people|max(attribute='age')).name
(people|min(attribute='name')).name
[]|max
[]|max is defined
[1, 'a']|max
[1, 2.5, true]|max
numbers|select|list
[0, 1, '', 'a', none]|select|list
[0, 1, '', 'a', none]|reject|list
numbers|select('odd')|list
numbers|reject('odd')|list
numbers|select('gt', 1)|list
numbers|select('in', [1, 3])|list
numbers|select('divisibleby', 2)|list
numbers|select('nosuch')|list
people|selectattr('tags')|list|length
people|selectattr('age', 'eq', 30)|map(attribute='name')|list
people|selectattr('age', '==', 30)|map(attribute='name')|join(',')
people|rejectattr('age', 'equalto', 30)|map(attribute='name')|list
people|selectattr('home.city', 'eq', 'Oslo')|list|length
people|selectattr('tags', 'defined')|list|length
people|selectattr('tags', 'undefined')|map(attribute='name')|list
people|selectattr|list
people|selectattr('nope.x')|list
messages|selectattr('role', 'in', ['system', 'user'])|map(attribute='content')|list
messages|rejectattr('content', 'none')|list|length
messages|selectattr('tool_calls', 'defined')|list|length
[3, 1, 2]|sort
[3, 1, 2]|sort(true)
[3, 1, 2]|sort(reverse=true)
words|sort
words|sort(case_sensitive=true)
words|sort(true, true)
people|sort(attribute='name')|map(attribute='name')|list
people|sort(attribute='age,name')|map(attribute='name')|list
people|sort(attribute='age', reverse=true)|map(attribute='name')|list
people|sort(attribute='home.city')|map(attribute='name')|list
[1, 'a']|sort
[none, 1]|sort
[[2, 1], [1, 2]]|sort
[true, 0, 2.5]|sort
'cab'|sort
{'b': 1, 'a': 2}|sort
[]|sort
missing|sort
5|sort
5|string
none|string
[1, 'a']|string
(html|e)|string is escaped
numbers|sum
[1.5, 2]|sum
[]|sum
people|sum(attribute='age')
numbers|sum(start=10)
numbers|sum('x', 10)
words|sum
[[1], [2]]|sum(start=[])
words|sum(start='')
'hello world-foo (bar) [baz] {qux} <x>'|title
"it's o'neil"|title
' x '|trim
'xxaxx'|trim('x')
5|trim
none|trim
missing|trim
'foo bar baz qux'|truncate(9)
'foo bar baz qux'|truncate(9, true)
'foo bar baz qux'|truncate(11)
'foo bar baz qux'|truncate(11, false, '...', 0)
'foo bar baz qux'|truncate(2)
'foo bar baz qux'|truncate(3)
'foobarbazqux and more'|truncate(8)
5|truncate
['a', 'A', 'b']|unique|list
['a', 'A', 'b']|unique(true)|list
people|unique(attribute='age')|map(attribute='name')|list
[1, 1.0, true, '1']|unique|list
[[1], [1]]|unique|list
missing|unique|list
user|upper|lower|title
5|upper
'hello  world'|wordcount
''|wordcount
[1, 2, 3]|reverse|list
'abc'|reverse
{'a': 1, 'b': 2}|reverse|list
(1, 2)|reverse|list
(words|map('upper'))|reverse|list
5|reverse
{'a': 1}|items|list
missing|items|list
[1]|items|list
5|round
5.5|round
4.5|round
5.55|round(1)
5.55|round(1, 'floor')
5.55|round(1, 'ceil')
5|round(0, 'ceil')
5.5|round(method='x')
1234|round(-2)
1250|round(-2)
1350|round(-2)
-1250|round(-2)
1234.5|round(-2)
'a'|round
none|round
missing|round
{'a': [1, 2.0, none, true, 'é"\n\u2028\x01'], 'b': {}}|tojson
{'b': 1, 'a': 2}|tojson(sort_keys=true)
{'b': [1, {'x': []}], 'a': {}}|tojson(indent=2)
{'b': [1, 2]}|tojson(indent=0)
{'b': [1, 2]}|tojson(indent='--')
{'b': [1, 2]}|tojson(separators=(',', ':'))
[1, [2, 3]]|tojson(indent=1, separators=('; ', ' = '))
'é你🦙'|tojson(ensure_ascii=true)
'é你🦙'|tojson
(1, (2,))|tojson
{1: 1, none: 2, 1.5: 3, true: 4}|tojson
{(1, 2): 1}|tojson
{'b': 1, 1: 2}|tojson(sort_keys=true)
missing|tojson
range(3)|tojson
namespace()|tojson
user.upper|tojson
(html|safe)|tojson
1e400|tojson
table.items()|tojson
nested|tojson
people|tojson
people|tojson(indent=4)
people
nested
messages
namespace(a=1, b='x')
namespace({'a': 1}, b=2)
namespace([('a', 1)]).a
namespace(a=1).b
namespace(a=1).b is defined
namespace(a=1)['a']
namespace(1)
dict(a=1, b=2)
dict({'a': 1}, a=2)
dict([('a', 1), ('b', 2)])
dict([(1, 2, 3)])
dict(1)
dict(**{'x': 1})
dict(**table)
dict(*[{'a': 1}])
cycler('a', 'b').next()
cycler('a', 'b').current
cycler()
joiner()()
joiner('|') is callable
range(*[1, 3])|list
range(**{'stop': 3})
lipsum is nothing
raise_exception('no ' ~ user)
raise_exception()
strftime_now('%Y-%m-%d')
strftime_now('%d %b %Y') ~ '!'
strftime_now('')
strftime_now(5)
missing
missing.x
missing['x']
missing[0]
missing()
missing + 1
missing ~ 'x'
missing == missing2
missing == none
missing == ''
missing < 1
missing in []
1 in missing
-missing
missing.x.y
[missing]
[missing]|tojson
missing|upper
missing|length
not missing
none.x
none.x.y
none + 'a'
none[0]
none()
nothing.x
nothing['x']
true + 1
true * 'ab'
-true
+true
--1
- -1
-'a'
+'a'
1.5.is_integer()
'a' 'b'
'a' "b" ~ 'c'
"tab\there" ~ 'new\nline'
'\x41\u00e9\U0001F999\101\q\'\"\\'
"\
x"
'\xZZ'
'\N{BULLET}'
'é' ~ "你"
0x1F + 0b11 + 0o17
1_000 + 1_0.5
1e3 + 1.5e-3
1E3
012
1.
.5
1.5.5
9223372036854775807
9223372036854775807 - 1
-9223372036854775807 - 1
1,2
1,
(1,)
(1)
()
[1, 2,]
[,]
(1, 2)|length
{1}
{'a': 1 'b': 2}
a b
1 +
+
(1
1)
[1
'a
user user
user.1
user.
user[
user[]
user[1,2]
words[0, 1]
{(0, 1): 'x'}[0, 1]
user[1:2:3:4]
user | upper()
user | upper | 
user | 5
user is
user is not
not
1 not 2
1 in
1 == 
== 1
1 <> 2
1 ! 2
1 & 2
$x
1 ? 2 : 3
user(1)(2)
user.upper()()
user|upper()|lower
(user|upper).lower()
user|upper.lower
range(3)|list|length == 3
range(1, 4)|map('string')|join('-') ~ '!'
[range(2)|list, 1][0][1]
true if user else
x if
none|none
true.x
True and False or None
_
__x
not_a_keyword
in_
is_
if_
loop
self is defined
caller
varargs
kwargs
""".strip("\n").split("\n")
# A string literal that spans lines is one expression.
joined = []
for line in EXPRESSIONS:
    if joined and joined[-1].endswith('"\\'): joined[-1] += "\n" + line
    else: joined.append(line)
EXPRESSIONS = joined

from make_template_cases_statements import STATEMENTS  # noqa: E402
TEMPLATES = STATEMENTS
