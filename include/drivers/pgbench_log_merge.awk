# What reduce.awk made of several logs -> the same of all of them: sums, and of the last column the largest. Of the span
# the first column is the earliest begin.
{ k = $1 " " $2 " " $3; b[k] += $5; c[k] += $6; if ($7 > d[k]) d[k] = $7 }
$1 == "span" { if (!(k in a) || $4 < a[k]) a[k] = $4; next }
{ a[k] += $4 }
END { for (k in a) printf "%s %.0f %.0f %.0f %.0f\n", k, a[k], b[k], c[k], d[k] }
