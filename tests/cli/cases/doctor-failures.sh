# What does not work is a failure with a remedy, and exit code 1.
mixtura doctor no/such/folder > lines
echo "exit $?"
grep '^failure' lines
MIXTURA_FORCE_ISA=sse9 mixtura doctor > lines
echo "exit $?"
grep '^failure' lines | sed -E 's/expected one of [^;]*/expected one of …/; s/to one of .*/to one of …/'
grep answers lines | wc -l
MIXTURA_FORCE_ISA=ref mixtura doctor > lines
echo "exit $?"
grep -E '^note +instruction_sets' lines | sed -E 's/, of .*, as/, of …, as/'
grep -E '^(note|ok) +answers' lines | grep -v 'answers.ref: the bits\|not run: ' | wc -l
