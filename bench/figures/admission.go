package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	reviewRate = 1000 // reviews a second
	reviewTime = 8 * time.Second
	warmTime   = 2 * time.Second
)

// certificates are the files of a server on the loopback interface.
type certificates struct {
	cert, key string
	pool      *x509.CertPool
}

// webhookServers are the programs that answer the same reviews, the operator first.
func (l *environment) webhookServers(ctx context.Context, c *devcluster.Cluster, certs *certificates) ([]webhookServer, error) {
	bare := filepath.Join(l.dir, "barewebhook")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", bare, "./bench/barewebhook")
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the bare webhook: %w\n%s", err, out)
	}
	peer, err := l.buildPeer(ctx)
	if err != nil {
		return nil, err
	}
	return []webhookServer{
		{"the operator", func(address string) (*process, error) {
			return l.startOperator(ctx, c, "", program{
				env:  []string{"KOPF_BENCH_ADMISSION=yes"},
				args: []string{"--webhook-listen=" + address, "--webhook-cert=" + certs.cert, "--webhook-key=" + certs.key},
			})
		}},
		{"the bare webhook", func(address string) (*process, error) {
			return l.start(ctx, program{path: bare, args: []string{"-address=" + address, "-cert=" + certs.cert, "-key=" + certs.key}})
		}},
		{"controller-runtime", func(address string) (*process, error) {
			return l.start(ctx, program{path: peer, args: []string{"-webhook=" + address, "-cert=" + certs.cert, "-key=" + certs.key}})
		}},
	}, nil
}

// webhookServer is a program that answers reviews.
type webhookServer struct {
	name  string
	start func(address string) (*process, error)
}

// measureAdmission sends reviews at a fixed rate to one validating handler of the operator, to a bare webhook and to
// one of controller-runtime, which answer the same. It alternates between them, because the load of the machine changes.
func measureAdmission(ctx context.Context, l *environment, c *devcluster.Cluster, _ *api) ([]row, error) {
	certs, err := makeCertificates(l.dir)
	if err != nil {
		return nil, err
	}
	servers, err := l.webhookServers(ctx, c, certs)
	if err != nil {
		return nil, err
	}
	const rounds = 3
	all := make([]reviewed, len(servers))
	ratios := make([][]float64, len(servers)) // ratios of the operator's CPU to each server's, in each round
	for range rounds {
		var operator float64
		for i, server := range servers {
			one, err := certs.measure(ctx, l, server.start)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", server.name, err)
			}
			all[i].times = append(all[i].times, one.times...)
			all[i].cpu += one.cpu
			all[i].peak = max(all[i].peak, one.peak)
			each := perObject(one.cpu, len(one.times))
			if i == 0 {
				operator = each
			}
			ratios[i] = append(ratios[i], operator/each)
			l.say("  %s: %.3f ms of CPU, p99 %.2f ms", server.name, each, milliseconds(quantile(one.times, 0.99)))
		}
	}
	cpu := func(i int) float64 { return perObject(all[i].cpu, len(all[i].times)) }
	took := func(i int, q float64) float64 { return milliseconds(quantile(all[i].times, q)) }
	compared := func(i int, what string, goal float64) row {
		r := atMost(what, goal, median(ratios[i]), "%.2f ×", note("%.3f ms, %s %.3f; median of %d", cpu(0), servers[i].name, cpu(i), rounds))
		r.samples = ratios[i]
		return r
	}
	return []row{
		compared(1, "operator's CPU per review at 1,000 a second, as a multiple of a bare webhook's", 3),
		compared(2, "… as a multiple of controller-runtime's", 1),
		atMost("time of a review at 1,000 a second, 99th percentile", 10, took(0, 0.99), "%.2f ms",
			note("bare %.2f, controller-runtime %.2f", took(1, 0.99), took(2, 0.99))),
		{what: "… median", measured: fmt.Sprintf("%.2f ms (bare %.2f, controller-runtime %.2f)", took(0, 0.5), took(1, 0.5), took(2, 0.5))},
		{what: "peak RSS, 10,000 reviews", measured: fmt.Sprintf("%.1f MB (bare %.1f, controller-runtime %.1f)", megabytes(all[0].peak), megabytes(all[1].peak), megabytes(all[2].peak))},
	}, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// reviewed is the cost of reviews.
type reviewed struct {
	times []time.Duration // durations, from the time at which each review was due
	cpu   time.Duration
	peak  int64 // resident memory
}

