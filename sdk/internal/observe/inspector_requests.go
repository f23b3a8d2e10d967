package observe

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/kopf-dev/kopf/sdk/internal/inspector"
	"github.com/kopf-dev/kopf/sdk/internal/kube"
)

// countRequest counts a request to the API server.
func (i *Inspector) countRequest(call kube.Call) {
	kind := inspector.RequestKind{Verb: call.Verb, Code: call.Status, Subresource: call.Subresource}
	if r := call.Resource; r != nil {
		kind.Group, kind.Version, kind.Plural = r.Group, r.Version, r.Plural
	}
	i.hub.CountRequest(kind, inspector.RequestRun{
		At: time.Now(), Took: call.Duration, Repeated: call.Repeated, Err: shownRequestError(call),
	})
}

// shownRequestError returns the error of a request if the inspector may show it. An error about an invalid object may quote
// secret values of the object.
func shownRequestError(call kube.Call) error {
	if call.Err == nil || call.Status == 0 || IsRefused(call) {
		return call.Err
	}
	return errors.New(strings.ToLower(http.StatusText(call.Status)))
}

// IsRefused reports whether a permission was missing for a request. Quotas and admission webhooks respond with the same
// status, but other messages.
func IsRefused(call kube.Call) bool {
	return call.Status == http.StatusForbidden && call.Err != nil &&
		strings.Contains(call.Err.Error(), " cannot ") && strings.Contains(call.Err.Error(), " resource ")
}
