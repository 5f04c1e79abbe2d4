mixtura bench
mixtura bench --kernels --formats q9_k
mixtura bench --machine --tokens-per-expert 0
mixtura bench nowhere --machine
mixtura bench --machine --threads 1 --html folder/that/is/not/there > /dev/null
mixtura bench --help | grep -E -A1 '^  --(machine|kernels|html)'
