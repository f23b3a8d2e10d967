package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kopf-dev/kopf/devcluster"
)

const (
	slowClients   = 24
	rightClients  = 8
	crowdTime     = 4 * time.Second
	crowdRounds   = 3
	hugeReviews   = 16
	hugeSize      = 8 << 20
	hugeReviewMax = 256e6 // bytes that an operator may take for all of them
)

// measureCrowd sends reviews to one validating handler of the operator, and to a bare webhook with net/http and encoding/json
// alone, which decodes reviews into maps. Right reviews come first, with and without slow clients, then huge reviews.
func measureCrowd(ctx context.Context, l *environment, c *devcluster.Cluster, _ *api) ([]row, error) {
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
	operator := func(handler string) func(string) (*process, error) {
		return func(address string) (*process, error) {
			return l.startOperator(ctx, c, "", program{
				env:  []string{"KOPF_BENCH_ADMISSION=" + handler},
				args: []string{"--webhook-listen=" + address, "--webhook-cert=" + certs.cert, "--webhook-key=" + certs.key},
			})
		}
	}
	servers := []struct {
		name, path string
		start      func(string) (*process, error)
	}{
		{"the operator", "/checkField", operator("yes")},
		{"the operator, with a handler without a type", "/checkObject", operator("object")},
		{"the bare webhook", "/", func(address string) (*process, error) {
			return l.start(ctx, program{path: bare, args: []string{"-address=" + address, "-cert=" + certs.cert, "-key=" + certs.key, "-maps"}})
		}},
	}
	all := make([]crowded, len(servers))
	for range crowdRounds {
		for i, server := range servers {
			if err := certs.crowd(ctx, server.path, server.start, &all[i]); err != nil {
				return nil, fmt.Errorf("%s: %w", server.name, err)
			}
			last := len(all[i].peaks) - 1
			l.say("  %s: %.2f × the time beside slow clients, %.0f MB with huge reviews", server.name, all[i].ratios[last], all[i].peaks[last])
		}
	}
	var rows []row
	for i, server := range servers {
		one := &all[i]
		alone, beside := milliseconds(quantile(one.alone, 0.5)), milliseconds(quantile(one.beside, 0.5))
		r := row{what: server.name + ": time of a right review beside 24 slow clients, as a multiple of that without", measured: fmt.Sprintf(
			"%.2f × (median %.2f ms, without %.2f; 99th percentile %.2f ms, without %.2f; %.0f reviews a second, without %.0f)",
			median(one.ratios), beside, alone, milliseconds(quantile(one.beside, 0.99)), milliseconds(quantile(one.alone, 0.99)),
			float64(len(one.beside))/(crowdRounds*crowdTime.Seconds()), float64(len(one.alone))/(crowdRounds*crowdTime.Seconds())), samples: one.ratios}
		peak := median(one.peaks)
		huge := row{what: "… peak RSS with 16 reviews of 8 MiB at once", samples: one.peaks, measured: fmt.Sprintf(
			"%.0f MB, %.2f × the bytes sent; %.0f MB before; all answered after %.1f s", peak, peak*1e6/(hugeReviews*hugeSize), one.before, median(one.seconds))}
		if i < len(servers)-1 {
			huge.goal, huge.met = fmt.Sprintf("≤ %.0f MB", hugeReviewMax/1e6), peak*1e6 <= hugeReviewMax
		}
		rows = append(rows, r, huge)
	}
	return rows, nil
}

// crowded has the time and the memory of a program in all rounds.
type crowded struct {
	alone, beside  []time.Duration // times of right reviews, without slow clients and beside them
	ratios         []float64       // ratios of the medians, one for each round
	before         float64         // MB before the huge reviews, in the last round
	peaks, seconds []float64       // MB, and the time until all huge reviews were answered
}

