package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// fold is the time that it takes to hear of the own change in the run of the exceptions.
const fold = 800 * time.Millisecond

// A trace is a recorded run of Kopf for Python: its requests, and its log. Where the log
// of Kopf for Go is worded differently on purpose, see [spoken].
var traces = []struct {
	file     string
	register func(*examples, *kopf.Registry)
	wrap     func(http.RoundTripper) http.RoundTripper
	steps    []step
}{
	{
		file:     "01-minimal",
		register: (*examples).minimal,
		steps:    []step{create{}, patched{"spec": tree{"field": "new"}}, deleted{}},
	},
	{
		// In the recorded run, the second handler becomes due while the touch made for the
		// first one is on its way, which took a few milliseconds. That is made certain here:
		// the way takes longer, and the second delay is shorter by as much.
		file:     "03-exceptions",
		register: func(x *examples, r *kopf.Registry) { x.exceptions(r, 4*time.Second, 4*time.Second-fold) },
		wrap:     delayedWatch(fold),
		steps:    []step{create{}, deleted{}},
	},
	{
		file:     "05-handlers",
		register: (*examples).handlers,
		steps: []step{
			create{}, patched{"spec": tree{"field": "v2"}}, patched{"metadata": tree{"labels": tree{"x": "y"}}},
			patchedStatus{"status": tree{"foreign": 1}}, restarted{}, deleted{},
		},
	},
	{
		file:     "07-subhandlers",
		register: (*examples).subhandlers,
		steps:    []step{create{}, deleted{}},
	},
	{
		file:     "08-events",
		register: (*examples).events,
		steps:    []step{create{}, patched{"spec": tree{"field": "v2"}}, deleted{}},
	},
	{
		file:     "11-filtering",
		register: (*examples).filtering,
		steps:    []step{create{}, patched{"spec": tree{"field": "v2"}}, deleted{}},
	},
}

// step is what somebody does to the object or to the operator. The next one follows when the
// operator has nothing left to do.
type (
	step          any
	create        struct{}
	patched       tree
	patchedStatus tree
	deleted       struct{}
	restarted     struct{}
)

// rests are the words that say that there is nothing left to do.
var rests = []string{
	"DEBUG Handling cycle is finished, waiting for new changes.",
	"DEBUG Deleted, really deleted, and we are notified.",
	"INFO Handler 'normal_event_fn' succeeded.",
}

func TestRecordedRunsAreRepeated(t *testing.T) {
	for _, trace := range traces {
		t.Run(trace.file, func(t *testing.T) {
			want := transcript(t, trace.file)
			w := newWorld(t)
			x := &examples{}
			register := func(r *kopf.Registry) { trace.register(x, r) }
			with := setup{wrap: trace.wrap, journal: newJournal()}
			op := w.run(register, with)
			for i, s := range trace.steps {
				switch s := s.(type) {
				case create:
					w.create(example("kopf-example-1"))
				case patched:
					w.patch("kopf-example-1", tree(s))
				case patchedStatus:
					w.patchStatus("kopf-example-1", tree(s))
				case deleted:
					w.delete("kopf-example-1")
				case restarted:
					op.stop()
					op = w.run(register, with)
				}
				eventually(t, fmt.Sprintf("it comes to rest after step %d", i+1), func() bool {
					return restsIn(lines(with.journal)) > i
				}, func() any { return cmp.Diff(want, lines(with.journal)) })
			}
			op.stop()
			if difference := cmp.Diff(want, lines(with.journal)); difference != "" {
				t.Errorf("the recorded run (-) and this one (+):\n%s", difference)
			}
		})
	}
}

func restsIn(lines []string) int {
	n := 0
	for _, line := range lines {
		for _, rest := range rests {
			if line == rest {
				n++
			}
		}
	}
	return n
}

// transcript reads a recorded run.
func transcript(t *testing.T, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", name+".transcript.json"))
	if err != nil {
		t.Fatal(err)
	}
	var entries []struct {
		Step, Log, Level, Patch, Target string
		Payload                         any
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		switch {
		case e.Patch != "":
			out = append(out, request(e.Patch, e.Target, e.Payload))
		case e.Step == "" && (name != "11-filtering" || !ofDaemon(e.Log)):
			out = append(out, spoken(e.Level, e.Log))
		}
	}
	return out
}

// ofDaemon tells the lines of the daemon in the example of filtering, which is another
// handler here; see there.
func ofDaemon(line string) bool {
	return strings.HasPrefix(line, "Daemon ") || line == "Field daemon is satisfied." ||
		strings.HasPrefix(line, "Sleeping was skipped because of the patch, 60 seconds")
}

// lines are the journal in the same form.
func lines(j *journal) []string {
	var out []string
	for _, e := range j.all() {
		switch {
		case e.patch != "":
			out = append(out, request(e.patch, e.target, e.payload))
		case e.object == "", strings.Contains(e.line, "-patching the "): // the request itself is here
		default:
			out = append(out, spoken(e.level.String(), e.line))
		}
	}
	return out
}

var (
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)
	durations = regexp.MustCompile(`\b\d+(\.\d+)?(e-\d+)? seconds`)
)

// spoken is a line of the log. Of the differences, it takes what has no place in a message
// of a structured log: the differences of an object are an attribute.
func spoken(level, line string) string {
	line, _, _ = strings.Cut(line, ": ((")
	return level + " " + durations.ReplaceAllString(line, "N seconds")
}

// request is a PATCH without the time and the versions that differ in each run. The text of
// the annotations stays as it is, with the order of the fields in it.
func request(kind, target string, payload any) string {
	if ops, ok := payload.([]any); ok {
		for _, op := range ops {
			if op := op.(tree); op["op"] == "test" {
				op["value"] = "N"
			}
		}
	}
	body, err := json.Marshal(payload)
	if err != nil {
		return err.Error()
	}
	return "PATCH " + kind + " " + target + " " + times.ReplaceAllString(string(body), "T")
}
