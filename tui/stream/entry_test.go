package stream_test

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/runner"
	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/tui/stream"
)

// hostile has bytes that must not reach a terminal: colors, the clipboard, a title, a forged line, 8-bit
// controls, a change of direction, NUL, and invalid UTF-8.
const hostile = "x\x1b[31m\x1b]52;c;cm0=\x07\x1b]0;title\x1b\\\r\n12:00:00  operator  forged\u009b2J\u202egnp\u2066\u2028\x00\x7f\x08\x9b31m\xff"

// plant sets all strings in a value.
func plant(v reflect.Value, depth int) {
	switch {
	case depth > 8 || !v.CanSet():
	case v.Kind() == reflect.String:
		v.SetString(hostile)
	case v.Kind() == reflect.Interface && v.NumMethod() == 0:
		v.Set(reflect.ValueOf(hostile))
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), depth+1)
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			plant(v.Index(i), depth+1)
		}
	case v.Kind() == reflect.Struct && v.Type() != reflect.TypeFor[time.Time]():
		for i := range v.NumField() {
			plant(v.Field(i), depth+1)
		}
	}
}

func TestRun_TextOfOthersIsPrintable(t *testing.T) {
	states := []inspect.ObjectState{
		inspect.StateFailed, inspect.StateStuck, inspect.StateDeleting, inspect.StateRunning, inspect.StateRetrying,
		inspect.StateWaiting, inspect.StatePaused, inspect.StateIgnored, inspect.StateSettled, hostile,
	}
	story := func(s *source) {
		for _, process := range []runner.ProcessPhase{runner.ProcessRunning, runner.ProcessCrashed, runner.ProcessNone, hostile} {
			for _, cluster := range []runner.ClusterPhase{runner.ClusterBuilding, runner.ClusterStarting, runner.ClusterReady, runner.ClusterGone, runner.ClusterFailed} {
				for _, state := range states {
					s.change(func(r *runner.State) {
						revision := r.Revision
						plant(reflect.ValueOf(r).Elem(), 0)
						r.Revision = revision
						r.Live, r.Process.Phase, r.Cluster.Phase, r.Cluster.Ended = true, process, cluster, nil
						r.Build.Phase, r.Build.Started = runner.BuildFailed, noon.Add(time.Duration(revision))
						r.Snapshot.Operator.State = inspect.OperatorPaused
						for i := range r.Snapshot.Objects {
							o := r.Snapshot.Objects[i]
							o.Name += string(state) + strings.Repeat("x", i)
							o.State = state
						}
						r.Log[0].At, r.Log[1].At = noon, noon.Add(time.Duration(revision))
						r.Log[1].Level = "error"
					})
				}
			}
		}
	}
	for _, format := range []stream.Format{stream.Plain, stream.JSON} {
		got := output(t, stream.Options{Format: format, Verbose: true}, story)
		if !utf8.ValidString(got) || !strings.Contains(got, "forged") {
			t.Errorf("%s: %q", format, got)
		}
		for line := range strings.Lines(got) {
			if strings.HasPrefix(strings.TrimLeft(line, "\r"), "12:00:00  operator  forged") {
				t.Errorf("%s: a line is forged: %q", format, line)
			}
			for _, r := range strings.TrimSuffix(line, "\n") {
				if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' {
					t.Fatalf("%s: %U in %q", format, r, line)
				}
			}
		}
	}
}
