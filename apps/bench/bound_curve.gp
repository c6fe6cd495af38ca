# Time of the factorisation and bytes written over the memory that it took.
# gnuplot -c bound_curve.gp DATA PICTURE BLOCKS TITLE

data = ARG1
last = int(ARG3) - 1
if (ARG2[strlen(ARG2)-3:] eq ".png") {
  set terminal pngcairo size 760,620 noenhanced font "sans,11"
} else {
  set terminal svg size 760,620 noenhanced font "sans,11" background "white"
}
set output ARG2

array colour[3] = ["#d55e00", "#0072b2", "#009e73"]
array shape[3] = [7, 5, 9]
set border 3
set tics nomirror scale 0.4
set grid xtics ytics linecolor "#dddddd" linetype 1
set offsets graph 0.04, graph 0.04, 0, 0
set yrange [0:*]
set lmargin at screen 0.12
set rmargin at screen 0.97
set multiplot
stats data using 1 nooutput
set xrange [0 : STATS_max * 1.05]

set tmargin at screen 0.88
set bmargin at screen 0.52
set title ARG4 offset 0, 0.8
set key outside top center horizontal
set format x ""
set ylabel "factorisation, s"
plot data index 0 using 1:2 with linespoints pointtype shape[1] pointsize 1.1 \
       linecolor rgb colour[1] title columnheader(1), \
     for [i=1:last] data index i using 1:2 with points pointtype shape[i+1] \
       pointsize 1.6 linecolor rgb colour[i+1] title columnheader(1)

set tmargin at screen 0.48
set bmargin at screen 0.11
unset title
unset key
set format x "%g"
set xlabel "growth of the resident set while factorising, MiB"
set ylabel "written, MiB"
plot data index 0 using 1:3 with linespoints pointtype shape[1] pointsize 1.1 \
       linecolor rgb colour[1] title columnheader(1), \
     for [i=1:last] data index i using 1:3 with points pointtype shape[i+1] \
       pointsize 1.6 linecolor rgb colour[i+1] title columnheader(1)
unset multiplot
