# shellcheck shell=bash
# What streams of psql have done so far, in the folder where they write: the share of their statements that ended well,
# and how many rounds of them there were, also those that were not measured.
# "NOTICE" and the like are no failures; psql names a statement by its line.
statements_told() {
  local file=stream rounds=1 ended
  if [ -e rounds.txt ]; then
    file=rounds
    rounds=$(($(cat rounds.txt) + 1 + $(cat more.txt)))
  fi
  ended=$(cat times.* | grep -c '^Time:' || true)
  awk -v ended="$ended" -v rounds="$rounds" -v pattern="^psql:[^ ]*${file}[.][0-9]+[.]sql:[0-9]+: " '
    $0 ~ pattern && $2 !~ /^(NOTICE|WARNING|INFO):/ { failed[FILENAME " " $1] = 1 }
    END { for (each in failed) bad++; print (bad < ended ? (ended - bad) / ended : bad ? 0 : 1), rounds }' errors.*
}
