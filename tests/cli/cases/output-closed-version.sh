mixtura --version > /dev/full
