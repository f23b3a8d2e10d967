package e2e

import (
	"bytes"
	"io"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/sdk/kopf"
	"github.com/kopf-dev/kopf/sdk/kopftest"
)

// settings changes the settings of an operator.
func settings(change func(*kopf.Settings)) func(*kopf.Operator) {
	return func(o *kopf.Operator) { change(&o.Settings) }
}

// withoutInspector disables the inspector. Without it, objects that are only indexed are handled
// in another way: they are not remembered.
func withoutInspector(o *kopf.Operator) { o.Settings.Process.Inspector = "" }

// serving is for operators of other namespaces than the test's; no arguments means all namespaces.
func serving(namespaces ...string) func(*kopf.Operator) {
	return func(o *kopf.Operator) { o.Namespaces, o.AllNamespaces = namespaces, len(namespaces) == 0 }
}

// connect is for operators with other credentials than the test's.
func connect(config *rest.Config) func(*kopf.Operator) {
	return func(o *kopf.Operator) { o.Config = rest.CopyConfig(config) }
}

// withoutConfig is for operators with login handlers.
func withoutConfig(o *kopf.Operator) { o.Config = nil }

// transport changes how requests are sent. Options after it wrap the new transport.
func transport(wrap func(http.RoundTripper) http.RoundTripper) func(*kopf.Operator) {
	return func(o *kopf.Operator) {
		o.Config.Wrap(func(next http.RoundTripper) http.RoundTripper { return wrapped{wrap(next), next} })
	}
}

// wrapped is a transport around another one, whose idle connections can be closed.
type wrapped struct {
	http.RoundTripper
	next http.RoundTripper
}

// WrappedRoundTripper returns the transport inside.
func (w wrapped) WrappedRoundTripper() http.RoundTripper { return w.next }

// patchMessage is the message of the log entries of [logPatches].
const patchMessage = "PATCH of the test"

// logPatches makes the operator's requests to patch objects entries of its log, in the order
// of all others. See [patchesOf].
func logPatches(o *kopf.Operator) {
	logger := o.Logger
	transport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(req *http.Request) (*http.Response, error) {
			if !isWrite(req) {
				return next.RoundTrip(req)
			}
			body, err := io.ReadAll(req.Body)
			if err != nil {
				return nil, err
			}
			req = req.Clone(req.Context())
			req.Body = io.NopCloser(bytes.NewReader(body))
			kind, target := "merge", "resource"
			if strings.Contains(req.Header.Get("Content-Type"), "json-patch") {
				kind = "json"
			}
			if strings.HasSuffix(req.URL.Path, "/status") {
				target = "status"
			}
			logger.Debug(patchMessage, "kind", kind, "target", target, "body", string(body), "path", req.URL.Path)
			return next.RoundTrip(req)
		})
	})(o)
}

// isWrite reports whether a request changes an object that is handled, and not a Kubernetes
// event.
func isWrite(req *http.Request) bool {
	return req.Method == http.MethodPatch && !strings.Contains(req.URL.Path, "/events/")
}

// patchesOf returns the requests of an operator that runs with [logPatches].
func patchesOf(op *kopftest.Operator) (patches []kopftest.LogEntry) {
	op.T().Helper()
	for _, e := range op.LogEntries() {
		if e.Message == patchMessage {
			patches = append(patches, e)
		}
	}
	return patches
}

// attr returns an attribute of a log entry as text.
func attr(e kopftest.LogEntry, key string) string {
	for _, a := range e.Attrs {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}
