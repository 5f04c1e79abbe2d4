mixtura --version
