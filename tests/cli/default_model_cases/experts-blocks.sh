# stdout: terminal
printf 'What is the capital of France?\n/experts\n' | LC_ALL=C.UTF-8 mixtura chat
