# A job's history, a line an event (Avro-Json), becomes a line an attempt of a task: job, MAP or REDUCE, how it ended
# (SUCCEEDED, FAILED, KILLED), the worker's address, begin and end in ms by the clock of the host that managed the job.
# Given: jobs, "name id" of each job, separated by spaces. Only attempts that run are held, never all of a job.
BEGIN {
  count = split(jobs, word, " ")
  for (i = 1; i < count; i += 2) name[substr(word[i + 1], 5)] = word[i]
}
# The text of a field; only the first 1000 characters are looked at, since counters and errors come after them.
function text(field) {
  if (!match(head, "\"" field "\":\"[^\"]*\"")) return ""
  return substr(head, RSTART + length(field) + 4, RLENGTH - length(field) - 5)
}
function number(field) {
  if (!match(head, "\"" field "\":[0-9]+")) return ""
  return substr(head, RSTART + length(field) + 3, RLENGTH - length(field) - 3)
}
/^\{"type":"(MAP|REDUCE)_ATTEMPT_/ {
  head = substr($0, 1, 1000)
  attempt = text("attemptId")
  if (text("type") ~ /_STARTED$/) { begun[attempt] = number("startTime"); next }
  if (attempt in begun) {
    job = attempt
    sub(/^attempt_/, "", job)
    sub(/_[mr]_.*$/, "", job)
    kind = text("taskType")
    how = text("type")
    sub(/^.*_ATTEMPT_/, "", how)
    sub(/^FINISHED$/, "SUCCEEDED", how)
    host = text("hostname")
    print (job in name ? name[job] : job), kind, how, (host == "" ? "?" : host), begun[attempt], number("finishTime")
    delete begun[attempt]
  }
}
