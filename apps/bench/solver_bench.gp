# Time and memory of each solver over the better peer's.
# gnuplot -c solver_bench.gp DATA PICTURE WAYS CASES

data = ARG1
ways = int(ARG3)
cases = int(ARG4)
height = 170 + 34 * cases
if (ARG2[strlen(ARG2)-3:] eq ".png") {
  set terminal pngcairo size 1000,height noenhanced font "sans,11"
} else {
  set terminal svg size 1000,height noenhanced font "sans,11" background "white"
}
set output ARG2

array colour[8] = ["#d55e00", "#e69f00", "#0072b2", "#009e73", "#56b4e9", "#cc79a7", \
                   "#000000", "#999999"]
array shape[8] = [7, 6, 5, 9, 8, 11, 4, 13]

set yrange [cases - 0.5 : -0.5]
set multiplot

# The legend over the whole width: a plot of nothing.
set key at screen 0.5, screen 1 - 14.0 / height center top horizontal sample 1
set lmargin at screen 0.02
set rmargin at screen 0.98
unset border
unset tics
unset arrow
unset logscale
set xrange [1:2]
plot for [i=1:ways] data index i using (NaN):(NaN) with points pointtype shape[i] \
  pointsize 1.3 linecolor rgb colour[i] title columnheader(1)
unset key

set xrange [*:*]
set logscale x 2
set border 1
set xtics nomirror scale 0.4
set ytics nomirror scale 0.4
set grid xtics ytics linecolor "#dddddd" linetype 1
set arrow 1 from first 1, graph 0 to first 1, graph 1 nohead linecolor "#555555"
set offsets graph 0.04, graph 0.04, 0, 0
set bmargin at screen 52.0 / height
set tmargin at screen 1 - 80.0 / height

set lmargin at screen 0.30
set rmargin at screen 0.62
set xlabel "factorisation: time / the fastest peer's"
plot data index 0 using (1):1:ytic(2) with dots linecolor "white" notitle, \
     for [i=1:ways] data index i using 2:1 with points pointtype shape[i] pointsize 1.3 \
       linecolor rgb colour[i] notitle

set lmargin at screen 0.65
set rmargin at screen 0.97
set format y ""
set xlabel "memory / the leanest peer's"
plot data index 0 using (1):1 with dots linecolor "white" notitle, \
     for [i=1:ways] data index i using 3:1 with points pointtype shape[i] pointsize 1.3 \
       linecolor rgb colour[i] title columnheader(1)
unset multiplot
