# Every check's name in order, whatever this machine's verdicts; a folder's disk; what a failure does to the exit code.
mkdir models
mixtura doctor models > lines
echo "exit $?"
sed -E 's/^(ok|note|warning|failure) +([a-z0-9_.]+): .*/\2/; s/[0-9]+ (failure|warning|note)s?/… \1/g' lines | grep -v 'answers\.[^r]'
grep '^failure' lines | wc -l
grep -E '^(ok|warning|note) +path' lines | sed -E "s/^[a-z]+ +//; s/, on .*//"
grep -E ' (answers.ref|nccl|mpi): ' lines
ls -A models
