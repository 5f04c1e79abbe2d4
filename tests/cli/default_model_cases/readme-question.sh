# What ./examples/run "What is the capital of France?" of the README ends in.
mixtura chat -p "What is the capital of France?"
