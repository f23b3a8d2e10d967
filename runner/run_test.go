package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/kopf-dev/kopf/runner/settlement"
	"github.com/kopf-dev/kopf/sdk/inspect"
)

// headlessOptions returns options to run an operator with this body of Register. printed
// returns the output so far.
func headlessOptions(t *testing.T, body string) (opts RunOptions, printed func() string) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	opts = RunOptions{
		Dir:         tree(t, map[string]string{"a/a.go": handlers("a", body)}),
		Patterns:    []string{"./a"},
		OpenCluster: func(context.Context) (Cluster, error) { return Cluster{Kubeconfig: "/k"}, nil },
		Progress:    func(_ bool, line string) { t.Log(line) },
		Stdout:      out,
		Stderr:      out,
	}
	return opts, func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}

// sendWhenReady sends the signals after the operator has printed "ready".
func sendWhenReady(opts *RunOptions, printed func() string, signals ...os.Signal) {
	channel := make(chan os.Signal)
	opts.Signals = channel
	go func() {
		ticker := time.NewTicker(5 * time.Millisecond)
		defer ticker.Stop()
		for range ticker.C {
			if strings.Contains(printed(), "ready") {
				break
			}
		}
		for _, s := range signals {
			channel <- s
		}
	}()
}

func TestRun_ReturnsOperatorExitCode(t *testing.T) {
	opts, printed := headlessOptions(t, `r.Fail("wrong")`)
	code, err := Run(t.Context(), opts)
	if code != 1 || err != nil || printed() != "wrong\n" {
		t.Errorf("%d, %v, %q", code, err, printed())
	}
}

func TestRun_SaysWhenTheOperatorsCodeExits(t *testing.T) {
	for body, want := range map[string]struct {
		code int
		says string
	}{
		`r.Exit(0)`:                         {0, "the operator ended with code 0 without being asked: its code has called os.Exit"},
		`r.Exit(1)`:                         {1, "the operator ended with code 1 without being asked: its code has called os.Exit"},
		`r.Exit(7)`:                         {7, "the operator ended with code 7 without being asked"},
		`r.Exit(-1)`:                        {255, "the operator ended with code 255 without being asked"},
		`r.Crash(func() { panic("oops") })`: {2, "or it has crashed"},
		`r.Fail("wrong")`:                   {1, ""},
	} {
		var mu sync.Mutex // a slow build is explained concurrently
		var said []string
		opts, _ := headlessOptions(t, body)
		opts.Progress = func(_ bool, line string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, line)
		}
		code, err := Run(t.Context(), opts)
		mu.Lock()
		said = slices.Clone(said)
		mu.Unlock()
		says := strings.Contains(strings.Join(said, "\n"), "without being asked")
		if code != want.code || err != nil || says != (want.says != "") || !strings.Contains(strings.Join(said, "\n"), want.says) {
			t.Errorf("%s: %d, %v, %q", body, code, err, said)
		}
	}
}

func TestRun_HandledSignalExitsWithZero(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		opts, printed := headlessOptions(t, `r.Print("ready")`)
		sendWhenReady(&opts, printed, signal)
		opts.Progress = func(_ bool, line string) {
			if strings.Contains(line, "without being asked") {
				t.Error(line)
			}
		}
		if code, err := Run(t.Context(), opts); code != 0 || err != nil {
			t.Errorf("%s: %d, %v", signal, code, err)
		}
	}
}

func TestRun_SignalBeforeSettledSetsExitCode(t *testing.T) {
	for signal, want := range map[os.Signal]int{os.Interrupt: 130, syscall.SIGTERM: 143} {
		opts, printed := headlessOptions(t, `r.Publish("one", "running"); r.Print("ready")`)
		opts.UntilSettled = true
		sendWhenReady(&opts, printed, signal)
		code, err := Run(t.Context(), opts)
		if interrupted, ok := errors.AsType[*InterruptError](err); !ok || code != want || interrupted.Signal != signal {
			t.Errorf("%s: %d, %v", signal, code, err)
		}
	}
}

