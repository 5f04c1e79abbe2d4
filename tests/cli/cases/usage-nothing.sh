mixtura
