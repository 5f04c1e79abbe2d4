mixtura bench --kernels --formats q8_0 f32 --tokens-per-expert 1 3 --megabytes 1 --repeat 1 --threads 1 --html chart.html |
    sed -E 's/ +/ /g; s/[0-9]+(\.[0-9]+)? G/… G/; s/ [0-9.]+ [0-9]+ % [0-9.]+ [0-9]+ %/ … % … %/'
grep -c '<circle' chart.html
mixtura bench --kernels --formats q4_k --tokens-per-expert 2 --megabytes 1 --repeat 1 --threads 1 --json | sed -E 's/":[0-9.e+]+/":…/g'
