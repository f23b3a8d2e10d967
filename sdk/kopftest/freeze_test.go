package kopftest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

const (
	writtenMap   = "{apiVersion: v1, kind: ConfigMap, metadata: {name: written, labels: {mine: 'yes'}}}"
	tickInterval = 20 * time.Millisecond
)

// writer is a process with a timer that counts its calls in the log and in an object. It listens until it ends.
func writer(o *kopf.Operator, args []string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on", listener.Addr())
	kopf.OnStartup(o.Registry, func(context.Context, *kopf.Activity) error {
		o.Logger.Warn("I am "+strings.Join(args, " "), "kubeconfig", os.Getenv("KUBECONFIG") != "")
		return nil
	}, kopf.ID("startup"))
	n := 0
	kopf.Timer(o.Registry, kopf.Resource("v1", "configmaps"), func(_ context.Context, tick *kopf.TimerTick[kopf.Object]) error {
		n++
		o.Logger.Debug("tick", "n", n)
		tick.Patch.Set("data.n", strconv.Itoa(n))
		return nil
	}, kopf.ID("tick"), kopf.Interval(tickInterval), kopf.Labels{"mine": "yes"})
}

// failing is a process whose operator does not start.
func failing(o *kopf.Operator, _ []string) {
	kopf.OnStartup(o.Registry, func(context.Context, *kopf.Activity) error { return errors.New("no database") }, kopf.ID("startup"), kopf.ErrorsPermanent)
}

// listens waits until a process has logged its address.
func listens(p *Process) string {
	p.T().Helper()
	const prefix = "listening on "
	p.WaitLog(prefix)
	for line := range strings.Lines(p.Log()) {
		if address, found := strings.CutPrefix(strings.TrimSpace(line), prefix); found {
			return address
		}
	}
	p.T().Fatal("no address")
	return ""
}

func TestProcess_IsAnOperatorWithLogAndInspector(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	operator := cluster.StartProcess("writer", "number", "one")
	operator.WaitReady()
	operator.WaitLog("listening on ")
	i := slices.IndexFunc(operator.LogEntries(), func(e LogEntry) bool { return e.Message == "I am number one" })
	if i < 0 {
		t.Fatalf("the arguments are missing in:\n%s", operator.Log())
	}
	if e := operator.LogEntries()[i]; e.Level != slog.LevelWarn || len(e.Attrs) != 1 || e.Attrs[0].String() != "kubeconfig=true" {
		t.Errorf("the entry is %v", e)
	}
	cluster.Apply(writtenMap).WaitFor("it is written", func(o *kopf.Object) bool { return o.Get("data.n") != nil })
	operator.WaitInspect("it knows an object", func(s *inspect.Snapshot) bool { return len(s.Objects) > 0 })
	address := listens(operator)
	operator.Restart()
	if n := operator.CountLog("I am number one"); n != 2 {
		t.Errorf("it has started %d times", n)
	}
	waitClosed(t, address)
}

func TestProcess_EndsWithErrorOfOperator(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	if err := cluster.StartProcess("failing").WaitEnd(); err == nil || !strings.Contains(err.Error(), "no database") {
		t.Errorf("it has ended with %v", err)
	}
}

func TestStartProcess_SaysWhatTestMainLacks(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	failure := failureOf(t, func(d testing.TB) { cluster.With(d).StartProcess("nobody") })
	wantAll(t, failure, `the test binary has no operator "nobody"`, `TestMain must call kopftest.RunAs("nobody"`)
}

// While the process is frozen, another one has time for many calls.
func TestFreeze_ProcessDoesNothingUntilContinued(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	written := cluster.Apply(writtenMap)
	operator := cluster.StartProcess("writer", "frozen")
	count := func() int {
		n, _ := strconv.Atoi(kopf.GetOr(written.Get(), "data.n", "0"))
		return n
	}
	cluster.WaitUntil("it writes", func() bool { return count() > 0 })

	operator.Freeze()
	calls, lines, before := operator.CountLog("tick"), operator.LogMark(), count()
	other := cluster.CreateNamespace(cluster.Namespace + "-other")
	other.Apply(writtenMap)
	another := other.StartProcess("writer", "other")
	another.WaitLogs("tick", 50)
	if now := operator.LogMark(); now != lines || operator.CountLog("tick") != calls {
		t.Errorf("it has logged %d lines while it was frozen:\n%s", now.lines-lines.lines, operator.Log())
	}
	if after := count(); after > calls || after > before+1 {
		t.Errorf("it has written %d times while it was frozen: one request can have been on the wire", after-before)
	}

	operator.Continue()
	cluster.WaitUntil("it writes again", func() bool { return count() > calls+1 })
}

func TestFreeze_OtherMethodsSayThatItIsFrozen(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	operator := cluster.StartProcess("writer", "frozen")
	operator.WaitReady()
	failures := func(f func(*Process)) string {
		return failureOf(t, func(d testing.TB) {
			doomed := *operator.Operator
			doomed.cluster = cluster.With(d)
			f(&Process{&doomed})
		})
	}
	wantAll(t, failures((*Process).Continue), "the operator is not frozen")
	operator.Freeze()
	wantAll(t, failures((*Process).Freeze), "the operator is frozen already")
	wantAll(t, failures(func(p *Process) { p.Inspect() }), "it is frozen: call Continue first")
	address := listens(operator)
	operator.Kill()
	waitClosed(t, address)
	wantAll(t, failures((*Process).Freeze), "the operator is not running")
	operator.Start()
	operator.Freeze()
	operator.Stop()
}

func TestProcess_FailsWhileOperatorIsFrozen(t *testing.T) {
	onlyAside(t, "TestFreeze_NoProcessIsLeft")
	operator := New(t).StartProcess("writer", "frozen")
	address := listens(operator)
	operator.Freeze()
	fmt.Println("\nfrozen", address)
	if os.Getenv(asideVar) == "hang" {
		select {}
	}
	t.Fatal("failing as it should")
}

func TestFreeze_NoProcessIsLeft(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"fail", "hang"} {
		t.Run(end, func(t *testing.T) {
			t.Parallel()
			cmd := aside(t, "TestProcess_FailsWhileOperatorIsFrozen")
			cmd.Env = append(cmd.Env, asideVar+"="+end)
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(stdout)
			address := wordAfter("frozen ", lines)
			if address == "" {
				t.Fatal("it has frozen no operator")
			}
			if end == "hang" {
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			} else if wordAfter("    freeze_test.go:", lines) == "" {
				t.Error("it does not report its failure")
			}
			for lines.Scan() { // to the end
			}
			if err := cmd.Wait(); err == nil {
				t.Error("it has not failed")
			}
			waitClosed(t, address)
		})
	}
}
