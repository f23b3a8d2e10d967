package kopf_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kopf-dev/kopf/sdk/internal/testcluster"
	"github.com/kopf-dev/kopf/sdk/internal/testmain"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// programVar names the program that the test binary runs, so that the test covers signals, exit codes and streams of
// a real process.
const programVar = "KOPF_TEST_PROGRAM"

var programs = map[string]func(){
	"operator": func() {
		kopf.Main(func(r *kopf.Registry) {
			kopf.OnEvent(r, kopf.Resource("v1", "namespaces"), func(_ context.Context, e *kopf.Event[kopf.Object]) error {
				e.Logger.Info("here it is")
				_, err := fmt.Println("seen " + e.Name)
				return err
			}, kopf.ID("seen"))
			kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error {
				_, err := fmt.Println("cleaned up")
				return err
			}, kopf.ID("cleanup"))
		})
	},
	"deaf": func() {
		kopf.Main(func(r *kopf.Registry) {
			kopf.OnStartup(r, func(context.Context, *kopf.Activity) error {
				fmt.Fprintln(os.Stderr, "the operator is deaf")
				select {}
			}, kopf.ID("startup"))
		})
	},
	"leaving": func() {
		kopf.Main(func(r *kopf.Registry) {
			kopf.OnStartup(r, func(context.Context, *kopf.Activity) error { os.Exit(3); return nil }, kopf.ID("startup"))
			kopf.OnDelete(r, kopf.Resource("v1", "configmaps"), func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("delete"))
			kopf.OnDelete(r, kopf.Resource("none.example.com", "things"), func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("none"))
			kopf.OnDelete(r, kopf.Resource("unknownthings"), func(context.Context, *kopf.Change[kopf.Object]) error { return nil }, kopf.ID("unknown"))
		})
	},
	"exiting": func() {
		kopf.Main(func(*kopf.Registry) { os.Exit(3) })
	},
	"admitting": func() {
		kopf.Main(func(r *kopf.Registry) {
			kopf.OnValidate(r, kopf.Resource("", "configmaps"), func(context.Context, *kopf.Admission[kopf.Object]) error { return nil }, kopf.ID("check"))
		})
	},
	"mistaken": func() {
		kopf.Main(func(r *kopf.Registry) {
			kopf.OnCleanup(r, func(context.Context, *kopf.Activity) error { return nil })
			kopf.OnCleanup(r, nil, kopf.Attempts(-1))
		})
	},
	"embedded": func() {
		operator := &kopf.Operator{Registry: &kopf.Registry{}, AllNamespaces: true, OnReady: func() { fmt.Fprintln(os.Stderr, "the operator is ready") }}
		fmt.Println(operator.Run(context.Background()))
	},
}

func TestMain(m *testing.M) {
	if program, ok := programs[os.Getenv(programVar)]; ok {
		program()
		os.Exit(0)
	}
	if signal.Ignored(os.Interrupt) {
		// As for the jobs that a script runs in the background. The programs would inherit it, and not end by the signal.
		signal.Notify(make(chan os.Signal, 1), os.Interrupt)
	}
	testmain.Run(m, testcluster.Exit)
}

// process is a running program.
type process struct {
	*exec.Cmd
	t     *testing.T
	stdin io.Closer
	ended chan struct{}

	mu             sync.Mutex
	stdout, stderr bytes.Buffer
}

type stream struct {
	p  *process
	to *bytes.Buffer
}

func (s stream) Write(text []byte) (int, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	return s.to.Write(text)
}

// start starts a program with only the given environment.
func start(t *testing.T, program string, env []string, args ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.CommandContext(t.Context(), os.Args[0], args...), t: t, ended: make(chan struct{})}
	p.Args[0] = "/somewhere/operator"
	// By default, programs with the race detector wait for a second at their end.
	p.Env = append([]string{programVar + "=" + program, "GORACE=atexit_sleep_ms=0"}, env...)
	p.Dir = t.TempDir()
	p.Stdout, p.Stderr = stream{p, &p.stdout}, stream{p, &p.stderr}
	var err error
	if p.stdin, err = p.StdinPipe(); err == nil {
		err = p.Cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.Cmd.Wait() // tests check the state of the process
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill() // it has mostly ended
		<-p.ended
	})
	return p
}

func (p *process) said(b *bytes.Buffer) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return b.String()
}

// until waits until the program has written something.
func (p *process) until(where *bytes.Buffer, text string) {
	p.t.Helper()
	testcluster.Eventually(p.t, "it says "+text, func() error {
		if said := p.said(where); !strings.Contains(said, text) {
			return errors.New(said)
		}
		return nil
	})
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the end of the program. The signal is that which it has died of; -1 if it has
// exited.
func (p *process) end() (code int, signal syscall.Signal) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		p.t.Fatalf("it does not end: %s", p.said(&p.stderr))
	}
	if status, ok := p.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return -1, status.Signal()
	}
	return p.ProcessState.ExitCode(), -1
}

