package main

import (
	"strings"
	"testing"
	"time"
)

func TestQuantilesAreSamples(t *testing.T) {
	samples := []time.Duration{5, 1, 4, 2, 3}
	for q, want := range map[float64]time.Duration{0: 1, 0.5: 3, 0.99: 5, 1: 5} {
		if got := quantile(samples, q); got != want {
			t.Errorf("quantile %v is %d, want %d", q, got, want)
		}
	}
	if got := quantile(nil, 0.5); got != 0 {
		t.Errorf("of nothing: %d", got)
	}
}

func TestFiguresAreChosenByTheirNames(t *testing.T) {
	all, err := choose(nil)
	if err != nil || len(all) != len(figures) {
		t.Errorf("%d figures, %v", len(all), err)
	}
	some, err := choose([]string{"resume", "size"})
	if err != nil || len(some) != 2 || some[0].name != "resume" {
		t.Errorf("%v, %v", some, err)
	}
	if large, err := choose([]string{"peer"}); err != nil || len(large) != 1 {
		t.Errorf("%v, %v", large, err)
	}
	if _, err := choose([]string{"sise"}); err == nil || !strings.Contains(err.Error(), `"sise"`) {
		t.Errorf("an unknown figure: %v", err)
	}
}

func TestAGoalIsMetUpToItsValue(t *testing.T) {
	for measured, verdict := range map[float64]string{1.2: "yes", 1.3: "yes", 1.31: "NO"} {
		if got := atMost("ratio", 1.3, measured, "%.2f", "").verdict(); got != verdict {
			t.Errorf("%v: %q", measured, got)
		}
	}
	if got := (row{}).verdict(); got != "" {
		t.Errorf("without a goal: %q", got)
	}
}

func TestTheTableIsAlignedMarkdown(t *testing.T) {
	var b strings.Builder
	printTable(&b, []row{{figure: "idle", what: "… RSS", goal: "≤ 20 MB", measured: "16 MB", met: true, others: 0.25}})
	want := `| figure | what  | goal    | measured | met | others |
| ------ | ----- | ------- | -------- | --- | ------ |
| idle   | … RSS | ≤ 20 MB | 16 MB    | yes | 25 %   |
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestTheMemoryOfAProcessIsReadInBytes(t *testing.T) {
	got, err := parseMemory("Name:\toperator\nVmHWM:\t   2048 kB\nVmRSS:\t   1024 kB\nRssAnon:\t     512 kB\n")
	if want := (memory{resident: 1 << 20, peak: 2 << 20, heap: 1 << 19}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMemory("State:\tZ (zombie)\n"); err == nil {
		t.Error("a dead process has memory")
	}
}

func TestTheCPUTimeOfAProcessIsFoundBehindAnyName(t *testing.T) {
	got, err := parseCPU("4711 (a b) c) S 1 4711 4711 0 -1 4194560 1 0 0 0 25 5 0 0 20 0")
	if err != nil || got != 300*time.Millisecond {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := parseCPU("4711 (x) S"); err == nil {
		t.Error("a line that is cut off is understood")
	}
}

func TestTheMachinesTimeIsBusyOrIdle(t *testing.T) {
	got, err := parseMeter("cpu  100 0 50 1000 10 0 5 5 0 0\ncpu0 1 2 3\n")
	if want := (meter{busy: 1600 * time.Millisecond, idle: 10100 * time.Millisecond}); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := parseMeter("intr 1"); err == nil {
		t.Error("another file is understood")
	}
}

func TestRequestsAreCountedByVerbForOneResource(t *testing.T) {
	got, err := parseRequests(`# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="kopfexamples",subresource="",verb="PATCH"} 7
apiserver_request_total{code="200",resource="kopfexamples",subresource="status",verb="PATCH"} 5
apiserver_request_total{code="201",resource="kopfexamples",subresource="",verb="POST"} 3
apiserver_request_total{code="200",resource="pods",subresource="",verb="PATCH"} 100
`, "kopfexamples")
	if err != nil || got["PATCH"] != 12 || got["POST"] != 3 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestAnObjectIsHandledWhenBothItsResultAndItsStateAreThere(t *testing.T) {
	const head = `{"type":"MODIFIED","object":{"metadata":{"annotations":{`
	const state = `"kopf.zalando.org/last-handled-configuration":"{\"metadata\":{\"name\":\"no\"}}"`
	const fields = `"managedFields":[{"f:kopf.zalando.org/last-handled-configuration":{}}]`
	const tail = `},` + fields + `,"name":"example-7","resourceVersion":"42"}`
	const result = `,"status":{"create":{"message":"hello"}}}}`
	for text, want := range map[string]string{
		head + state + tail + result: "example-7",
		head + state + tail + `}}`:   "",
		head + tail + result:         "",
	} {
		if got := handledName([]byte(text)); got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
	if got := objectVersion([]byte(head + state + tail + result)); got != "42" {
		t.Errorf("version %q", got)
	}
}

func TestWhatIsExpectedMayBeThereAlready(t *testing.T) {
	f := newFinished()
	f.told("a 1")
	f.told("b 2")
	f.told("b 3")
	f.told("no time")
	<-f.expect(3)
	select {
	case <-f.expect(4):
		t.Error("an object was counted twice")
	default:
	}
}

func TestParallelStopsAtTheFirstFailure(t *testing.T) {
	calls := 0
	err := parallel(100, 1, func(i int) error {
		calls++
		if i == 2 {
			return errTest
		}
		return nil
	})
	if err == nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
}

type testError string

func (e testError) Error() string { return string(e) }

const errTest = testError("refused")
