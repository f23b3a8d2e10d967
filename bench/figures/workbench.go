package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	workbenchObjects = 10_000
	workbenchChanges = 200 // a second
	workbenchKeys    = 600

	// The goals of a key: the median, and the 99th percentile, which is two frames of a screen.
	keyGoal, slowKeyGoal = 16 * time.Millisecond, 33 * time.Millisecond

	workbenchNamespace = "workbench"
	workbenchRest      = 20 * time.Second // duration of the idle measurement
)

// workbenchSource is an operator that handles each object when it is created, and whenever it is changed.
const workbenchSource = `package handlers

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func Register(r *kopf.Registry) {
	examples := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnCreate(r, examples, create)
	kopf.OnUpdate(r, examples, update)
}

func create(_ context.Context, c *kopf.Change[kopf.Object]) error {
	c.Result = map[string]string{"message": "hello world"}
	return nil
}

func update(context.Context, *kopf.Change[kopf.Object]) error { return nil }
`

// measureWorkbench measures kopf dev in a terminal: with all objects at rest, and while they change.
func measureWorkbench(ctx context.Context, l *environment, c *devcluster.Cluster, client *api) (_ []row, err error) {
	names, err := createNamed(ctx, client)
	if err != nil {
		return nil, err
	}
	l.say("  %d objects created", len(names))
	dir, err := l.newModule(workbenchSource)
	if err != nil {
		return nil, err
	}
	handling, stopWatching := context.WithCancel(ctx)
	defer stopWatching()
	handled := newCompletion()
	all := handled.expect(len(names))
	if err := client.watch(handling, workbenchNamespace, handled.line); err != nil {
		return nil, err
	}
	t, err := openTerminal(ctx, program{path: l.kopf(), dir: dir,
		args: []string{"dev", ".", "--namespace=" + workbenchNamespace, "--kubeconfig=" + c.KubeconfigPath, "--context=" + c.Context},
		env:  []string{"TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8", "TERM_PROGRAM=", "NO_COLOR="}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	select {
	case <-all:
	case <-time.After(waitLimit):
		return nil, fmt.Errorf("the objects are not handled within %s:\n%s", waitLimit, t)
	case <-t.read:
		return nil, fmt.Errorf("kopf dev has ended:\n%s", t)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	stopWatching()
	l.say("  all are handled")
	if err := t.waitFor(ctx, waitLimit, "all objects at rest", allAtRest); err != nil {
		return nil, err
	}
	return l.measureKeys(ctx, c, t, names)
}

// createNamed creates the objects, and returns their names in order.
func createNamed(ctx context.Context, client *api) ([]string, error) {
	if err := client.createNamespace(ctx, workbenchNamespace); err != nil {
		return nil, err
	}
	names := make([]string, workbenchObjects)
	for i := range names {
		names[i] = numberedFully(i)
	}
	return names, parallel(len(names), 16, func(i int) error { return client.create(ctx, workbenchNamespace, names[i], nil) })
}

// allAtRest reports whether all objects are at rest, according to the counters and to the number of objects beside them.
func allAtRest(s *screen) bool {
	line := s.line(summaryLine)
	return strings.Contains(line, "✓ 10,000 at rest") && strings.Contains(line, " 10,000 objects")
}

// measureKeys measures the idle CPU, then the keys without changes, then the same keys with changes.
func (l *environment) measureKeys(ctx context.Context, c *devcluster.Cluster, t *terminal, names []string) ([]row, error) {
	if err := sleep(ctx, settleTime); err != nil {
		return nil, err
	}
	idle, err := cpuDuring(ctx, t.pid(), func() error { return sleep(ctx, workbenchRest) })
	if err != nil {
		return nil, err
	}
	l.say("  idle CPU: %.2f %%", 100*idle)
	page := 0
	t.look(func(s *screen) { page = listRows(s) })
	keys := typeKeys(names, page, workbenchKeys)

	e, err := l.openEcho(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.terminal.close() }() // only this program has written to it
	rest, err := l.pressAll(ctx, t, e, keys)
	if err != nil {
		return nil, err
	}
	l.say("  without changes: %s", describeTimes(rest.all()))
	if err := backToFirst(ctx, t, names); err != nil {
		return nil, err
	}
	changed, rate, err := l.whileChanging(ctx, c, func() (pressed, error) { return l.pressAll(ctx, t, e, keys) })
	if err != nil {
		return nil, err
	}
	l.say("  with %.0f changes a second: %s", rate, describeTimes(changed.all()))
	m, err := memoryOf(t.pid())
	if err != nil {
		return nil, err
	}
	return append(append(rest.rows(note("%d keys, %d objects at rest", len(keys), len(names))),
		changed.rows(note("%d keys, %.0f changes a second", len(keys), rate))...),
		atMost("workbench, peak RSS", 150, megabytes(m.peak), "%.1f MB", note("%.1f MB at the end", megabytes(m.resident))),
		atMost(note("… CPU, %d objects at rest", len(names)), 2, 100*idle, "%.2f %%", note("of one core, %s", workbenchRest)),
	), nil
}

// backToFirst moves the cursor to the first object, where the keys begin.
func backToFirst(ctx context.Context, t *terminal, names []string) error {
	first := cursorOn(names[0])
	there := false
	if t.look(func(s *screen) { there = first(s) }); there {
		return nil
	}
	_, err := t.press(ctx, key{text: "g", shows: first})
	return err
}

// whileChanging calls a function while objects change, and returns how many have changed in a second.
func (l *environment) whileChanging(ctx context.Context, c *devcluster.Cluster, do func() (pressed, error)) (p pressed, rate float64, err error) {
	path, err := os.Executable()
	if err != nil {
		return p, 0, err
	}
	changed := int64(0)
	writer, err := l.start(ctx, program{
		path: path, env: []string{writerVariable + "=1"},
		args: []string{"--kubeconfig=" + c.KubeconfigPath, "--context=" + c.Context, "--namespace=" + workbenchNamespace,
			fmt.Sprintf("--objects=%d", workbenchObjects), fmt.Sprintf("--rate=%d", workbenchChanges)},
		line: func(line string) {
			if _, err := fmt.Sscanf(line, "changed %d", &changed); err != nil {
				l.say("  writer: %s", line)
			}
		},
	})
	if err != nil {
		return p, 0, err
	}
	if err := sleep(ctx, settleTime); err != nil {
		return p, 0, err
	}
	p, err = do()
	took := time.Since(writer.began)
	if _, stopErr := writer.stop(); err != nil || stopErr != nil {
		return p, 0, errors.Join(err, stopErr)
	}
	return p, float64(changed) / took.Seconds(), nil
}

// pressed has the measurements while keys were pressed.
type pressed struct {
	keys   map[string][]time.Duration // times by the kind of the key
	echoes []time.Duration
	stalls []time.Duration
	cpu    float64 // CPU usage of the workbench, in cores
}

// pressAll presses keys with pauses. In the middle of each pause, it types into the echo.
func (l *environment) pressAll(ctx context.Context, t *terminal, e *echo, keys []key) (p pressed, err error) {
	p.keys = map[string][]time.Duration{}
	pauses := rand.New(rand.NewPCG(200, 10_000)) //nolint:gosec // the pauses must be the same each time
	recorded := newStalls()
	defer func() { p.stalls = recorded.end() }()
	p.cpu, err = cpuDuring(ctx, t.pid(), func() error {
		for i, k := range keys {
			took, err := t.press(ctx, k)
			if err != nil {
				return fmt.Errorf("key %d, %s: %w", i, k.kind, err)
			}
			p.keys[k.kind] = append(p.keys[k.kind], took)
			half := 25*time.Millisecond + time.Duration(pauses.Int64N(int64(50*time.Millisecond)))
			if err := sleep(ctx, half); err != nil {
				return err
			}
			echoed, err := e.press(ctx)
			if err != nil {
				return err
			}
			p.echoes = append(p.echoes, echoed)
			if err := sleep(ctx, half); err != nil {
				return err
			}
		}
		return nil
	})
	return p, err
}

// all returns the times of all keys.
func (p pressed) all() (all []time.Duration) {
	for _, kind := range keyKinds {
		all = append(all, p.keys[kind]...)
	}
	return all
}

// rows returns the rows of the keys, and of the machine's load at the same time.
func (p pressed) rows(when string) []row {
	all := p.all()
	median := atMost(when+": key → drawn, median", milliseconds(keyGoal), milliseconds(quantile(all, 0.5)), "%.1f ms", "")
	for _, took := range all {
		median.samples = append(median.samples, milliseconds(took))
	}
	slow := atMost("… 99th percentile", milliseconds(slowKeyGoal), milliseconds(quantile(all, 0.99)), "%.1f ms",
		note("at most %.1f ms", milliseconds(quantile(all, 1))))
	rows := []row{median, slow, {what: note("… over %d ms", slowKeyGoal.Milliseconds()), measured: p.slowKinds()}}
	return append(rows,
		row{what: "… the echo of a bare program in a terminal", measured: describeTimes(p.echoes)},
		row{what: "… how late the measurement is woken", measured: describeTimes(p.stalls)},
		row{what: "… CPU of the workbench", measured: note("%.1f %% of one core", 100*p.cpu)})
}

// slowKinds says how many keys of each kind took longer than the goal.
func (p pressed) slowKinds() string {
	var said []string
	slow, all := 0, 0
	for _, kind := range keyKinds {
		n := 0
		for _, took := range p.keys[kind] {
			if took > slowKeyGoal {
				n++
			}
		}
		slow, all = slow+n, all+len(p.keys[kind])
		said = append(said, note("%s %d of %d", kind, n, len(p.keys[kind])))
	}
	return note("%.1f %%: %s", 100*float64(slow)/float64(all), strings.Join(said, ", "))
}

func describeTimes(samples []time.Duration) string {
	return note("median %.1f ms, 99th percentile %.1f ms, at most %.1f ms",
		milliseconds(quantile(samples, 0.5)), milliseconds(quantile(samples, 0.99)), milliseconds(quantile(samples, 1)))
}

// cpuDuring returns how many cores a process has used while a function ran.
func cpuDuring(ctx context.Context, pid int, do func() error) (float64, error) {
	before, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	after, err := cpuOf(pid)
	if err != nil {
		return 0, err
	}
	return (after - before).Seconds() / time.Since(began).Seconds(), context.Cause(ctx)
}
