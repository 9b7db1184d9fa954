# shellcheck shell=bash
# Ends the sampling of processors, and folds what was sampled: lines of the tenth of a second, how often, and the stack,
# from the process down, with ';' between. After telemetry_stop.sh, in its folder, if that is there, and as_root.sh.
# Given: tell, perf's words.
: "${tell[@]?}"
if [ -e profile/pid ]; then
  pid=$(cat profile/pid)
  if [ "$pid" ] && [ "/proc/$pid/cwd" -ef profile ]; then kill -TERM "$pid" || true; fi
  for _ in {1..100}; do [ ! -e profile/ended ] || break; sleep 0.1; done
  if [ -s profile/data ]; then
    # As root, because only root is told where the kernel's functions are.
    as_root "${tell[@]}" <profile/data 2>>telemetry.profile_errors |
      awk '
        function sampled() { times[name == "swapper" ? "-idle" : name frames]++; name = "" }
        function told(  each) { for (each in times) print moment "\t" times[each] "\t" each; split("", times) }
        /^[^ \t]/ {
          at = $NF; sub(/[0-9][0-9][0-9][0-9][0-9]:$/, "", at)
          if (at != moment) told()
          moment = at; name = $0; sub(/ +[0-9.]+: *$/, "", name); gsub(/;/, ":", name); frames = ""; next
        }
        /^[ \t]/ {
          line = $0; sub(/^[ \t]+[0-9a-f]+ /, "", line)
          of = line; sub(/.*\(/, "", of); sub(/\)$/, "", of); sub(/.*\//, "", of); sub(/ .*/, "", of); gsub(/[][]/, "", of)
          sub(/ \([^()]*\)$/, "", line); gsub(/;/, ":", line)
          if (line == "[unknown]") line = "[" of "]"
          frames = ";" line frames; next
        }
        /^$/ { if (name != "") sampled() }
        END { if (name != "") sampled(); told() }' |
      gzip -1 >telemetry.profile.gz
  fi
  rm -rf profile
fi
