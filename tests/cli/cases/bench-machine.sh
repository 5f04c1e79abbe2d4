# The machine's rates, and with a model its disk's and each test's share of the limit.
mixtura bench --machine --threads 1 | sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)? G/… G/'
mixtura bench "$GOLDEN/models/olmoe" --machine --threads 1 --prefill 8 --decode 4 --batch 2 --repeat 1 |
    sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)? G/… G/; s/[0-9,.]+ 1 (compute|bandwidth) [0-9]+ %/… 1 … %/; /page cache/d'
mixtura bench "$GOLDEN/models/olmoe" --machine --threads 1 --prefill 8 --decode 0 --repeat 1 --json --html chart.html |
    sed -E 's/"disk_is_direct":(true|false)/"disk_is_direct":…/; s/":"(compute|bandwidth)"/":"…"/; s/":[0-9.e+]+/":…/g'
grep -c '<circle' chart.html
