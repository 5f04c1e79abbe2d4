mixtura chat -p "Is anybody there?"
