package e2e

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// fold is how long the delayed handler takes in the run of the exceptions. The order is the recorded one if each request takes less
// than half of it.
const fold = 3 * time.Second

// A trace is a recorded run of Kopf for Python: its requests and its log. See [normalized] for the
// intended differences of the log.
var traces = []struct {
	file     string
	register func(*examples, *kopf.Registry)
	steps    []step
}{
	{
		file:     "01-minimal",
		register: (*examples).minimal,
		steps:    []step{create{}, patched{"spec": tree{"field": "new"}}, deleted{}},
	},
	{
		// In the recorded run, the second handler becomes due while the object is touched for the first one, which took a few
		// milliseconds. Without touches, it does while the first one runs.
		file:     "03-exceptions",
		register: func(x *examples, r *kopf.Registry) { x.exceptions(r, fold, 3*time.Second, 3*time.Second+fold/2) },
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

// step is a change of the object or of the operator. The next one follows when the
// operator has nothing left to do.
type (
	step          any
	create        struct{}
	patched       tree
	patchedStatus tree
	deleted       struct{}
	restarted     struct{}
)

// idleMessages are logged when there is nothing left to do.
var idleMessages = []string{
	"DEBUG Handling cycle is finished, waiting for new changes.",
	"DEBUG Deleted, really deleted, and we are notified.",
	"INFO Handler 'normal_event_fn' succeeded.",
}

func TestTrace_RecordedRuns(t *testing.T) {
	for _, trace := range traces {
		t.Run(trace.file, func(t *testing.T) {
			want := withoutTouches(transcript(t, trace.file))
			cluster := newCluster(t)
			x := &examples{}
			register := func(r *kopf.Registry) { trace.register(x, r) }
			op := cluster.Run(register, withoutInspector, logPatches)
			for i, s := range trace.steps {
				switch s := s.(type) {
				case create:
					cluster.Create(example("kopf-example-1"))
				case patched:
					cluster.Object(kex.name(), "kopf-example-1").Patch(tree(s))
				case patchedStatus:
					cluster.Object(kex.name(), "kopf-example-1").Patch(tree(s))
				case deleted:
					cluster.Object(kex.name(), "kopf-example-1").Delete()
				case restarted:
					op.Restart()
				}
				cluster.WaitUntil(fmt.Sprintf("it comes to rest after step %d", i+1), func() bool { return countIdle(lines(op.LogEntries())) > i })
			}
			op.Stop()
			if difference := cmp.Diff(want, lines(op.LogEntries())); difference != "" {
				t.Errorf("the recorded run (-) and this one (+):\n%s", difference)
			}
		})
	}
}

func countIdle(lines []string) int {
	n := 0
	for _, line := range lines {
		for _, rest := range idleMessages {
			if line == rest {
				n++
			}
		}
	}
	return n
}

// recorded is a step, a request or a logged line of a recorded run.
type recorded struct {
	Step, Log, Level, Patch, Target string
	Payload                         any
}

// recording returns a recorded run.
func recording(t *testing.T, name string) (entries []recorded) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "..", "testdata", "traces", name+".transcript.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		t.Fatal(err)
	}
	return entries
}

// transcript returns the lines of a recorded run.
func transcript(t *testing.T, name string) []string {
	t.Helper()
	var out []string
	for _, e := range recording(t, name) {
		switch {
		case e.Patch != "":
			out = append(out, request(e.Patch, e.Target, e.Payload))
		case e.Step == "" && (name != "11-filtering" || !ofDaemon(e.Log)):
			out = append(out, normalized(levelOf(e.Level, e.Log), e.Log))
		}
	}
	return out
}

// withoutTouches drops the patches from a recorded run that only wake Kopf for Python up, and the ends of such marks.
func withoutTouches(lines []string) []string {
	var out []string
	for _, line := range lines {
		if line != `PATCH merge resource {"metadata":{"annotations":{"`+touchMark+`":"T"}}}` {
			out = append(out, strings.ReplaceAll(line, `,"`+touchMark+`":null`, ""))
		}
	}
	return out
}

const touchMark = "kopf.zalando.org/touch-dummy"

// levelOf returns the level of a recorded line in Kopf for Go, which does not log it as an error that a handler waits for
// something.
func levelOf(level, line string) string {
	if strings.Contains(line, " failed temporarily: ") {
		return slog.LevelInfo.String()
	}
	return level
}

// ofDaemon reports whether a line is of the daemon in the example of filtering, which is another
// handler here: see [examples.filtering].
func ofDaemon(line string) bool {
	return strings.HasPrefix(line, "Daemon ") || line == "Field daemon is satisfied." ||
		strings.HasPrefix(line, "Sleeping was skipped because of the patch, 60 seconds")
}

// lines returns a log in the form of [transcript].
func lines(log []kopftest.LogEntry) []string {
	var out []string
	for _, e := range log {
		switch {
		case e.Message == patchMessage:
			var payload any
			if err := json.Unmarshal([]byte(attr(e, "body")), &payload); err != nil {
				return []string{err.Error()}
			}
			out = append(out, request(attr(e, "kind"), attr(e, "target"), withoutAdditions(payload)))
		case e.Object == "", strings.Contains(e.Message, "-patching the "): // the request itself is here
		default:
			out = append(out, normalized(e.Level.String(), e.Message))
		}
	}
	return out
}

// withoutAdditions drops from a patch the parts that Kopf for Python does not send: annotations that record
// permanent failures, if there are other annotations too, and the precondition.
func withoutAdditions(payload any) any {
	body, _ := payload.(tree)
	metadata, _ := body["metadata"].(tree)
	if _, guarded := metadata["uid"]; guarded {
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		if len(metadata) == 0 {
			delete(body, "metadata")
		}
	}
	annotations, _ := metadata["annotations"].(tree)
	for name := range annotations {
		if len(annotations) > 1 && strings.HasPrefix(name, failedHandler) {
			delete(annotations, name)
		}
	}
	return payload
}

var (
	times     = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00`)
	durations = regexp.MustCompile(`\b\d+(\.\d+)?(e-\d+)? seconds`)
)

// normalized returns a line of the log without durations, and without the diff of the object,
// which is an attribute in Kopf for Go.
func normalized(level, line string) string {
	line, _, _ = strings.Cut(line, ": ((")
	return level + " " + durations.ReplaceAllString(line, "N seconds")
}

// request returns a PATCH as a line, without the times and versions that differ in each run. The
// texts of annotations stay as they are, including the order of their fields.
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
