package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"k8s.io/client-go/rest"
)

// The bare client, which an operator is compared with, is a separate process with the same events: it watches a
// namespace, and for each created object it repeats the work of the operator and its handler. It prints a line, and
// sends the two PATCH requests, one after the other, in a goroutine of the object. It decides and remembers nothing,
// and takes the patches from its environment.

const (
	// bareVariable makes this program the bare client. Its value is the patch of an object.
	bareVariable = "KOPF_BENCH_BARE"

	// bareStatusVariable is the patch of an object's status.
	bareStatusVariable = "KOPF_BENCH_BARE_STATUS"

	// bareHTTP1Variable makes the bare client use HTTP/1.1.
	bareHTTP1Variable = "KOPF_BENCH_BARE_HTTP1"
)

// bareConnections is the number of connections of the bare client over HTTP/1.1.
const bareConnections = 32

// bareProgram returns the program that sends the patches which the operator has sent.
func bareProgram(t handledState, env ...string) (program, error) {
	path, err := os.Executable()
	return program{path: path, env: append(env, bareVariable+"="+string(t.patch), bareStatusVariable+"="+string(t.status))}, err
}

func runBareClient(args []string) error {
	flags := newClusterFlags("bare client")
	config, err := flags.parse(args)
	if err != nil {
		return err
	}
	client, err := newBareAPI(config, os.Getenv(bareHTTP1Variable) != "")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // an error is an end as well
		stop()
	}()
	b := &bareClient{api: client, namespace: flags.namespace, failed: make(chan error, 1),
		t: handledState{patch: []byte(os.Getenv(bareVariable)), status: []byte(os.Getenv(bareStatusVariable))}}
	if b.children = os.Getenv(bareChildrenVariable) != ""; b.children {
		if err := b.watchChildren(ctx); err != nil {
			return err
		}
	}
	if err := client.watchFrom(ctx, flags.namespace, "", func(line []byte) { b.handle(ctx, line) }); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		b.objects.Wait()
		return nil
	case err := <-b.failed:
		return err
	}
}

// newBareAPI returns a client over HTTP/2, or over a pool of connections with HTTP/1.1.
func newBareAPI(config *rest.Config, http1 bool) (*api, error) {
	if !http1 {
		return newAPI(config)
	}
	tls, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, err
	}
	// The protocols of an http.Transport with an own TLS configuration are HTTP/1 only.
	pool := &http.Transport{TLSClientConfig: tls, MaxConnsPerHost: bareConnections, MaxIdleConnsPerHost: bareConnections}
	transport, err := rest.HTTPWrappersForConfig(config, pool)
	if err != nil {
		return nil, err
	}
	return &api{server: strings.TrimRight(config.Host, "/"), http: &http.Client{Transport: transport}}, nil
}

// bareClient sends the patches of created objects.
type bareClient struct {
	api       *api
	namespace string
	t         handledState
	children  bool // also create children
	objects   sync.WaitGroup
	failed    chan error
}

var addedPrefix = []byte(`{"type":"ADDED"`)

// work does the work for an object.
func (b *bareClient) work(ctx context.Context, name, uid string) error {
	if b.children {
		return b.applyChildren(ctx, name, uid)
	}
	fmt.Println(name, time.Now().UnixNano())
	return b.api.patchHandled(ctx, objects(b.namespace, name), b.t)
}

// handle handles a line of the watch.
func (b *bareClient) handle(ctx context.Context, line []byte) {
	if !bytes.HasPrefix(line, addedPrefix) {
		return
	}
	name := objectName(line)
	uid := member(line, `"uid":"`)
	b.objects.Go(func() {
		if err := b.work(ctx, name, uid); err != nil && !errors.Is(err, context.Canceled) {
			select {
			case b.failed <- err:
			default: // another object's error ends the program
			}
		}
	})
}
