# A model with an encoder and a vocabulary of 160 pieces whose last two name blanks, as T5's do.
mkdir switch
for file in config.json model.safetensors; do ln -s "$GOLDEN/models/switch/$file" switch/$file; done
vocabulary='["<pad>",0],["</s>",0],["<unk>",-9],["▁",-2]'
for letter in a b c d e f g h i j k l m n o p q r s t u v w x y z; do vocabulary="$vocabulary,[\"$letter\",-3]"; done
for number in $(seq 30 157); do vocabulary="$vocabulary,[\"▁$number\",-4]"; done
vocabulary="$vocabulary,[\"<extra_id_1>\",0],[\"<extra_id_0>\",0]"
added=""
for token in "0 <pad>" "1 </s>" "2 <unk>" "158 <extra_id_1>" "159 <extra_id_0>"; do
    added="$added${added:+,}{\"id\":${token%% *},\"content\":\"${token#* }\",\"special\":true,\"single_word\":false,\"lstrip\":false,\"rstrip\":false,\"normalized\":false}"
done
cat > switch/tokenizer.json <<END
{"version":"1.0","added_tokens":[$added],"normalizer":null,
 "pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
 "post_processor":{"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}],
  "pair":[{"Sequence":{"id":"A","type_id":0}},{"Sequence":{"id":"B","type_id":1}}],
  "special_tokens":{"</s>":{"id":"</s>","ids":[1],"tokens":["</s>"]}}},
 "decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":true},
 "model":{"type":"Unigram","unk_id":2,"byte_fallback":false,"vocab":[$vocabulary]}}
END
mixtura tokenize switch --text "the <extra_id_0> barks"
for threads in 1 2; do mixtura complete switch --prompt "the <extra_id_0> barks" --max-tokens 6 --threads $threads; done
mixtura complete switch --prompt "the <extra_id_0> barks" --max-tokens 6 --logit-bias 158=99 2>&1
mixtura complete switch --ids 22,8,159,1 --max-tokens 6 --json | tr , '\n' | grep -c tokens
mixtura logits switch --ids 22,8,159,1
mixtura logits switch --ids 22,8,159,1 --out rows.safetensors
echo "exit $?"
mixtura compare switch default cache=f32 --ids 1,2,3
echo "exit $?"
mixtura chat switch < /dev/null
echo "exit $?"
mixtura inspect switch
