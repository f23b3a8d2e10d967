// Package proxy stands between an operator and an embedded control plane. It loads objects of a copy when the operator first
// needs them, and records the operator's writing requests.
package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/plan/copy"
)

// HandlerHeader is the header of the operator's requests that says which handler sends it: the handler's id, the uid of the
// handled object, and the attempt, separated by spaces. The proxy removes it.
const HandlerHeader = "Kopf-Handler"

// Options configure a proxy.
type Options struct {
	// Copy has the objects. Several proxies can share it.
	Copy *copy.Copy

	// Control is the connection to the control plane, as an administrator.
	Control *rest.Config

	// Load stores objects in the control plane as they are: [devcluster.Cluster.Load]. It replaces objects of the same
	// name.
	Load func(ctx context.Context, resource schema.GroupResource, objects []json.RawMessage) error

	// Change changes an object before it is loaded, or leaves it out by returning nil. May be nil. Calls are concurrent.
	Change func(resource schema.GroupResource, object map[string]any) map[string]any

	// Recorded is called after each writing request. May be nil. Calls are concurrent.
	Recorded func(Request)
}

// Request is a writing request of the operator.
type Request struct {
	// At is the time at which the request came.
	At time.Time
	// Verb is create, update, patch, delete, or deletecollection.
	Verb string
	// Resource is the resource with the version of the request.
	Resource schema.GroupVersionResource
	// Namespace, Name and Subresource are the object's. Name is the name that the server has generated if there was none.
	Namespace, Name, Subresource string
	// Handler, UID and Attempt are of [HandlerHeader]; empty for requests without it. UID is the uid of the handled object.
	Handler, UID string
	Attempt      int
	// ContentType is the type of the body, such as application/merge-patch+json.
	ContentType string
	// Body is the body as sent if it is JSON or YAML, with values of Secrets replaced.
	Body []byte
	// Before and After are the object before and after the request, with values of Secrets replaced: nil if there was none,
	// or is none.
	Before, After map[string]any
	// Code is the status of the answer, and Status its details if the request has failed.
	Code   int
	Status *metav1.Status
}

// Untried is a reason why something in the plan is not as in the cluster.
type Untried struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Reason is for a person, without a full stop.
	Reason string
}

// Proxy is the server between an operator and a control plane.
type Proxy struct{}

// New returns a proxy. It sends no request.
func New(o Options) (*Proxy, error) { return nil, errors.New("not built yet") }

// ServeHTTP answers a request of the operator.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {}

// Serve accepts connections until the proxy is closed. It returns nil then.
func (p *Proxy) Serve(l net.Listener) error { return errors.New("not built yet") }

// Close ends the connections.
func (p *Proxy) Close() error { return nil }

// Prepare loads a resource as a request of the operator would do. It returns the refusal as the error.
func (p *Proxy) Prepare(ctx context.Context, scope copy.Scope) error {
	return errors.New("not built yet")
}

// Requests returns the recorded requests in the order of their answers.
func (p *Proxy) Requests() []Request { return nil }

// Untried returns what could not be loaded, sorted by resource.
func (p *Proxy) Untried() []Untried { return nil }

// Busy returns the number of requests that are being answered, without watches, and the time of the last answer.
func (p *Proxy) Busy() (requests int, last time.Time) { return 0, time.Time{} }