// kubeconfig returns the path of a kubeconfig for the control plane.
func kubeconfig(t *testing.T) string {
	t.Helper()
	config := testcluster.Config(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	err := clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "here",
		Contexts:       map[string]*clientcmdapi.Context{"here": {Cluster: "here", AuthInfo: "me"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"here": {Server: config.Host, CertificateAuthorityData: config.CAData, CertificateAuthority: config.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"me": {
			Token: config.BearerToken, ClientCertificateData: config.CertData, ClientKeyData: config.KeyData,
			ClientCertificate: config.CertFile, ClientKey: config.KeyFile,
		}},
	}, path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestMain_SignalStopsGracefully(t *testing.T) {
	config := kubeconfig(t)
	for name, c := range map[string]struct {
		env []string
		ask func(*process)
	}{
		"by SIGINT":                {nil, func(p *process) { p.signal(os.Interrupt) }},
		"by SIGTERM":               {nil, func(p *process) { p.signal(syscall.SIGTERM) }},
		"by the end of the parent": {[]string{"KOPF_STDIN_GUARD=1"}, func(p *process) { _ = p.stdin.Close() }},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, "operator", append(c.env, "KUBECONFIG="+config), "-v", "-A")
			p.until(&p.stderr, "the operator is ready")
			c.ask(p)
			if code, signal := p.end(); code != 0 || signal != -1 || !strings.HasSuffix(p.said(&p.stdout), "cleaned up\n") {
				t.Errorf("%d, %v, %s%s", code, signal, p.said(&p.stdout), p.said(&p.stderr))
			}
		})
	}
}

func TestMain_IgnoresEndOfInputWithoutGuard(t *testing.T) {
	p := start(t, "operator", []string{"KUBECONFIG=" + kubeconfig(t)}, "-v", "-A")
	if err := p.stdin.Close(); err != nil {
		t.Fatal(err)
	}
	p.until(&p.stderr, "the operator is ready")
	p.signal(os.Interrupt)
	if code, _ := p.end(); code != 0 {
		t.Errorf("%d, %s", code, p.said(&p.stderr))
	}
}

func TestMain_SecondSignalEndsAtOnce(t *testing.T) {
	p := start(t, "deaf", nil)
	p.until(&p.stderr, "the operator is deaf")
	p.signal(os.Interrupt) // of two pending signals, the kernel delivers the one with the lower number first
	// The first one is handled: a moment later, the next one ends the process.
	testcluster.Eventually(t, "it has ended", func() error {
		select {
		case <-p.ended:
			return nil
		default:
			_ = p.Process.Signal(syscall.SIGTERM) // it may end between the two
			return errors.New("not yet")
		}
	})
	if code, signal := p.end(); signal != syscall.SIGTERM {
		t.Errorf("%d, %v, %s", code, signal, p.said(&p.stderr))
	}
}

func TestOperator_IgnoresSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := start(t, "embedded", []string{"KUBECONFIG=" + kubeconfig(t)})
		p.until(&p.stderr, "the operator is ready")
		p.signal(s)
		if code, signal := p.end(); signal != s {
			t.Errorf("%s: it has not died of it: %d, %s", s, code, p.said(&p.stderr))
		}
	}
}

