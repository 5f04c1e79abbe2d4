#!/usr/bin/env python3
"""What the tokenizers library's components make of texts, one by one and put together in small vocabularies.

OUT.json: {"normalizers": [{spec, cases: [[text, normalised]]}], "pre_tokenizers": [{spec, cases: [[text, [word, …]]]}],
"decoders": [{spec, cases: [[[token, …], text]]}], "patterns": [{pattern, cases: [[text, [piece, …]]]}] (Oniguruma's
matches isolated), "tokenizers": [{name, spec (a tokenizer.json as text), cases: [{text, ids, ids_special, decoded, decoded_skip}]}]}.
Needs: pip install tokenizers sentencepiece protobuf.
Usage: make_tokenizer_components.py OUT.json UNIGRAM_TOKENIZER.model   (the model of make_tokenizers.py, for its map)"""
import base64, json, pathlib, random, sys
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

source = pathlib.Path(__file__).with_name("make_tokenizers.py").read_text()
TEXTS = eval(source[source.index("TEXTS = ") + 8: source.index("SPECIALS = ")])
proto = sentencepiece_model_pb2.ModelProto()
proto.ParseFromString(pathlib.Path(sys.argv[2]).read_bytes())
CHARSMAP = proto.normalizer_spec.precompiled_charsmap
SOME = ["", " ", "  a  b ", "Hello, World! 123 ¼x²", "İstanbul ǅ ΑΒΓ ß", "e\u0301\u0323 é \u1e9b\u0323 Å Ω ﬁ ½ ①", "\u1100\u1161\u11a8 각 か\u3099 が",
        "नमस्ते दुनिया क्ष", "a\u00a0b\u2003c\u3000d\u180ee\u200bf", "tab\there\nnew\r\nline", "don't I'LL we've", "你好，世界！123", "👩‍👩‍👧‍👦 🩷🇫🇷 z͑ͫ",
        "x=1;y=2 // a-b_c", "1234567 12 1 ٣٤", "▁a▁▁b ▁", "\u0000\u0001\u007f", "-- -a- -", "aXbXXc X", "\ufeff\u2028 �", "snake_case CamelCase", "  ", "\n\n\n", "A\u030angstrom \u212b \u2126 \uf900 \u0344"]

def spec(component):
    return json.loads(component.__getstate__())

def single(component, inputs, run):
    return dict(spec=spec(component), cases=[[x, run(component, x)] for x in inputs])

N, P, D = normalizers, pre_tokenizers, decoders
normalizer_list = [N.NFC(), N.NFD(), N.NFKC(), N.NFKD(), N.Lowercase(), N.Strip(True, True), N.Strip(True, False), N.Strip(False, True),
    N.StripAccents(), N.Nmt(), N.Prepend("▁"), N.Replace(" ", "▁"), N.Replace(Regex(r"\s+"), " "), N.Replace(Regex("x*"), "-"), N.Precompiled(CHARSMAP),
    N.ByteLevel(), N.Sequence([N.NFKC(), N.Lowercase(), N.Strip()]), N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), N.Sequence([])]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]
pre_list = [P.Split("X", b, invert) for b in BEHAVIORS for invert in (False, True)]
pre_list += [P.Split(Regex(r"\s|\p{P}"), b, invert) for b in BEHAVIORS for invert in (False, True)]
pre_list += [P.ByteLevel(a, use_regex=r) for a in (False, True) for r in (False, True)]
pre_list += [P.Metaspace("▁", scheme, split) for scheme in ("always", "first", "never") for split in (False, True)]
pre_list += [P.Digits(True), P.Digits(False), P.Punctuation("isolated"), P.Punctuation("contiguous"), P.Punctuation("removed"), P.Whitespace(), P.WhitespaceSplit(),
    P.BertPreTokenizer(), P.CharDelimiterSplit("-"), P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(False), P.Digits(False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
    P.Sequence([P.Split(Regex(r"\p{N}{1,3}"), "isolated"), P.Metaspace("▁", "first")]), P.Sequence([P.WhitespaceSplit(), P.Metaspace("▁", "always")])]
TOKENS = [["▁Hello", ",", "▁wor", "ld", "▁"], ["<0xE4>", "<0xBD>", "<0xA0>", "▁a"], ["<0xE4>", "a", "<0x41>"], ["<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>", "b"], ["a", "<0x20>"],
    ["Ġä½łå¥½", "ä", "½", "ł", "hi"], ["ä", "<|x|>", "½"], ["▁", "▁", "▁x"], ["  a", " b ", " "], ["x", "xx", "axb"], ["é", "｜a"], ["<0xe4>", "<0xGG>"], ["▁▁a▁b"], []]
decoder_list = [D.ByteLevel(), D.ByteFallback(), D.Fuse(), D.Metaspace("▁", "always"), D.Metaspace("▁", "first"), D.Metaspace("▁", "never"), D.Strip(" ", 1, 0), D.Replace("▁", " "),
    D.Replace(Regex("x+"), "y"), D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]), D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]),
    D.Sequence([D.Fuse(), D.Replace("xx", "_")]), D.Sequence([D.Fuse(), D.Metaspace("▁", "always")]), D.Sequence([D.ByteLevel(), D.Strip("h", 2, 0)])]

