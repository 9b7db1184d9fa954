# shellcheck shell=bash
# Sends for a second to an address and port, and says how many Mbit/s went.
# Given: address, port.
: "${address?}" "${port?}"
command -v perl >/dev/null || { echo "no perl here" >&2; exit 1; }
# shellcheck disable=SC2016  # perl's variables
timeout 15 perl -MSocket=:all -MTime::HiRes=time -e '
  ($error, $found) = getaddrinfo($ARGV[0], $ARGV[1], {flags => AI_NUMERICHOST, socktype => SOCK_STREAM});
  socket(S, $found->{family}, SOCK_STREAM, 0) && connect(S, $found->{addr}) or die "$!\n";
  $data = "x" x (1 << 20); $begun = time;
  while (time - $begun < 1) { $sent += syswrite(S, $data) // die "$!\n" }
  shutdown(S, 1); sysread(S, $rest, 1);
  printf "%.1f\n", $sent * 8 / 1e6 / (time - $begun);
' "$address" "$port"