func TestRun_SecondInterruptKills(t *testing.T) {
	opts, printed := headlessOptions(t, `r.IgnoreSignals(); r.Print("ready")`)
	sendWhenReady(&opts, printed, os.Interrupt, os.Interrupt)
	if code, err := Run(t.Context(), opts); code != 130 || err == nil {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRun_InterruptCancelsPreparation(t *testing.T) {
	opts, _ := headlessOptions(t, "")
	channel := make(chan os.Signal)
	opts.Signals = channel
	opts.OpenCluster = func(ctx context.Context) (Cluster, error) {
		channel <- os.Interrupt
		<-ctx.Done()
		return Cluster{}, ctx.Err()
	}
	code, err := Run(t.Context(), opts)
	if _, ok := errors.AsType[*InterruptError](err); !ok || code != 130 {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRun_CompileErrorCancelsClusterStart(t *testing.T) {
	opts, _ := headlessOptions(t, "nonsense")
	opts.OpenCluster = func(ctx context.Context) (Cluster, error) {
		<-ctx.Done()
		return Cluster{}, ctx.Err()
	}
	code, err := Run(t.Context(), opts)
	if code != 1 || err == nil || err.Error() != "a/a.go:6:2: undefined: nonsense" {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRun_EndsWithCluster(t *testing.T) {
	opts, _ := headlessOptions(t, `r.Print("ready")`)
	ended := make(chan struct{})
	close(ended)
	opts.OpenCluster = func(context.Context) (Cluster, error) { return Cluster{Name: "dev", Ended: ended}, nil }
	code, err := Run(t.Context(), opts)
	if _, ok := errors.AsType[*ClusterEndedError](err); !ok || code != 1 {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRun_UntilSettledEndsByItself(t *testing.T) {
	for name, test := range map[string]struct {
		body string
		code int
		want string
	}{
		"well":         {`r.Publish("one", "settled")`, 0, "<nil>"},
		"with failure": {`r.Publish("one", "failed")`, 1, "not everything is handled\nthings/default/one: failed\nnot settled: 1 object, 1 failed; 0 handlers succeeded"},
		"with a crash": {`r.Crash(func() { panic("boom") })`, 2, "<nil>"},
		"too late":     {`r.Publish("one", "running")`, 1, "not settled after 10s\nthings/default/one: running\nnot settled: 1 object, 1 not settled; 0 handlers succeeded"},
	} {
		t.Run(name, func(t *testing.T) {
			opts, printed := headlessOptions(t, test.body)
			opts.UntilSettled, opts.Timeout = true, timeLimit
			if name == "too late" {
				opts.Timeout = 10 * time.Second // the operator has published its state before that
			}
			opts.Report = filepath.Join(t.TempDir(), "report.xml")
			opts.Manifests = []string{"x.yaml"}
			opts.Apply = afterSetup(func([]string) ([]settlement.Applied, error) {
				return []settlement.Applied{{Ref: inspect.Ref{Resource: "things.v1.example.com", Namespace: "default", Name: "one", UID: "one"}, Version: "5"}}, nil
			})
			code, err := Run(t.Context(), opts)
			got := "<nil>"
			if err != nil {
				got = err.Error()
			}
			if code != test.code || got != test.want {
				t.Errorf("%d, %s\n%s", code, got, printed())
			}
			crashed := strings.Contains(readReport(t, opts.Report), `<failure message="the operator exited with code 2; its output says why">`)
			if crashed != (name == "with a crash") {
				t.Error(readReport(t, opts.Report))
			}
		})
	}
}

func readReport(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestRun_FormerReportIsReplacedAfterAnyEnd(t *testing.T) {
	for body, want := range map[string]string{
		`does not compile`:            `<failure message="a/a.go:6:7: syntax error`,
		`r.Fail("wrong")`:             `<failure message="the operator exited with code 1; its output says why">`,
		`r.Print("ready")`:            `<failure message="interrupted">`,
		`r.Publish("one", "settled")`: `tests="1" failures="0"`,
	} {
		opts, printed := headlessOptions(t, body)
		opts.UntilSettled, opts.Timeout = true, timeLimit
		opts.Report = filepath.Join(t.TempDir(), "report.xml")
		if err := os.WriteFile(opts.Report, []byte("former"), 0o600); err != nil {
			t.Fatal(err)
		}
		opts.OpenCluster = func(context.Context) (Cluster, error) {
			if _, err := os.Stat(opts.Report); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: the former report is still there: %v", body, err)
			}
			return Cluster{Kubeconfig: "/k"}, nil
		}
		if strings.Contains(want, "interrupted") {
			opts.Manifests = []string{"x.yaml"}
			opts.Apply = afterSetup(func([]string) ([]settlement.Applied, error) {
				return []settlement.Applied{{Ref: thing("never", "").Ref}}, nil
			})
			sendWhenReady(&opts, printed, os.Interrupt)
		}
		_, err := Run(t.Context(), opts)
		if report := readReport(t, opts.Report); !strings.Contains(report, want) {
			t.Errorf("%s: %v\n%s", body, err, report)
		}
	}
}

// serveAs publishes a settled state in the name of a process.
func serveAs(t *testing.T, pid int) (address string) {
	t.Helper()
	state := inspect.Snapshot{Version: inspect.Version, Operator: inspect.Operator{PID: pid, State: inspect.OperatorRunning, Settled: true}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(inspect.VersionHeader, strconv.Itoa(inspect.Version))
		if err := json.NewEncoder(w).Encode(inspect.Message{Revision: 1, Snapshot: &state}); err != nil {
			t.Error(err)
		}
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	return "tcp:" + server.Listener.Addr().String()
}

func TestRun_StateOfAnotherOperatorIsAnError(t *testing.T) {
	opts, _ := headlessOptions(t, `r.Publish("one", "failed"); r.WithoutInspector()`)
	opts.UntilSettled, opts.Timeout, opts.Inspect = true, timeLimit, serveAs(t, os.Getpid())
	code, err := Run(t.Context(), opts)
	foreign, ok := errors.AsType[*ForeignStateError](err)
	if !ok || code != 1 || *foreign != (ForeignStateError{Address: opts.Inspect, PID: os.Getpid()}) {
		t.Errorf("%d, %v", code, err)
	}
}

func TestRun_UnreadableStateIsReportedWithReason(t *testing.T) {
	opts, _ := headlessOptions(t, `r.WithoutInspector()`)
	opts.UntilSettled, opts.Timeout, opts.Inspect = true, 5*time.Second, "unix:/no/such/folder/x.sock"
	code, err := Run(t.Context(), opts)
	if _, ok := errors.AsType[*settlement.SettleError](err); !ok || code != 1 {
		t.Fatalf("%d, %v", code, err)
	}
	const want = "not settled after 5s\ncannot read the operator's state at unix:/no/such/folder/x.sock: inspector: "
	if !strings.HasPrefix(err.Error(), want) || !strings.HasSuffix(err.Error(), "no such file or directory") {
		t.Error(err)
	}
}