// measure starts a server and sends reviews to it.
func (c *certificates) measure(ctx context.Context, l *environment, start func(address string) (*process, error)) (r reviewed, err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return r, err
	}
	p, err := start(address)
	if err != nil {
		return r, err
	}
	defer func() {
		_, stopped := p.stop()
		err = errors.Join(err, stopped)
	}()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: c.pool}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	s := &reviewSender{client: &http.Client{Transport: transport}, url: "https://" + address + "/checkField"}
	if err := s.waitReady(ctx); err != nil {
		return r, err
	}
	if _, err := s.send(ctx, warmTime); err != nil {
		return r, err
	}
	before, err := cpuOf(p.pid())
	if err != nil {
		return r, err
	}
	if r.times, err = s.send(ctx, reviewTime); err != nil {
		return r, err
	}
	after, err := cpuOf(p.pid())
	if err != nil {
		return r, err
	}
	r.cpu = after - before
	m, err := memoryOf(p.pid())
	r.peak = m.peak
	return r, err
}

// reviewSender sends reviews of one object.
type reviewSender struct {
	client *http.Client
	url    string
	text   string // empty means sampleReview
}

// errBusy is the error of a review that the server asks to repeat.
var errBusy = errors.New("the server is busy")

func (s *reviewSender) waitReady(ctx context.Context) error {
	deadline := time.Now().Add(waitLimit)
	for {
		err := s.one(ctx)
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// send sends reviews at the rate, whether or not earlier ones are answered.
func (s *reviewSender) send(ctx context.Context, during time.Duration) ([]time.Duration, error) {
	n := int(during.Seconds() * reviewRate)
	times, failures := make([]time.Duration, n), make([]error, n)
	var wg sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / reviewRate)
		if err := sleep(ctx, time.Until(due)); err != nil {
			return nil, err
		}
		wg.Go(func() {
			failures[i] = s.one(ctx)
			times[i] = time.Since(due)
		})
	}
	wg.Wait()
	return times, errors.Join(failures...)
}

// one sends a review, which must be admitted.
func (s *reviewSender) one(ctx context.Context) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"?timeout=30s", strings.NewReader(cmp.Or(s.text, sampleReview)))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusTooManyRequests {
		return fmt.Errorf("%w: %s", errBusy, body)
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"allowed":true`)) {
		return fmt.Errorf("%d: %s", resp.StatusCode, body)
	}
	return nil
}

// sampleReview is a review as API servers send it, of an update of a small object.
var sampleReview = func() string {
	object := func(field string) map[string]any {
		return map[string]any{
			"apiVersion": "kopf.dev/v1", "kind": "KopfExample",
			"metadata": map[string]any{
				"name": "example", "namespace": "default", "uid": "7f0a6f58-5d02-4b3f-8c1c-0b8f3f4a9a11", "resourceVersion": "12345",
				"creationTimestamp": "2026-01-31T12:00:00Z", "generation": 3, "labels": map[string]any{"tier": "gold", "app": "example"},
				"managedFields": []any{map[string]any{
					"manager": "kubectl", "operation": "Update", "apiVersion": "kopf.dev/v1", "time": "2026-01-31T12:00:00Z", "fieldsType": "FieldsV1",
					"fieldsV1": map[string]any{"f:spec": map[string]any{".": map[string]any{}, "f:field": map[string]any{}, "f:items": map[string]any{}}},
				}},
			},
			"spec": map[string]any{"field": field, "items": []any{"one", "two", "three"}, "size": 10},
		}
	}
	kind := map[string]any{"group": "kopf.dev", "version": "v1", "kind": "KopfExample"}
	resource := map[string]any{"group": "kopf.dev", "version": "v1", "resource": "kopfexamples"}
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
		"request": map[string]any{
			"uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
			"name": "example", "namespace": "default", "operation": "UPDATE", "dryRun": false,
			"userInfo": map[string]any{"username": "admin", "groups": []any{"system:masters", "system:authenticated"}},
			"object":   object("new"), "oldObject": object("old"), "options": map[string]any{"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
		},
	})
	if err != nil {
		panic(err) // maps and texts alone
	}
	return string(text)
}()

func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// makeCertificates makes a certificate that is its own authority, for both servers.
func makeCertificates(dir string) (*certificates, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	c := &certificates{cert: filepath.Join(dir, "tls.crt"), key: filepath.Join(dir, "tls.key"), pool: x509.NewCertPool()}
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	c.pool.AppendCertsFromPEM(text)
	return c, errors.Join(os.WriteFile(c.cert, text, 0o600),
		os.WriteFile(c.key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), 0o600))
}
