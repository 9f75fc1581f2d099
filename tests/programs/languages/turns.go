// `//=N EXPRESSION` marks the statement that first makes it false, before the Nth event; `//0N` is of
// a variable that optimisation may leave out.
package main

import (
	"math"
	"os"
	"syscall"
)

type Cell struct {
	w    [3]float64
	fine bool
}

var level int64
var cell = Cell{[3]float64{1, 1, 1}, true}

//go:noinline
func work(steps int) float64 {
	s := 1.0
	ok := true
	for i := 1; i <= steps; i++ {
		s += 0.5
		if i == 30 {
			s = math.NaN() //030 s == s
		}
		ok = s == s //030 ok
		if i == 25 {
			cell.w[2] = -1 //025 main.cell.w[2] > 0
		}
		if i == 26 {
			cell.fine = false //026 main.cell.fine
		}
		level = int64(i) //040 main.level < 40
		syscall.Getppid()
	}
	if ok {
		return s
	}
	return 0
}

func main() {
	if work(60) > 1 || level > 60 || cell.fine || cell.w[2] > 0 {
		os.Exit(1)
	}
}
