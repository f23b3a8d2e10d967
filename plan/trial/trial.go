// Package trial runs an operator on a copy of the objects of a cluster, until nothing is left to do.
package trial

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/proxy"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// stopTime limits the time in which the operator must stop. Like daemons, cleanup handlers are not a part of the plan.
const stopTime = 5 * time.Second

// Options describe a trial.
type Options struct {
	// Proxy configures the proxy between the operator and the control plane, except for Recorded and Failed.
	Proxy proxy.Options

	// Binary is the operator's program, Dir its working directory, and Args its flags, without the flags for the cluster and the inspector.
	Binary, Dir string
	Args        []string

	// Foreign is true for a program without the inspector, which finds the cluster by the variable KUBECONFIG. Its trial ends when the
	// program has sent no request for some time, or when it ends without an error. The other flags of Args are passed as they are.
	Foreign bool

	// Places are folders of this run, by their placeholders. Another run of the same operator may have others.
	Places map[string]string

	// Boxed runs the operator in a box. Env are the operator's environment variables; Visible, Emptied and Hidden are as in [box.Spec].
	Boxed                    bool
	Env                      []string
	Visible, Emptied, Hidden []string

	// Folder is a private folder for sockets. Its path must be shorter than 80 bytes, because paths of sockets are limited.
	Folder string

	// Prepare changes the copy before the operator starts, through the Unix socket of its server. May be nil.
	Prepare func(ctx context.Context, socket string) error

	// Calls is the maximum number of attempts at a handler that is retried. The run ends after MaxWrites writing requests, or after the
	// Timeout.
	Calls, MaxWrites int
	Timeout          time.Duration
}

// Result is the record of a trial.
type Result struct {
	Requests []proxy.Request
	Untried  []proxy.Untried

	// Objects are the last states of all objects that the operator has seen, including deleted objects. Snapshot is the last state of the
	// operator. For a foreign program, there are no objects, and the state is empty.
	Objects  []*inspect.Object
	Snapshot *inspect.Snapshot

	// Body returns an object of the copy as it was before the run; nil if the copy does not have the object.
	Body func(*inspect.Object) map[string]any

	// Places are the folders and the address of this run, by their placeholders.
	Places map[string]string

	// Ended is the reason why the run ended early, with work left to do; empty if the operator had finished all work.
	Ended string
}

// ExitError is the error of an operator that ended on its own, or that did not use its cluster.
type ExitError struct {
	Err    error    // error with the exit code; nil for the code 0
	Unused bool     // the operator has sent no request for objects
	Output []string // last lines of the operator's output
}

// Error implements the error interface.
func (e *ExitError) Error() string {
	text := "the operator ended by itself"
	if e.Unused {
		text = "the program has sent no request for objects to the server of $KUBECONFIG"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return strings.Join(append([]string{text}, e.Output...), "\n")
}

// Run runs the operator on the copy, until all work is done or a limit is reached.
func Run(ctx context.Context, o Options) (_ *Result, err error) {
	t := &trial{Options: o, enough: make(chan struct{}), failed: make(chan error, 1)}
	socket := filepath.Join(o.Folder, "proxy.sock")
	o.Proxy.Recorded, o.Proxy.Failed = t.recorded, t.fail
	server, err := proxy.New(o.Proxy)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen for the operator: %w", err)
	}
	var serving sync.WaitGroup
	serving.Go(func() { t.served = server.Serve(listener) })
	defer func() {
		err = errors.Join(err, server.Close())
		serving.Wait()
		err = errors.Join(err, t.served)
	}()
	t.server = server
	if o.Prepare != nil {
		if err := o.Prepare(ctx, socket); err != nil {
			return nil, err
		}
	}
	return t.run(ctx, socket)
}

// trial is the state of one [Run].
type trial struct {
	Options
	server *proxy.Proxy
	served error

	mu      sync.Mutex
	started time.Time // start of the operator; earlier requests belong to Options.Prepare
	writes  int
	enough  chan struct{} // closed when MaxWrites is reached
	failed  chan error    // first failure of the proxy, which would make the plan wrong
}

// fail keeps the first failure of the proxy.
func (t *trial) fail(err error) {
	select {
	case t.failed <- err:
	default:
	}
}

// recorded counts a request of the operator.
func (t *trial) recorded(r proxy.Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.started.IsZero() || r.At.Before(t.started) {
		return
	}
	if t.writes++; t.writes == t.MaxWrites {
		close(t.enough)
	}
}

