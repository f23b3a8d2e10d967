package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopftest"
)

const (
	// soakVar is how long the soak operates; reportVar is a file for its report as JSON.
	soakVar   = "KOPF_SOAK"
	reportVar = "KOPF_SOAK_REPORT"

	soakNames = 100
	// soakKillWithin gives a life some seconds: repeated calls within one life have no explanation.
	soakKillWithin = 300
	soakPace       = 120 * time.Millisecond
)

// report is the result of a soak.
type report struct {
	Seed       uint64            `json:"seed"`
	Duration   string            `json:"duration"`
	Machine    string            `json:"machine"`
	Objects    int               `json:"objects"`
	Versions   int               `json:"versions"`
	Operations int               `json:"operations"`
	Faults     int               `json:"faults"`
	ByKind     map[string]int    `json:"faultsByKind"`
	Weather    map[string]int    `json:"weather"`
	Lives      int               `json:"lives"`
	Kills      int               `json:"kills"`
	Stops      int               `json:"stops"`
	Failed     int               `json:"failed"`
	Runs       int               `json:"handlerRuns"`
	Succeeded  int               `json:"handlerRunsSucceeded"`
	Steps      int               `json:"stepCalls"`
	Onces      int               `json:"atMostOnceCalls"`
	Unsure     int               `json:"unsureSteps"`
	Goroutines map[string]int    `json:"goroutinesBetweenLives"`
	Heap       map[string]uint64 `json:"heapBytesBetweenLives"`
	*findings

	// From the return of a handler until the API server has stored its success, perhaps after a kill.
	RecordedMedian string `json:"recordedMedian"`
	RecordedMost   string `json:"recordedMost"`
}

func (x *trial) report(seed uint64, took time.Duration, found *findings) *report {
	stats := x.chaos.Stats()
	x.ledger.mu.Lock()
	defer x.ledger.mu.Unlock()
	r := &report{
		Seed: seed, Duration: took.Round(time.Second).String(),
		Machine:    fmt.Sprintf("%d CPUs, %s, %s/%s", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH),
		Operations: x.operations, ByKind: stats.Faults, Weather: stats.Weather,
		Lives: stats.Lives, Kills: stats.Kills, Stops: stats.Stops, Failed: stats.Failed,
		Runs: len(x.ledger.tries), Succeeded: len(x.ledger.calls), Steps: len(x.ledger.steps), Onces: len(x.ledger.onces.called), Unsure: len(x.ledger.onces.unsure),
		Goroutines: map[string]int{}, Heap: map[string]uint64{}, findings: found,
	}
	for _, n := range stats.Faults {
		r.Faults += n
	}
	r.RecordedMedian = median(found.recorded).Round(time.Millisecond).String()
	r.RecordedMost = slices.Max(append(found.recorded, 0)).Round(time.Millisecond).String()
	for _, o := range x.history.all() {
		r.Objects++
		r.Versions += len(o.versions)
	}
	var goroutines []int
	var heap []uint64
	for _, s := range x.ledger.samples {
		goroutines, heap = append(goroutines, s.Goroutines), append(heap, s.Heap)
	}
	n := len(goroutines)
	r.Goroutines["first"], r.Goroutines["median"], r.Goroutines["last"], r.Goroutines["most"] = goroutines[0], median(goroutines), goroutines[n-1], slices.Max(goroutines)
	r.Heap["first"], r.Heap["median"], r.Heap["last"], r.Heap["most"] = heap[0], median(heap), heap[n-1], slices.Max(heap)
	return r
}

// String returns the report for people.
func (r *report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "soak of %s with the seed %d on %s\n", r.Duration, r.Seed, r.Machine)
	fmt.Fprintf(&b, "%6d operations on %d objects, of which %d versions were stored\n", r.Operations, r.Objects, r.Versions)
	fmt.Fprintf(&b, "%6d faults; %d lives of the operator: %d killed, %d stopped, %d failed\n", r.Faults, r.Lives, r.Kills, r.Stops, r.Failed)
	fmt.Fprintf(&b, "%6d runs of handlers, of which %d succeeded; %d calls of steps, and %d of steps at most once, which were unsure %d times\n",
		r.Runs, r.Succeeded, r.Steps, r.Onces, r.Unsure)
	fmt.Fprintf(&b, "%6d unexplained duplicates, %d losses, %d stuck, %d effects or daemons doubled\n", len(r.Duplicates), len(r.Losses), len(r.Stuck), len(r.Doubled))
	fmt.Fprintf(&b, "successes were stored after %s at the median, and %s at most\n", r.RecordedMedian, r.RecordedMost)
	counts := func(what string, all map[string]int) {
		for _, name := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(&b, "%6d × %s: %s\n", all[name], what, name)
		}
	}
	counts("explained", r.Explained)
	counts("weather", r.Weather)
	counts("fault", r.ByKind)
	fmt.Fprintf(&b, "goroutines between lives: %d at first, %d at the median, %d at the end, %d at most\n",
		r.Goroutines["first"], r.Goroutines["median"], r.Goroutines["last"], r.Goroutines["most"])
	fmt.Fprintf(&b, "heap between lives, with what the soak remembers: %d KiB at first, %d at the median, %d at the end, %d at most\n",
		r.Heap["first"]>>10, r.Heap["median"]>>10, r.Heap["last"]>>10, r.Heap["most"]>>10)
	return b.String()
}

// soakTime returns how long to soak. Without it, the test is skipped.
func soakTime(t *testing.T) time.Duration {
	t.Helper()
	text := os.Getenv(soakVar)
	if text == "" {
		t.Skipf("needs a duration in %s: run make faults", soakVar)
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("%s=%s: want a duration such as 10m", soakVar, text)
	}
	return duration
}

func TestSoak_LosesAndRepeatsNothing(t *testing.T) {
	duration := soakTime(t)
	seed := kopftest.Seed(t)
	plan := kopftest.Chaos(seed)
	plan.KillWithin = soakKillWithin
	x := (&trial{T: t, ledger: ledger{withSteps: true}}).start(plan, soakNames)
	began := time.Now()
	for time.Since(began) < duration {
		x.operate()
		x.pace(soakPace)
	}
	found := x.settle()
	report := x.report(seed, time.Since(began), found)
	t.Log("\n" + report.String())
	if path := os.Getenv(reportVar); path != "" {
		text, err := json.MarshalIndent(report, "", "  ")
		if err == nil {
			err = os.WriteFile(path, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Errorf("write the report: %v", err)
		}
	}
	x.check(found)
	if report.Kills == 0 || len(report.ByKind) < 10 {
		t.Errorf("too little has gone wrong: %d kills, %d kinds of faults", report.Kills, len(report.ByKind))
	}
	// Each life begins with the soak's own goroutines: a leak of the operator adds up.
	if r := report.Goroutines; r["last"] > 2*r["first"]+20 {
		t.Errorf("goroutines are left behind by the lives of the operator: %v", r)
	}
}
