# A limit on the file's size is what a full disk looks like: the write fails in the middle.
printf old > out.safetensors
trap '' XFSZ
(ulimit -f 8; mixtura logits "$GOLDEN/models/qwen3" --ids 3,1,4,1,5,9,2,6 --out out.safetensors)
echo "exit $?"
ls
cat out.safetensors
mixtura logits "$GOLDEN/models/qwen3" --ids 3 --out no-such-folder/out.safetensors
