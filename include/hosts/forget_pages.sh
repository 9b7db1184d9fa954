# shellcheck shell=bash
# A function that asks the kernel to forget the pages of files, which their owner may do.

# forget_pages: of the files named on standard input, with a NUL after each. Those that are gone by now are left out.
# By perl, where it is there, with one process for all of them: 300,000 column files would be 300,000 processes of dd.
# Where it is not, by dd, as many at once as there are processors.
forget_pages() {
  local fadvise='' advice=4  # the number of fadvise64, and POSIX_FADV_DONTNEED
  case $(uname -m) in x86_64) fadvise=221 ;; aarch64) fadvise=223 ;; ppc64le) fadvise=233 ;; esac
  if [ "$fadvise" ] && type -P perl >/dev/null; then
    # shellcheck disable=SC2016  # perl's variables
    perl -0 -ne '
      BEGIN { ($call, $advice) = map { $_ + 0 } splice @ARGV, 0, 2 }  # of text a system call gets the address
      chomp;
      if (open my $file, "<", $_) {
        # Of a file from its begin to its end, which is 0.
        $refused //= "$_: $!" if syscall($call, fileno $file, 0, 0, $advice) != 0;
      } elsif (!$!{ENOENT}) { $refused //= "$_: $!" }
      END { die "its pages cannot be forgotten: $refused\n" if $refused }
    ' "$fadvise" "$advice"
  else
    # shellcheck disable=SC2016  # the inner bash expands it
    xargs -0 -r -n 500 -P "$(nproc)" bash -c '
      for file in "$@"; do [ ! -e "$file" ] || dd if="$file" iflag=nocache count=0 status=none || exit; done' forget
  fi
}
