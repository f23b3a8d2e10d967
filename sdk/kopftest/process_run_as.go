package kopftest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kopf-dev/kopf/sdk/internal/testhooks"
	"github.com/kopf-dev/kopf/sdk/kopf"
)

// processVar is the environment variable that makes the test binary an operator. Its value is a [childSpec].
const processVar = "KOPFTEST_PROCESS"

// childSpec configures the operator of a process.
type childSpec struct {
	Name       string
	Args       []string
	Namespace  string
	Kubeconfig string
	Inspector  string
	Managed    string // name of the webhook configurations
}

// frame is a message from a process to its test. One of the fields is set.
type frame struct {
	Lines  string      `json:"lines,omitempty"` // lines of the log
	Entry  *entryFrame `json:"entry,omitempty"`
	Begun  *begunFrame `json:"begun,omitempty"`
	Ready  bool        `json:"ready,omitempty"`
	Failed string      `json:"failed,omitempty"` // message of the operator's error
}

// entryFrame is a [LogEntry].
type entryFrame struct {
	Level   int
	Message string
	Object  string
	Attrs   [][2]string // keys and values
}

// begunFrame has the operator's settings that the test needs. The process sends it before and after the startup handlers.
type begunFrame struct {
	Inspector string
	Webhooks  bool     // the operator has admission handlers
	Redacted  []string // paths of redacted fields
}

// RunAs runs an operator and exits if [Cluster.StartProcess] started this process with the given name. Otherwise, RunAs does
// nothing. Call it first in TestMain, once for each operator that a test starts as a process:
//
//	func TestMain(m *testing.M) {
//		kopftest.RunAs("replica", func(o *kopf.Operator, args []string) {
//			Register(o.Registry)
//			o.Settings.Scaling.Identity = args[0]
//		})
//		kopftest.Main(m)
//	}
//
// The function receives an operator with an empty registry and the cluster, namespace and logger of the test. It must
// register the handlers, and may change all fields. The arguments are the arguments of StartProcess. Only the new process
// calls the function.
func RunAs(name string, setup func(o *kopf.Operator, args []string)) {
	var spec childSpec
	if err := json.Unmarshal([]byte(os.Getenv(processVar)), &spec); err != nil || spec.Name != name {
		return // this process runs no operator, or an operator with another name
	}
	parent := framesToTest()
	err := os.Unsetenv(processVar) // programs that handlers start must not become operators
	if err == nil {
		err = runAs(spec, setup, parent)
	}
	if err != nil {
		parent.send(frame{Failed: err.Error()})
		os.Exit(1)
	}
	os.Exit(0)
}

func runAs(spec childSpec, setup func(*kopf.Operator, []string), parent *frames) error {
	config, err := clientcmd.BuildConfigFromFlags("", spec.Kubeconfig)
	if err != nil {
		return fmt.Errorf("the kubeconfig file of the test: %w", err)
	}
	o := &kopf.Operator{
		Registry: &kopf.Registry{}, Namespaces: []string{spec.Namespace}, Config: config, Logger: loggerTo(parent),
	}
	o.Settings.Process.Inspector = spec.Inspector
	setup(o, spec.Args)
	begun := func(s *kopf.Settings) {
		b := begunFrame{Inspector: s.Process.Inspector, Webhooks: len(testhooks.HandlersOf(o.Registry).Admission()) > 0}
		for _, path := range s.Redaction.Fields {
			b.Redacted = append(b.Redacted, string(path))
		}
		parent.send(frame{Begun: &b})
	}
	begun(&o.Settings)
	testhooks.PutUnderTest(o, spec.Managed, func(settings any) { begun(settings.(*kopf.Settings)) })
	whenReady(o, func() { parent.send(frame{Ready: true}) })
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // the input ends when the test ends or stops the operator
		stop()
	}()
	return o.Run(ctx)
}

// frames sends messages to the test. It is the [logSink] of the process.
type frames struct {
	mu  sync.Mutex
	out *os.File
}

func (f *frames) send(one frame) {
	line, err := json.Marshal(one)
	if err != nil {
		panic(err) // impossible, because the values are strings and numbers
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.out.Write(append(line, '\n')); err != nil {
		os.Exit(1) // the test has ended
	}
}

// Write sends the lines of a message.
func (f *frames) Write(message []byte) (int, error) {
	f.send(frame{Lines: string(message)})
	return len(message), nil
}

func (f *frames) add(e LogEntry) {
	one := entryFrame{Level: int(e.Level), Message: e.Message, Object: e.Object}
	for _, a := range e.Attrs {
		one.Attrs = append(one.Attrs, [2]string{a.Key, a.Value.String()})
	}
	f.send(frame{Entry: &one})
}
