#!/bin/sh
# The functions that libraries of one ABI export: `library_symbols.sh LIBRARY... > X.symbols`.
echo "# Made by library_symbols.sh: F function"
for library; do nm -D --defined-only "$library"; done | awk '$2 == "T" || $2 == "W" { sub(/@.*/, "", $3); print "F " $3 }' |
	grep -E '^F (P?MPIX?_|MPII_)' | LC_ALL=C sort -u
