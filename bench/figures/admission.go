package main

import (
	"bytes"
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
	reviewTime = 10 * time.Second
	warmTime   = 2 * time.Second
)

// certificates are the files of a server on the loopback interface.
type certificates struct {
	cert, key string
	pool      *x509.CertPool
}

// measureAdmission sends reviews at a fixed rate to one validating handler, and to a bare webhook that answers the
// same. It alternates between them, because the load of the machine changes.
func measureAdmission(ctx context.Context, l *environment, c *devcluster.Cluster, _ *api) ([]row, error) {
	certs, err := makeCertificates(l.dir)
	if err != nil {
		return nil, err
	}
	bare := filepath.Join(l.dir, "barewebhook")
	cmd := exec.CommandContext(ctx, "go", "build", "-ldflags=-s -w", "-o", bare, "./bench/barewebhook")
	cmd.Dir = l.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the bare webhook: %w\n%s", err, out)
	}
	starts := []func(address string) (*process, error){
		func(address string) (*process, error) {
			return l.startOperator(ctx, c, "", program{
				env:  []string{"KOPF_BENCH_ADMISSION=yes"},
				args: []string{"--webhook-listen=" + address, "--webhook-cert=" + certs.cert, "--webhook-key=" + certs.key},
			})
		},
		func(address string) (*process, error) {
			return l.start(ctx, program{path: bare, args: []string{"-address=" + address, "-cert=" + certs.cert, "-key=" + certs.key}})
		},
	}
	var all [2]reviewed
	const rounds = 2
	for range rounds {
		for i, start := range starts {
			one, err := certs.measure(ctx, l, start)
			if err != nil {
				return nil, err
			}
			all[i].times = append(all[i].times, one.times...)
			all[i].cpu += one.cpu
			l.say("  %.3f ms of CPU, p99 %.2f ms", perObject(one.cpu, len(one.times)), milliseconds(quantile(one.times, 0.99)))
		}
	}
	cpu := func(i int) float64 { return perObject(all[i].cpu, len(all[i].times)) }
	return []row{
		atMost("operator's CPU per review at 1,000 a second, as a multiple of a bare webhook's", 3, cpu(0)/cpu(1), "%.2f ×", note("%.3f ms, bare %.3f", cpu(0), cpu(1))),
		atMost("time of a review at 1,000 a second, 99th percentile", 10, milliseconds(quantile(all[0].times, 0.99)), "%.2f ms",
			note("median %.2f; bare %.2f, median %.2f", milliseconds(quantile(all[0].times, 0.5)),
				milliseconds(quantile(all[1].times, 0.99)), milliseconds(quantile(all[1].times, 0.5)))),
	}, nil
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// reviewed is the cost of reviews.
type reviewed struct {
	times []time.Duration // from the moment at which each was due
	cpu   time.Duration
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
	r.cpu = after - before
	return r, err
}

// reviewSender sends reviews of one object.
type reviewSender struct {
	client *http.Client
	url    string
}

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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"?timeout=10s", strings.NewReader(sampleReview))
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
