ids=$(mixtura tokenize "$GOLDEN/tokenizers/unigram" --text "Grüße, Welt" | tr ' ' ',')
mixtura detokenize "$GOLDEN/tokenizers/unigram" --ids $ids
mixtura detokenize "$GOLDEN/tokenizers/unigram" --ids 1,999999
echo "exit $?"
