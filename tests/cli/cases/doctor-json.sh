# A line a check; none is of another form.
mixtura doctor --json > lines
echo "exit $?"
grep -E '"(answers.ref|mpi)"' lines
grep -vE '^\{"check":"[a-z0-9_.]+","verdict":"(ok|note|warning|failure)","found":".+","remedy":".*"\}$' lines | wc -l
