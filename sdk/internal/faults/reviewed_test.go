package faults

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// reviewedKinds are the kinds of objects that the operator reviews, with a typed and with an untyped handler. Other tests do not
// use them, because the webhooks are for all namespaces.
var reviewedKinds = []kind{{"Typed", "typeds", false}, {"Untyped", "untypeds", false}}

// reviewedOperator is a process of the operator in testdata/reviewed, which ends with its test.
type reviewedOperator struct {
	address string
	tls     *tls.Config // configuration of clients, without a certificate
	cmd     *exec.Cmd
}

// startReviewed builds the operator without the race detector, whose memory is not the operator's, and waits until
// its webhooks review the objects of the cluster.
func startReviewed(t *testing.T, cluster *kopftest.Cluster) *reviewedOperator {
	t.Helper()
	folder := t.TempDir()
	program, authority := filepath.Join(folder, "reviewed"), filepath.Join(folder, "ca.crt")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/reviewed").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p := &reviewedOperator{address: freeAddress(t)}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), program,
		"--namespace="+cluster.Namespace, "--webhook-listen="+p.address, "--webhook-dump-ca="+authority,
		"--webhook-managed=reviewed."+cluster.Namespace+".kopf.dev")
	p.cmd.Env = append(os.Environ(), "KUBECONFIG="+cluster.Kubeconfig(), "KOPF_STDIN_GUARD=1")
	var log bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &log, &log
	guard, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = guard.Close()
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("the operator: %v", err)
		}
		if t.Failed() {
			t.Logf("the operator's log ends with:\n%s", log.Bytes()[max(0, log.Len()-5000):])
		}
	})
	for _, k := range reviewedKinds {
		cluster.WaitUntil("the webhooks review objects", func() bool {
			return denied(cluster.TryCreate(subjectOf(k, "probe", "wrong"), kopftest.DryRun()).Err)
		})
	}
	authorities, err := os.ReadFile(authority)
	if err != nil {
		t.Fatal(err)
	}
	p.tls = &tls.Config{RootCAs: x509.NewCertPool(), ServerName: "127.0.0.1"}
	p.tls.RootCAs.AppendCertsFromPEM(authorities)
	return p
}

// denied reports whether a handler of the operator has denied a request.
func denied(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && strings.Contains(status.Status().Message, "not this value")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// subjectOf returns an object of a kind.
func subjectOf(k kind, name, value string) map[string]any {
	return map[string]any{
		"apiVersion": group + "/v1", "kind": k.name, "metadata": map[string]any{"name": name}, "spec": map[string]any{"value": value},
	}
}

// peak returns the most bytes that the process had in memory so far.
func (p *reviewedOperator) peak(t *testing.T) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skipf("the memory of a process can be read on Linux only: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("there is no VmHWM in:\n%s", status)
	return 0
}

// items is a part of a list of empty maps: decoded, they take much more memory than their text.
var items = strings.Repeat(",{}", 10_000)

// hugeReview returns a review of a new object of a kind that has nearly the size.
func hugeReview(k kind, value string, size int) (body io.Reader, length int64) {
	head := fmt.Sprintf(`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u1",`+
		`"kind":{"group":%[1]q,"version":"v1","kind":%[2]q},"resource":{"group":%[1]q,"version":"v1","resource":%[3]q},"name":"huge","namespace":"default",`+
		`"operation":"CREATE","userInfo":{"username":"test"},"object":{"apiVersion":"%[1]s/v1","kind":%[2]q,"metadata":{"name":"huge","namespace":"default"},`+
		`"spec":{"value":%[4]q,"items":[{}`, group, k.name, k.plural, value)
	const tail = "]}}}}"
	parts := []io.Reader{strings.NewReader(head)}
	length = int64(len(head) + len(tail))
	for ; length+int64(len(items)) <= int64(size); length += int64(len(items)) {
		parts = append(parts, strings.NewReader(items))
	}
	return io.MultiReader(append(parts, strings.NewReader(tail))...), length
}

// pause waits, unless the time is over before. It reports whether it is not.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
