# Errors are a sentence on stderr, whatever form the report was to have.
mixtura inspect --json .
