M="$GOLDEN/models/qwen3-moe"
for sides in "default top-k=two" "speed=1 default" "default top-k=17" "default without=3+16" "default cache=q9"; do
    mixtura compare "$M" $sides --ids 1,2,3
    echo "exit $?"
done
mixtura compare "$M" default "file=no-such-model" --ids 1,2,3
echo "exit $?"
mixtura compare "$M" default cache=f32 --ids 1
echo "exit $?"
echo words > words.txt
mixtura compare "$M" default cache=f32 --text words.txt
echo "exit $?"
mixtura compare "$M" default
echo "exit $?"
mixtura compare "$M" default weights=router=q8_0
echo "exit $?"
mixtura complete "$M" --ids 1 --weights expert=q8_0
echo "exit $?"
mixtura inspect "$M" --weights q9
echo "exit $?"
