package kopftest

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopf/meter"
)

// metricsAt is a meter with an endpoint.
type metricsAt struct {
	meter.None
	endpoint string
}

func (s metricsAt) Endpoint() (url string, h http.Handler) {
	return s.endpoint, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) })
}

func TestOperator_MetricsHaveAnyPort(t *testing.T) {
	t.Parallel()
	cluster := New(t)
	cluster.Apply(widgetsCRD)
	var config net.ListenConfig
	taken, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	var urls []string
	for range 2 {
		operator := cluster.Run(func(r *kopf.Registry) {
			kopf.OnStartup(r, func(_ context.Context, a *kopf.Activity) error {
				a.Settings.Process.Metrics = metricsAt{endpoint: "http://" + taken.Addr().String() + "/metrics"}
				return nil
			}, kopf.ID("configure"))
			kopf.OnEvent(r, widgets, func(context.Context, *kopf.Event[kopf.Object]) error { return nil }, kopf.ID("event"))
		})
		operator.WaitLog("Serving http://127.0.0.1:")
		for _, e := range operator.LogEntries() {
			if url, ok := strings.CutPrefix(e.Message, "Serving "); ok {
				urls = append(urls, url)
			}
		}
	}
	if len(urls) != 2 || urls[0] == urls[1] || strings.Contains(strings.Join(urls, " "), taken.Addr().String()) {
		t.Errorf("the operators serve %q", urls)
	}
	for _, url := range urls {
		if !strings.HasSuffix(url, "/metrics") {
			t.Errorf("the path of %s has changed", url)
		}
	}
}
