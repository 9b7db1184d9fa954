# shellcheck shell=bash
# TestDFSIO: as many map tasks as files write one each, then read it. choices.sh says what to run, and where.
# shellcheck source=/dev/null  # both are written by the job
. ./environment.sh
# shellcheck source=/dev/null  # as above
. ./choices.sh
# shellcheck source=/dev/null  # beside this one
. ./jobs.sh
: "${path?}" "${files?}" "${file_mib?}" "${options[@]?}" "${of_each[@]?}"

# part WRITE_OR_READ: its own result file says what TestDFSIO itself makes of it
part() {
  job "$1" org.apache.hadoop.fs.TestDFSIO "${of_each[@]}" "-Dtest.build.data=$path" "${options[@]}" \
    "-$1" -nrFiles "$files" -size "${file_mib}MB" -resFile "$PWD/$1.txt"
  history "$1"
}

part write
rest
part read
echo "done" >doing