PATTERNS = [r"\s", r"\h", r"\w+", r"[[:punct:]]", r"\p{Han}+", r"\p{N}{1,3}+", r"a{,2}", r"^b|b$", r"(?m:a.b)", r"a.b", r"[a[bc]]+", r"[\p{L}&&[^\p{Han}]]+", r"(?=(\d{3})+(?!\d))",
    r"(?i:'s)", r"\bfoo\b", r"\v", r"[[:alpha:]]+", r"\p{^L}+", r"x*", r"\p{Letter}+", r"(?<=a|bc)d", r"\u0041", r"\x{41}", r"[^\p{L}\r\n]?+\p{L}+", r"\R", r"\p{Greek}+", r"\d", r"[\s\S]", r"\N+",
    r"a{2}?", r"[]a]", r"[^\S\n]+", r"[\W\d]+", r"(?i)ab|c", r"a(?i)b|c", r"(a)\1", r"\p{S}+", "(?x: a b # c\n)", r"[a-c&&b-z]+", r"a{2}{2}", r"a+?b", r"\p{Alnum}+", r"{", r"a{x}", r"[^a&&b]", r"\O", r"\p{Hiragana}+|\p{Katakana}+"]
PATTERN_TEXTS = ["a\u180eb\u0085c d", "g f0", "a\u0301b\u200dc \u24d0 _ Ⅳ ²", "$+<=>^`|~a。€", "、〃漢字々", "1234567", "aaaaa", "ab\nb\n", "a\nb a.b", "xabcx", "ab漢字cd", "12345678 1", "a'ſ 'S", "foo\u0301 foo",
    "a\x0bb\x0cc\r\n", "αβ·a", "adbcd", "AB ab Ab C", " ab.cd", "٣3", "🩷$", "カナかな", "{a{x}"]

def tiny(model_trainer, normalizer=None, pre=None, decoder=None, post=None, added=(), **fields):
    model, trainer = model_trainer
    t = Tokenizer(model)
    if normalizer: t.normalizer = normalizer
    if pre: t.pre_tokenizer = pre
    if decoder: t.decoder = decoder
    t.train_from_iterator([x for x in TEXTS for _ in range(3)], trainer)
    if post: t.post_processor = post
    document = json.loads(t.to_str())
    document["model"].update(fields)
    t = Tokenizer.from_str(json.dumps(document))
    t.add_tokens(list(added))
    return t

def bpe(specials=("<unk>", "<s>", "</s>"), alphabet=(), size=330, **kw):
    return models.BPE(**kw), trainers.BpeTrainer(vocab_size=size, special_tokens=list(specials), initial_alphabet=list(alphabet), show_progress=False)

BYTES = [f"<0x{b:02X}>" for b in range(256)]
LLAMA_DECODER = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)])
TEMPLATE = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=[("<s>", 1), ("</s>", 2)])
ADDED = [AddedToken("<|l|>", lstrip=True, normalized=False), AddedToken("<|r|>", rstrip=True, normalized=False), AddedToken("word", single_word=True, normalized=False),
    AddedToken("Norm ed", normalized=True), AddedToken("<|sp|>", special=True), AddedToken("<|both|>", lstrip=True, rstrip=True, special=True), AddedToken("é", normalized=True),
    AddedToken("  ", normalized=False), AddedToken("<|l|>x", normalized=False)]
