printf 'What is the capital of France?\n/experts\n' | mixtura chat
