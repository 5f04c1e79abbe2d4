mixtura doctor one two
echo "exit $?"
mixtura doctor --xml
echo "exit $?"
mixtura doctor --help | head -3