unigram_trainer = trainers.UnigramTrainer(vocab_size=330, special_tokens=["<unk>"], unk_token="<unk>", show_progress=False)
TOKENIZERS = {
    "llama legacy": tiny(bpe(("<unk>", "<s>", "</s>", *BYTES), size=600, unk_token="<unk>", fuse_unk=True, byte_fallback=True), N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), decoder=LLAMA_DECODER, post=TEMPLATE, added=ADDED),
    "llama metaspace first": tiny(bpe(("<unk>", "<s>", "</s>", *BYTES), size=600, unk_token="<unk>", fuse_unk=True, byte_fallback=True), pre=P.Metaspace("▁", "first", False), decoder=LLAMA_DECODER, post=TEMPLATE, added=ADDED),
    "gemma": tiny(bpe(("<pad>", "<eos>", "<bos>", "<unk>", *BYTES), size=600, unk_token="<unk>", byte_fallback=True), N.Replace(" ", "▁"), P.Split(" ", "merged_with_previous"), D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()]), added=ADDED),
    "unknown not fused": tiny(bpe(unk_token="<unk>", size=150), pre=P.Whitespace(), added=ADDED),
    "unknown fused": tiny(bpe(unk_token="<unk>", size=150, fuse_unk=True), N.Lowercase(), P.WhitespaceSplit(), D.Fuse(), added=ADDED),
    "no unknown": tiny(bpe(size=150), N.NFKC(), P.BertPreTokenizer(), D.Fuse(), added=ADDED),
    "byte-level, prefix space, NFC": tiny(bpe(alphabet=P.ByteLevel.alphabet()), N.NFC(), P.ByteLevel(True), D.ByteLevel(), processors.ByteLevel(), added=ADDED),
    "byte-level, ignore merges": tiny(bpe(alphabet=P.ByteLevel.alphabet()), pre=P.Sequence([P.Split(Regex(r"\p{N}{1,3}| ?\p{L}+|\s+|[^\s]"), "isolated"), P.ByteLevel(False, use_regex=False)]), decoder=D.ByteLevel(), post=processors.Sequence([processors.ByteLevel(), TEMPLATE]), added=ADDED, ignore_merges=True),
    "falcon": tiny(bpe(alphabet=P.ByteLevel.alphabet()), pre=P.Sequence([P.Punctuation("contiguous"), P.ByteLevel(False), P.Digits(False), P.Split(Regex("[0-9][0-9][0-9]"), "isolated")]), decoder=D.ByteLevel(), added=ADDED),
    "byte-level normalizer": tiny(bpe(alphabet=P.ByteLevel.alphabet()), N.Sequence([N.NFC(), N.ByteLevel()]), P.Split(Regex("Ġ?[^Ġ]+"), "isolated"), D.ByteLevel(), added=ADDED),
    "unigram": tiny((models.Unigram(), unigram_trainer), N.Sequence([N.Precompiled(CHARSMAP), N.Replace(Regex(" {2,}"), " ")]), P.Metaspace("▁", "always"), D.Metaspace("▁", "always"), added=ADDED),
}
document = json.loads(TOKENIZERS["unigram"].to_str())
document["model"]["byte_fallback"] = True
document["model"]["vocab"] += [[b, -9.5] for b in BYTES]
document["added_tokens"] = [a for a in document["added_tokens"] if a["content"] == "<unk>"]
TOKENIZERS["unigram, byte fallback"] = Tokenizer.from_str(json.dumps(document))

draw = random.Random(4)
MARKERS = ["<|l|>", "<|r|>", "word", "Norm ed", "<|sp|>", "<|both|>", "é", "e\u0301", "  ", "<|l|>x", "<s>", "</s>", "<unk>", "sword", "wordy", " word ", "\n<|both|>\n ", "▁Norm ed"]
def mixed():
    return "".join(draw.choice(MARKERS) if draw.random() < 0.4 else draw.choice(TEXTS)[:20] for _ in range(draw.randrange(1, 6)))
def rows(t):
    for text in TEXTS[::3] + [mixed() for _ in range(30)]:
        ids, special = t.encode(text, add_special_tokens=False).ids, t.encode(text).ids
        yield dict(text=text, ids=ids, ids_special=special, decoded=t.decode(ids, skip_special_tokens=False), decoded_skip=t.decode(special, skip_special_tokens=True))
    for _ in range(25):
        ids = [draw.randrange(t.get_vocab_size()) for _ in range(draw.randrange(1, 12))]
        yield dict(ids=ids, decoded=t.decode(ids, skip_special_tokens=False), ids_special=ids, decoded_skip=t.decode(ids, skip_special_tokens=True))

result = dict(
    normalizers=[single(c, SOME, lambda c, x: c.normalize_str(x)) for c in normalizer_list],
    pre_tokenizers=[single(c, SOME, lambda c, x: [w for w, _ in c.pre_tokenize_str(x)]) for c in pre_list],
    decoders=[single(c, TOKENS, lambda c, x: c.decode(x)) for c in decoder_list],
    patterns=[dict(pattern=p, cases=[[x, [w for w, _ in P.Split(Regex(p), "isolated").pre_tokenize_str(x)]] for x in PATTERN_TEXTS]) for p in PATTERNS],
    tokenizers=[dict(name=n, spec=t.to_str(), cases=list(rows(t))) for n, t in TOKENIZERS.items()])
pathlib.Path(sys.argv[1]).write_text(json.dumps(result, ensure_ascii=True, separators=(",", ":")).replace('{"name"', '\n{"name"').replace('{"spec"', '\n{"spec"').replace('{"pattern":"', '\n{"pattern":"'))
print({k: len(v) for k, v in result.items()})
