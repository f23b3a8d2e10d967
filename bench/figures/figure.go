package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"
)

// figure is one measurement.
type figure struct {
	name, about string
	measure     func(context.Context, *environment) ([]row, error)
}

// figures are the figures that are measured by default.
var figures = []figure{
	{"run", "kopf run with a new cluster: from the command to the handled object", measureRun},
	{"dev", "the same for kopf dev in a pipe", measureDev},
	{"controlplane", "the embedded control plane: from its start until it is usable", measureControlPlane},
	{"size", "the smallest operator as a stripped binary", measureSize},
	{"reload", "kopf dev: from a save until the new code has handled an object", inCluster(measureReload)},
	{"idle", "the memory of an idle operator", inCluster(measureIdle)},
	{"creation", "objects that are created while the operator runs: CPU, requests, memory", inCluster(measureCreation)},
	{"latency", "from the creation of an object to the call of its handler, at low load", inCluster(measureLatency)},
	{"catchup", "objects that exist before the operator starts: time and memory", inCluster(measureCatchUp)},
	{"daemons", "ten thousand objects with a daemon each: goroutines, memory, shutdown", inCluster(measureDaemons)},
	{"background", "ten thousand objects with a daemon and a timer each: goroutines, memory, idle CPU, shutdown", inCluster(measureBackground)},
	{"resume", "objects that were handled before the operator starts: time and requests", inCluster(measureResume)},
	{"admission", "reviews at 1,000 a second: CPU and time, beside a bare webhook and one of controller-runtime", inCluster(measureAdmission)},
	{"crowd", "reviews while other clients are slow, and 16 reviews of 8 MiB at once: time and memory, beside a bare webhook", inCluster(measureCrowd)},
	{"index", "objects that are indexed before the first handler is called: time and memory", inCluster(measureIndex)},
}

// optionalFigures are measured only if they are named.
var optionalFigures = []figure{
	{"children", "5,000 objects with four children each, created by the operator, and after a restart: requests, time, CPU, memory", inCluster(measureChildren)},
	{"childpeer", "the children of the figure children, kept by an operator of controller-runtime, which takes minutes to build: CPU, requests, memory", inCluster(measureChildPeer)},
	{"childevents", "events of children, and passes: requests, time, CPU, memory", inCluster(measureChildEvents)},
	{"overtaking", "new objects while 5,000 existing ones are handled: time until the handler is called, and time of the catch-up", inCluster(measureOvertaking)},
	{"steps", "5,000 objects whose creation has three recorded steps: time, requests, memory", inCluster(measureSteps)},
	{"limits", "5,000 objects that wait for two slots, and 100 calls at ten a second: concurrent calls, memory, time until another handler is called", inCluster(measureLimits)},
	{"sizes", "1,000, 10,000 and 100,000 objects that exist before the operator starts: how each figure grows", inCluster(measureSizes)},
	{"operators", "ten operators of one cluster: CPU, requests, memory", inCluster(measureOperators)},
	{"sidebyside", "the operator and the bare client at the same time, for busy machines: CPU", inCluster(measureSideBySide)},
	{"childrenside", "the same for objects with four children", inCluster(measureChildrenSideBySide)},
	{"protocols", "a bare client over HTTP/2 and over HTTP/1.1: CPU", inCluster(measureProtocols)},
	{"peer", "the same operator written with controller-runtime, which takes minutes to build: CPU, requests, memory", inCluster(measurePeer)},
	{"shards", "objects that one, two, four or eight replicas share: CPU and memory of each", measureShards},
	{"workbench", "keys in the workbench with 10,000 objects, at rest and with 200 changes a second: time, memory, idle CPU", inDevCluster(measureWorkbench)},
}

// row is a line of the results.
type row struct {
	figure   string
	what     string
	goal     string // empty if it is only for comparison
	measured string
	met      bool
	others   float64
	samples  []float64 // the single measurements, in the unit of the row; nil if there is but one
}

func (r row) verdict() string {
	switch {
	case r.goal == "":
		return ""
	case r.met:
		return "yes"
	}
	return "NO"
}

// atMost returns the row of a value that must not exceed the goal.
func atMost(what string, goal, measured float64, format, note string) row {
	r := row{what: what, goal: "≤ " + fmt.Sprintf(format, goal), measured: fmt.Sprintf(format, measured), met: measured <= goal}
	if note != "" {
		r.measured += " (" + note + ")"
	}
	return r
}

// between returns the row of a value that must be in a range.
func between(what string, low, high, measured float64, format, note string) row {
	r := atMost(what, high, measured, format, note)
	r.goal, r.met = fmt.Sprintf(format, low)+" to "+fmt.Sprintf(format, high), low <= measured && r.met
	return r
}

// times returns the row of several times, whose median must not exceed the goal.
func times(what string, goal time.Duration, samples []time.Duration) row {
	return atMost(what, goal.Seconds(), quantile(samples, 0.5).Seconds(), "%.2f s", spread(samples))
}

// spread describes the distribution of the samples.
func spread(samples []time.Duration) string {
	return fmt.Sprintf("median of %d, %.2f to %.2f s", len(samples), quantile(samples, 0).Seconds(), quantile(samples, 1).Seconds())
}

// printTable prints the rows as an aligned Markdown table.
func printTable(w io.Writer, rows []row) {
	lines := [][]string{{"figure", "what", "goal", "measured", "met", "others"}, nil}
	for _, r := range rows {
		lines = append(lines, []string{r.figure, r.what, r.goal, r.measured, r.verdict(), fmt.Sprintf("%.0f %%", 100*r.others)})
	}
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, line := range lines {
		for i, width := range widths {
			cell := strings.Repeat("-", width)
			if line != nil {
				cell = line[i] + strings.Repeat(" ", width-utf8.RuneCountInString(line[i]))
			}
			fmt.Fprintf(w, "| %s ", cell)
		}
		fmt.Fprintln(w, "|")
	}
}
