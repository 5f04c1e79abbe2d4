printf '%s\n' '{"text": "one two"}' '{"text": "Zwölf 😀"}' > lines
mixtura tokenize "$GOLDEN/tokenizers/spm-bpe" --jsonl lines
printf '%s\n' '{"text": "fine"}' '{"no": 1}' | mixtura tokenize "$GOLDEN/tokenizers/spm-bpe" --jsonl -
echo "exit $?"
