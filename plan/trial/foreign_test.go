package trial

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/plan/box"
	"github.com/kopf-dev/kopf/plan/proxy"
)

func TestForeign_SettlesWhenItSendsNothing(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		title       string
		used, since time.Duration // since the last request for objects, and since the last answer
		requests    int
		want        bool
	}{
		{"quiet", time.Minute, foreignCalm, 0, true},
		{"the last request was just now", 0, 0, 0, false},
		{"a request is running", time.Minute, time.Minute, 1, false},
		{"it has only asked for the version", time.Hour, time.Minute, 0, false},
	} {
		f := &foreign{started: now.Add(-30 * time.Minute), lastUse: func() time.Time { return now.Add(-test.used) }}
		if got, _ := f.settled(test.requests, now.Add(-test.since)); got != test.want {
			t.Errorf("%s: %t", test.title, got)
		}
	}
}

func TestForeign_UnusedServerIsAnError(t *testing.T) {
	unused := &foreign{started: time.Now(), lastUse: func() time.Time { return time.Time{} }}
	if got := unused.refused(); got != "" {
		t.Errorf("it is refused at the start: %s", got)
	}
	unused.started = time.Now().Add(-2 * foreignStart)
	if got := unused.refused(); !strings.Contains(got, "no request for objects") {
		t.Errorf("%q", got)
	}
	exit, ok := errors.AsType[*ExitError](unused.settle())
	if !ok || !exit.Unused || !strings.HasPrefix(exit.Error(), "the program has sent no request for objects to the server of $KUBECONFIG") {
		t.Errorf("%v", exit)
	}
	if unused.settledAt().IsZero() {
		t.Error("it has not ended")
	}
}

// awaited runs a shell command as a foreign program without a box, and returns the end of its trial.
func awaited(t *testing.T, command string, isUsed bool, timeout time.Duration, prepare func(*trial)) (string, error) {
	t.Helper()
	server, err := proxy.New(proxy.Options{Control: &rest.Config{Host: "http://localhost:1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	one := &trial{Options: Options{Foreign: true, Timeout: timeout, MaxWrites: 7}, server: server, enough: make(chan struct{}), failed: make(chan error, 1)}
	if prepare != nil {
		prepare(one)
	}
	started := time.Now()
	program, err := box.StartOutside(box.Spec{Path: "sh", Name: "sh", Args: []string{"-c", command}, Dir: t.TempDir(), Shared: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer program.Stop(0)
	return one.await(t.Context(), &foreign{started: started, lastUse: func() time.Time {
		if isUsed {
			return time.Now()
		}
		return time.Time{}
	}}, program)
}

func TestAwait_EndsOfForeignPrograms(t *testing.T) {
	for _, test := range []struct {
		title, command string
		isUsed         bool
		timeout        time.Duration
		prepare        func(*trial)
		ended, err     string
	}{
		{title: "done", command: "true", isUsed: true, timeout: time.Hour},
		{title: "a crash", command: "exit 3", isUsed: true, timeout: time.Hour, err: "the operator ended by itself: exit status 3"},
		{title: "done without the server", command: "true", timeout: time.Hour, err: "has sent no request for objects"},
		{title: "it never connects", command: "sleep 1000", timeout: time.Millisecond, err: "has sent no request for objects"},
		{title: "it never settles", command: "sleep 1000", isUsed: true, timeout: time.Millisecond, ended: "--timeout=1ms was over: the program was still sending requests"},
		{title: "it writes without end", command: "sleep 1000", isUsed: true, timeout: time.Hour, prepare: func(one *trial) { close(one.enough) }, ended: "--max-writes=7 was reached"},
	} {
		ended, err := awaited(t, test.command, test.isUsed, test.timeout, test.prepare)
		if err == nil && ended != test.ended || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %q, %v", test.title, ended, err)
		}
	}
}

func TestTail_IsBounded(t *testing.T) {
	var output tail
	long := strings.Repeat("ä", 1<<20)
	for range 3 {
		if n, err := output.Write([]byte(long)); n != len(long) || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, err := output.Write([]byte("\nthe end")); err != nil {
		t.Fatal(err)
	}
	lines := output.lines()
	if len(lines) != 2 || lines[1] != "the end" || len(lines[0]) > 3*maxBytes || !strings.HasSuffix(lines[0], "äää") {
		t.Errorf("%d lines, the first of %d bytes", len(lines), len(lines[0]))
	}
}