// crowd starts a server for one round.
func (c *certificates) crowd(ctx context.Context, path string, start func(string) (*process, error), into *crowded) (err error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	p, err := start(address)
	if err != nil {
		return err
	}
	defer func() {
		_, stopped := p.stop()
		err = errors.Join(err, stopped)
	}()
	config := &tls.Config{RootCAs: c.pool, ServerName: "127.0.0.1"}
	transport := &http.Transport{TLSClientConfig: config.Clone(), ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	s := &reviewSender{client: &http.Client{Transport: transport}, url: "https://" + address + path}
	if err := s.waitReady(ctx); err != nil {
		return err
	}
	if _, err := s.repeat(ctx, warmTime); err != nil {
		return err
	}
	alone, err := s.repeat(ctx, crowdTime)
	if err != nil {
		return err
	}
	slow, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	for i := range slowClients {
		running.Go(func() { beSlow(slow, address, config, i) })
	}
	beside, err := s.repeat(ctx, crowdTime)
	stop()
	running.Wait()
	if err != nil {
		return fmt.Errorf("beside slow clients: %w", err)
	}
	into.alone, into.beside = append(into.alone, alone...), append(into.beside, beside...)
	into.ratios = append(into.ratios, quantile(beside, 0.5).Seconds()/quantile(alone, 0.5).Seconds())

	m, err := memoryOf(p.pid())
	if err != nil {
		return err
	}
	into.before = megabytes(m.resident)
	began := time.Now()
	if err := sendHuge(ctx, s.url, config); err != nil {
		return err
	}
	into.seconds = append(into.seconds, time.Since(began).Seconds())
	m, err = memoryOf(p.pid())
	into.peaks = append(into.peaks, megabytes(m.peak))
	return err
}

// repeat sends reviews from several clients at the same time, each of which waits for its answer. It returns their times.
func (s *reviewSender) repeat(ctx context.Context, during time.Duration) ([]time.Duration, error) {
	times, failures := make([][]time.Duration, rightClients), make([]error, rightClients)
	var wg sync.WaitGroup
	for i := range rightClients {
		wg.Go(func() {
			for began := time.Now(); failures[i] == nil && time.Since(began) < during; {
				asked := time.Now()
				failures[i] = s.one(ctx)
				times[i] = append(times[i], time.Since(asked))
			}
		})
	}
	wg.Wait()
	return slices.Concat(times...), errors.Join(failures...)
}

// beSlow connects again and again without a client certificate. It sends the headers of a large review slowly, or no body, or all
// of the body but its end.
func beSlow(ctx context.Context, address string, config *tls.Config, kind int) {
	for ctx.Err() == nil {
		conn, err := (&tls.Dialer{Config: config.Clone()}).DialContext(ctx, "tcp", address)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
		headers := fmt.Sprintf("POST /check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n", hugeSize)
		switch kind % 3 {
		case 0:
			_, _ = io.WriteString(conn, headers)
		case 1:
			_, _ = io.WriteString(conn, headers+"\r\n")
		default:
			_, _ = io.WriteString(conn, headers+"\r\n"+strings.Repeat(" ", hugeSize-1))
		}
		_, _ = http.ReadResponse(bufio.NewReader(conn), nil) // the server or the measurement ends the connection
		stop()
		_ = conn.Close()
		_ = sleep(ctx, 100*time.Millisecond)
	}
}

// hugeReview has nearly the largest size: an object with a list of empty maps.
var hugeReview = func() string {
	const mark, item = `"items":[`, "{},"
	return strings.Replace(sampleReview, mark, mark+strings.Repeat(item, (hugeSize-len(sampleReview))/len(item)), 1)
}()

// sendHuge sends huge reviews at the same time, each in a connection of its own. Each is repeated, as API servers do it, while the
// server is busy.
func sendHuge(ctx context.Context, url string, config *tls.Config) error {
	failures := make([]error, hugeReviews)
	var wg sync.WaitGroup
	for i := range failures {
		wg.Go(func() {
			transport := &http.Transport{TLSClientConfig: config.Clone(), DialContext: (&net.Dialer{}).DialContext}
			defer transport.CloseIdleConnections()
			s := &reviewSender{client: &http.Client{Transport: transport}, url: url, text: hugeReview}
			for {
				failures[i] = s.one(ctx)
				if !errors.Is(failures[i], errBusy) || sleep(ctx, time.Second) != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
