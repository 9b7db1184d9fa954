# shellcheck shell=bash
# Makes one load file of what psql is told to copy. After make_file.sh and drivers/programs.sh.
# Given: directory, where the files are; disk, the folder that has this one, or empty; name, of the file and of its SQL;
# where, options of psql.
: "${directory?}" "${disk?}" "${name?}" "${where[@]?}"
cd "$directory" || exit
export PGPASSFILE=pgpass
find_program psql 12
# shellcheck disable=SC2154  # find_program sets found
psql=$found
make "$name" "$psql" "${where[@]}" --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --file="$name.sql"
