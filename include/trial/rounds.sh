# shellcheck shell=bash
# Runs a trial's load again and again until somebody ends it, each time in a folder of its own, "round". The file
# "rounds" has a line a round: start, end, exit status, and where the load tells it, in "told.txt", the share of its
# statements that ended well and how often it did all of them.
# Given: files, of the job, which every round has.
: "${files[@]-}"
while :; do
  rm -rf round
  mkdir round
  for file in ${files[@]+"${files[@]}"}; do ln -s "../$file" round/; done
  start=$(date +%s.%N) status=0
  echo "$start" >started_at
  (cd round || exit; exec bash ../load.sh) >round.out 2>round.err </dev/null || status=$?
  told=$(cat round/told.txt 2>/dev/null || true)
  echo "$start $(date +%s.%N) $status $told" >>rounds
  if [ "$status" != 0 ]; then tail -c 500 round.err >error; sleep 2; fi
  case $told in 1\ * | '') ;; *) cat round/errors.* 2>/dev/null | tail -c 500 >error ;; esac
done
