package kopftest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// asideVar is set in the separate processes that run tests of this file.
const asideVar = "KOPFTEST_ASIDE"

// aside makes a process that runs one of them.
func aside(t *testing.T, test string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), asideVar+"=1")
	return cmd
}

// onlyAside skips a test that another one runs.
func onlyAside(t *testing.T, by string) {
	t.Helper()
	if os.Getenv(asideVar) == "" {
		t.Skipf("%s runs this one, in a process of its own", by)
	}
}

func TestProcess_Failing(t *testing.T) {
	onlyAside(t, "TestReport_FailsOnLineOfTest")
	const (
		some  = "{apiVersion: v1, kind: ConfigMap, metadata: {name: x}}"
		hasty = 300 * time.Millisecond
	)
	t.Run("handled", func(t *testing.T) {
		cluster := New(t)
		cluster.Apply(widgetsCRD)
		operator := cluster.Run(func(r *kopf.Registry) {
			kopf.OnCreate(r, widgets, func(context.Context, *request) error { return errors.New("no luck") }, kopf.ID("create"))
		})
		one := cluster.Apply(widget)
		cluster.timeout = hasty
		operator.WaitHandled(one) // FAILS
	})
	t.Run("value", func(t *testing.T) {
		object := New(t).Apply(some)
		object.cluster.timeout = hasty
		object.WaitValue("data.key", "value") // FAILS
	})
	t.Run("typed", func(t *testing.T) {
		object := New(t).Apply(some)
		object.cluster.timeout = hasty
		WaitFor(object, "it has a size", func(s *sized) bool { return s.Spec.Size > 0 }) // FAILS
	})
	t.Run("gone", func(t *testing.T) {
		object := New(t).Apply(some)
		object.cluster.timeout = hasty
		object.WaitGone() // FAILS
	})
	t.Run("list", func(t *testing.T) {
		cluster := New(t)
		cluster.timeout = hasty
		cluster.WaitList("pods", "there is one", func(pods []*kopf.Object) bool { return len(pods) > 0 }) // FAILS
	})
	t.Run("apply", func(t *testing.T) {
		cluster := New(t)
		cluster.ApplyFile("nowhere.yaml") // FAILS
	})
	t.Run("log", func(t *testing.T) {
		cluster := New(t)
		operator := cluster.Run(func(*kopf.Registry) {})
		cluster.timeout = hasty
		operator.WaitLog("never said") // FAILS
	})
	t.Run("request", func(t *testing.T) {
		Change[sized](t, "spec: {size: big}") // FAILS
	})
	t.Run("daemon", func(t *testing.T) {
		run := Daemon[sized](t, oneWidget)
		run.Start(t.Context(), func(context.Context, *kopf.DaemonRun[sized]) error { return nil })
		run.NextSleep() // FAILS
	})
}

func TestReport_FailsOnLineOfTest(t *testing.T) {
	source, err := os.ReadFile("process_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, line := range strings.Split(string(source), "\n") {
		if strings.HasSuffix(line, "// "+"FAILS") {
			want = append(want, fmt.Sprintf("process_test.go:%d: kopftest: ", i+1))
		}
	}
	out, err := aside(t, "TestProcess_Failing").CombinedOutput()
	if err == nil {
		t.Error("it does not fail")
	}
	got := regexp.MustCompile(`\S+\.go:\d+: kopftest: `).FindAllString(string(out), -1)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("it fails at %q instead of %q:\n%s", got, want, out)
	}
}

func TestProcess_Holding(t *testing.T) {
	onlyAside(t, "TestCluster_ControlPlaneEndsWithKilledBinary")
	fmt.Println("\nserver", New(t).Config.Host)
	select {}
}

func TestCluster_ControlPlaneEndsWithKilledBinary(t *testing.T) {
	t.Setenv(kubeconfigVar, "")
	cmd := aside(t, "TestProcess_Holding")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	server := wordAfter("server ", bufio.NewScanner(stdout))
	address, err := url.Parse(server)
	if err != nil || server == "" {
		t.Fatalf("it does not tell its server: %v\n%s", err, &errs)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	waitClosed(t, address.Host)
}

// wordAfter returns the rest of the next line with a prefix.
func wordAfter(prefix string, lines *bufio.Scanner) string {
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), prefix); found {
			return rest
		}
	}
	return ""
}

// waitClosed waits until the process that listens on an address has ended.
func waitClosed(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := contextOf(t.Context(), t, timeout(t))
	defer cancel()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err != nil && ctx.Err() == nil {
			return
		}
		if err == nil {
			end, _ := ctx.Deadline()
			err = errors.Join(conn.SetDeadline(end), hangsUp(conn), conn.Close())
		}
		if ctx.Err() != nil {
			t.Fatalf("%s still answers: %v", address, err)
		}
	}
}

// hangsUp waits until the other side closes a connection.
func hangsUp(conn net.Conn) error {
	_, err := conn.Read(make([]byte, 1))
	return err
}
