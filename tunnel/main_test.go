package tunnel

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/devcluster"
	"github.com/kopf-dev/kopf/internal/testmain"
)

// config is the client configuration of the embedded cluster that all tests share.
var config *rest.Config

func TestMain(m *testing.M) {
	flag.Parse()
	if flag.Lookup("test.fuzz").Value.String() != "" {
		os.Exit(m.Run()) // no cluster is needed
	}
	code, err := withCluster(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withCluster(m *testing.M) (code int, err error) {
	state, err := os.MkdirTemp("", "kopf-tun-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(state)) }()
	ctx := context.Background()
	program, err := devcluster.Prepare(ctx, devcluster.Options{})
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{"XDG_STATE_HOME": state, "XDG_CACHE_HOME": state, "KOPF_CONTROLPLANE": program} {
		if err := os.Setenv(name, value); err != nil {
			return 0, err
		}
	}
	c, err := devcluster.Open(ctx, devcluster.Options{Provider: devcluster.Embedded, Ephemeral: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close(ctx)) }()
	if config, err = c.RESTConfig(); err != nil {
		return 0, err
	}
	before := goleak.IgnoreCurrent()
	if code = m.Run(); code == 0 {
		// Connections to the API server are kept for later requests. The client of ngrok notices at its next
		// heartbeat that a session has ended. A port-forward that the other side ended first waits a second for
		// its reader.
		err = testmain.Find(before,
			goleak.IgnoreAnyFunction("github.com/moby/spdystream.(*Connection).shutdown"),
			goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).requester"), goleak.IgnoreAnyFunction("golang.ngrok.com/muxado/v2.(*Heartbeat).check"),
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"),
			goleak.IgnoreAnyFunction("golang.org/x/net/http2.(*clientConnReadLoop).run"), goleak.IgnoreAnyFunction("net/http.(*http2clientConnReadLoop).run"))
	}
	return code, err
}

func newClient(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// shortDir returns a temporary folder whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kopf-t-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}