func (t *trial) run(ctx context.Context, socket string) (*Result, error) {
	kubeconfig, shared := filepath.Join(t.Folder, kubeconfigName), filepath.Join(t.Folder, "shared")
	if err := os.Mkdir(shared, 0o700); err != nil {
		return nil, fmt.Errorf("make a folder for the operator: %w", err)
	}
	server, unforward, err := t.address(socket)
	if err != nil {
		return nil, err
	}
	defer unforward()
	if err := os.WriteFile(kubeconfig, []byte(fmt.Sprintf(kubeconfigText, server)), 0o600); err != nil {
		return nil, fmt.Errorf("write the operator's kubeconfig: %w", err)
	}
	t.mu.Lock()
	t.started = time.Now()
	t.mu.Unlock()
	var output tail
	spec := box.Spec{
		Path: t.Binary, Args: t.Args, Dir: t.Dir, Socket: socket, Shared: shared,
		Visible: append(slices.Clone(t.Visible), t.Folder), Emptied: t.Emptied, Hidden: t.Hidden,
		Env: append(slices.Clone(t.Env), "KUBECONFIG="+kubeconfig), Stdout: &output, Stderr: &output,
	}
	var f follower = &foreign{started: t.started, lastUse: t.server.LastUse}
	unfollow := func() {}
	if t.Foreign {
		spec.Name = filepath.Base(t.Binary) // the program may have several functions, and choose one by its name
	} else {
		spec.Visible = append(spec.Visible, filepath.Dir(t.Binary))
		f, unfollow = t.inspected(ctx, &spec)
	}
	operator, err := t.start(spec)
	if err != nil {
		unfollow()
		return nil, err
	}
	ended, err := t.await(ctx, f, operator)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		exit.Output = output.lines()
	}
	operator.Stop(stopTime)
	unfollow()
	if err != nil {
		return nil, err
	}
	objects, snapshot := f.seen()
	recorded := t.server.Requests()
	body := bodies(t.Proxy.Copy, recorded, t.started)
	requests := slices.DeleteFunc(recorded, func(r proxy.Request) bool { return r.At.Before(t.started) || r.At.After(f.settledAt()) })
	places := map[string]string{"{server}": strings.TrimPrefix(server, "http://"), "{temp}": t.Folder}
	maps.Copy(places, t.Places)
	return &Result{Requests: requests, Untried: t.server.Untried(), Objects: objects, Snapshot: snapshot, Body: body, Places: places, Ended: ended}, nil
}

// inspected adds the inspector of the operator to its box, and follows it until unfollow is called.
func (t *trial) inspected(ctx context.Context, spec *box.Spec) (_ follower, unfollow func()) {
	spec.Inspector = filepath.Join(t.Folder, "inspector.sock")
	token := rand.Text()
	client := inspect.NewClient(func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", spec.Inspector)
	}, token)
	address := "unix:" + spec.Inspector
	if t.Boxed {
		address = "tcp:" + box.Inspector
	}
	spec.Args = append([]string{"--kubeconfig=" + filepath.Join(t.Folder, kubeconfigName), "--inspect=" + address, "--standalone", "--quiet"}, spec.Args...)
	spec.Env = append(spec.Env, inspect.PlanVariable+"="+strconv.Itoa(t.Calls), inspect.TokenVariable+"="+token)
	watching, stop := context.WithCancel(ctx)
	w := newWatcher()
	var watcher sync.WaitGroup
	watcher.Go(func() { w.follow(watching, client) })
	return w, func() {
		stop()
		watcher.Wait()
	}
}

// follower decides when a trial is over.
type follower interface {
	// settled is as in [watcher.settled].
	settled(requests int, last time.Time) (done bool, unfinished string)
	// refused returns the reason why the operator cannot work; empty if it can.
	refused() string
	// pending describes the unfinished work.
	pending() string
	// settle ends the trial. It returns an error if the trial has no result.
	settle() error
	settledAt() time.Time
	seen() ([]*inspect.Object, *inspect.Snapshot)
}

// kubeconfigName is the name of the operator's kubeconfig in [Options].Folder, and kubeconfigText its text.
const kubeconfigName = "kubeconfig"

const kubeconfigText = `{"apiVersion": "v1", "kind": "Config", "current-context": "plan",
"clusters": [{"name": "plan", "cluster": {"server": %q}}], "contexts": [{"name": "plan", "context": {"cluster": "plan", "user": "plan"}}],
"users": [{"name": "plan", "user": {}}]}
`

// address returns the URL at which the operator reaches the proxy, and a function that ends the forwarding to the proxy.
func (t *trial) address(socket string) (server string, end func(), err error) {
	if t.Boxed {
		return box.Server, func() {}, nil
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", nil, fmt.Errorf("listen for the operator: %w", err)
	}
	var forwarding sync.WaitGroup
	forwarding.Go(func() { _ = box.Forward(l, "unix", socket) }) // after an error, the operator's requests fail, and the plan shows their failures
	return "http://" + l.Addr().String(), func() {
		_ = l.Close() // fails only if the listener is closed already
		forwarding.Wait()
	}, nil
}

func (t *trial) start(s box.Spec) (*box.Process, error) {
	if t.Boxed {
		return box.Start(s)
	}
	return box.StartOutside(s)
}

// await waits until all work is done or a limit is reached. It returns the reason of an early end; empty if all work is done.
func (t *trial) await(ctx context.Context, f follower, operator *box.Process) (string, error) {
	late := time.NewTimer(t.Timeout)
	defer late.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var refused time.Time // time since which the operator is not permitted to list its objects
	for {
		select {
		case <-ctx.Done():
			return "", context.Cause(ctx)
		case err := <-t.failed:
			return "", err
		case <-operator.Done():
			if t.Foreign && operator.Err() == nil {
				return "", f.settle()
			}
			return "", &ExitError{Err: operator.Err()}
		case <-t.enough:
			return fmt.Sprintf("--max-writes=%d was reached", t.MaxWrites), f.settle()
		case <-late.C:
			return fmt.Sprintf("--timeout=%s was over: %s", t.Timeout, f.pending()), f.settle()
		case <-look.C:
			switch reason := f.refused(); {
			case reason == "":
				refused = time.Time{}
			case refused.IsZero():
				refused = time.Now()
			case time.Since(refused) > quiet:
				return reason, f.settle()
			}
			requests, last := t.server.Busy()
			if done, unfinished := f.settled(requests, last); done {
				return unfinished, f.settle()
			}
		}
	}
}
