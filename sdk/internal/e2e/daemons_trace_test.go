package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	politely   = "background_sync"  // it ends when it is asked to
	forcefully = "background_async" // it knows nothing but the end of its context
)

// daemons registers the handlers of the recorded run, with shorter delays. The names come from
// the example: the difference between synchronous and asynchronous functions is not one of Go.
func (x *examples) daemons(r *kopf.Registry) {
	const delay = 20 * time.Millisecond
	kopf.Daemon(r, kexes, func(_ context.Context, d *run) error {
		if d.Retry < 3 {
			d.Patch.Set("status.message", fmt.Sprintf("Failed %d times.", d.Retry+1))
			return kopf.Temporaryf(delay, "Simulated failure.")
		}
		for pinging := true; pinging; pinging = d.Sleep(delay) {
			d.Logger.Info(fmt.Sprintf("=> Ping from a sync daemon: field='%v', retry=%d", d.Object().Get("spec.field"), d.Retry))
		}
		d.Patch.Set("status.message", "Accompanying is finished.")
		return nil
	}, kopf.ID(politely))
	kopf.Daemon(r, kexes, func(ctx context.Context, d *run) error {
		if d.Retry < 3 {
			return kopf.Temporaryf(delay, "Simulated failure.")
		}
		for ; ctx.Err() == nil; time.Sleep(delay) {
			d.Logger.Info(fmt.Sprintf("=> Ping from an async daemon: field='%v'", d.Object().Get("spec.field")))
		}
		return ctx.Err()
	}, kopf.ID(forcefully), kopf.Cancellation{Backoff: time.Second, Timeout: 10 * time.Second})
}

// differences are the intended differences from the recorded lines. An empty line is left out.
var differences = map[string]string{
	"WARNING Daemon 'background_async' is cancelled. Will escalate.": "DEBUG Daemon 'background_async' is cancelled.",
	// These depend on the timing.
	"DEBUG Daemon 'background_sync' is still exiting. The next check is in 60 seconds.": "",
	"DEBUG Daemon 'background_sync' is still exiting. The next check is in N seconds.":  "",
	"DEBUG Daemon 'background_sync' is still exiting.":                                  "",
	"DEBUG Daemon 'background_async' is still exiting.":                                 "",
	// Kopf for Go logs the end of this one, too.
	"DEBUG Daemon 'background_async' has exited on request and will not be retried or restarted.": "",
}

func TestTrace_Daemons(t *testing.T) {
	want := transcript(t, "14-daemons")
	cluster, x := newCluster(t), &examples{}
	op := cluster.Run(x.daemons, logPatches)
	object := cluster.Create(example("kopf-example-1"))
	op.WaitLogs("=> Ping from a sync daemon", 2)
	op.WaitLogs("=> Ping from an async daemon", 2)
	object.Delete()
	object.WaitGone()
	op.Stop()
	got := lines(op.LogEntries())

	if difference := cmp.Diff(requests(want), requests(got)); difference != "" {
		t.Errorf("the requests of the recorded run (-) and of this one (+):\n%s", difference)
	}
	for _, id := range []string{politely, forcefully} {
		if difference := cmp.Diff(ofOne(want, id), ofOne(got, id)); difference != "" {
			t.Errorf("%s in the recorded run (-) and in this one (+):\n%s", id, difference)
		}
	}
	for _, line := range []string{
		"DEBUG Adding the finalizer, thus preventing the actual deletion.",
		"DEBUG Removing the finalizer, thus allowing the actual deletion.",
	} {
		if !slices.Contains(want, line) || !slices.Contains(got, line) {
			t.Errorf("not in both: %s", line)
		}
	}
}

// requests returns the requests of a run, each once, without the touches: in the recorded run,
// the object is touched to check on a daemon, which repeats the next request.
func requests(lines []string) []string {
	var out []string
	for _, line := range lines {
		if strings.HasPrefix(line, "PATCH") && !strings.Contains(line, "touch-dummy") && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// ofOne returns the lines of one of the daemons, which run at the same time. All its pings are
// one line.
func ofOne(lines []string, id string) []string {
	ping := "=> Ping from a " + strings.TrimPrefix(id, "background_")
	if id == forcefully {
		ping = "=> Ping from an async"
	}
	var out []string
	pinged := false
	for _, line := range lines {
		if other, differs := differences[line]; differs {
			line = other
		}
		switch pings := strings.Contains(line, ping); {
		case line == "", !pings && !strings.Contains(line, "'"+id+"'"), pings && pinged:
			continue
		case pings:
			pinged = true
		}
		out = append(out, line)
	}
	return out
}