func TestMain_MistakesOnStandardError(t *testing.T) {
	for name, c := range map[string]struct {
		program string
		args    []string
		code    int
		want    string // text on standard error, without machine-dependent parts
	}{
		"unknown flag":                {"operator", []string{"--bogus"}, 2, "operator: unknown flag: --bogus\nSee: operator --help\n"},
		"an argument":                 {"operator", []string{"x"}, 2, "operator: unexpected argument \"x\": an operator takes only flags (see --help)\nSee: operator --help\n"},
		"an empty namespace":          {"operator", []string{"--namespace="}, 2, "operator: --namespace is empty: name one, or use --all-namespaces\nSee: operator --help\n"},
		"two scopes":                  {"operator", []string{"-A", "-n", "x"}, 2, "operator: --all-namespaces excludes --namespace: use one or the other\nSee: operator --help\n"},
		"a format":                    {"operator", []string{"--log-format=xml"}, 2, "operator: --log-format=xml: want full, plain, json or none\nSee: operator --help\n"},
		"an address":                  {"operator", []string{"--liveness=8080"}, 2, "operator: --liveness: want an endpoint such as http://0.0.0.0:8080/healthz: got 8080\nSee: operator --help\n"},
		"inspector on all interfaces": {"operator", []string{"--inspect=tcp:0.0.0.0:1"}, 2, "operator: --inspect: inspector address \"tcp:0.0.0.0:1\": want a loopback address, such as 127.0.0.1, because the protocol is not encrypted\nSee: operator --help\n"},
		"a kubeconfig": {
			"operator", []string{"--kubeconfig=/no/where", "-q", "-A"}, 1,
			"operator: cannot log in to the cluster: the login handler \"login_with_kubeconfig\" has failed: read kubeconfig: stat /no/where: no such file or directory\n",
		},
		"control characters": {
			"operator", []string{"--kubeconfig=/no/\x1b[2J\u202e\noperator: ready", "-q", "-A"}, 1,
			"operator: cannot log in to the cluster: the login handler \"login_with_kubeconfig\" has failed: read kubeconfig: stat /no/\\x1b[2J\\u202e\n  operator: ready: no such file or directory\n",
		},
		"registrations": {
			"mistaken", nil, 1,
			"operator: invalid handler registrations:\n" +
				"  kopf/main_test.go:N: OnCleanup: the handler is a function literal (NAME) without a lasting name; add kopf.ID(\"...\") or use a named function\n" +
				"  kopf/main_test.go:N: OnCleanup: the handler is nil\n" +
				"  kopf/main_test.go:N: OnCleanup: Attempts(-1): want at least 1\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := start(t, c.program, nil, c.args...)
			code, _ := p.end()
			got := regexp.MustCompile(`main_test\.go:\d+`).ReplaceAllString(p.said(&p.stderr), "main_test.go:N")
			got = regexp.MustCompile(`literal \([^)]*\)`).ReplaceAllString(got, "literal (NAME)")
			var ours []string
			for line := range strings.Lines(got) {
				if !strings.HasPrefix(line, "[") { // of the log
					ours = append(ours, line)
				}
			}
			if got := strings.Join(ours, ""); code != c.code || got != c.want {
				t.Errorf("%d, %s", code, got)
			}
			if said := p.said(&p.stdout); code == 2 && said != "" {
				t.Errorf("a handler was called: %s", said)
			}
		})
	}
}

func TestMain_HelpSucceeds(t *testing.T) {
	for _, flag := range []string{"-h", "--help"} {
		p := start(t, "mistaken", nil, flag)
		if code, _ := p.end(); code != 0 || p.said(&p.stderr) != "" || !strings.HasPrefix(p.said(&p.stdout), "Usage: operator [flags]\n") {
			t.Errorf("%d, %s%s", code, p.said(&p.stdout), p.said(&p.stderr))
		}
	}
}

func TestMain_FlagsSetLogFormat(t *testing.T) {
	config := kubeconfig(t)
	const name = "kube-system"
	for flags, want := range map[string]string{
		"":                                   `^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] kopf\.objects +\[INFO +\] \[kube-system\] here it is handler=seen$`,
		"--no-log-prefix":                    `^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] kopf\.objects +\[INFO +\] here it is handler=seen$`,
		"--log-format=plain":                 `^\[kube-system\] here it is handler=seen$`,
		"--log-format=json":                  `^{.*"message":"here it is","object":{[^}]*"name":"kube-system".*$`,
		"--log-format=json --log-prefix":     `^{.*"message":"\[kube-system\] here it is","object":{[^}]*"name":"kube-system".*$`,
		"--log-format=json --log-refkey=k8s": `^{.*"k8s":{[^}]*"name":"kube-system".*"message":"here it is".*$`,
	} {
		t.Run(flags, func(t *testing.T) {
			p := start(t, "operator", nil, append(strings.Fields(flags), "-A", "--context=here", "--kubeconfig="+config)...)
			line := regexp.MustCompile(`(?m)` + want)
			testcluster.Eventually(t, "the line is there", func() error {
				if said := p.said(&p.stderr); !line.MatchString(said) {
					return errors.New(said)
				}
				return nil
			})
			p.signal(syscall.SIGTERM)
			if code, _ := p.end(); code != 0 {
				t.Errorf("it ends with %d", code)
			}
		})
	}
	for flags, silent := range map[string]bool{"--log-format=none": true, "--quiet": true, "--debug --log-format=plain": false} {
		t.Run(flags, func(t *testing.T) {
			p := start(t, "operator", nil, append(strings.Fields(flags), "-A", "--kubeconfig="+config)...)
			p.until(&p.stdout, "seen "+name)
			p.signal(syscall.SIGTERM)
			if code, _ := p.end(); code != 0 || !strings.HasSuffix(p.said(&p.stdout), "cleaned up\n") {
				t.Errorf("it ends with %d", code)
			}
			if said := p.said(&p.stderr); (said == "") != silent {
				t.Errorf("it says %s", said)
			}
		})
	}
}
