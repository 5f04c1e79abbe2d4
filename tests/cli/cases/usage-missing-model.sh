mixtura inspect
