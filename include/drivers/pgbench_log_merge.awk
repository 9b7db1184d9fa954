# What reduce.awk made of several logs -> the same of all of them: sums, and of the last column the largest.
{ k = $1 " " $2 " " $3; a[k] += $4; b[k] += $5; c[k] += $6; if ($7 > d[k]) d[k] = $7 }
END { for (k in a) printf "%s %.0f %.0f %.0f %.0f\n", k, a[k], b[k], c[k], d[k] }
