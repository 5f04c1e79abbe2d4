# The text is CLI11's but for its first lines; the exit code is ours.
mixtura --help | head -2
mixtura --help > /dev/null
