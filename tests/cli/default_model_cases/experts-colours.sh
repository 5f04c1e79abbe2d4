# stdout: terminal
printf 'What is the capital of France?\n/experts\n' | TERM=xterm-256color mixtura chat
