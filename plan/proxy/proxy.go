// Package proxy stands between an operator and an embedded control plane. It loads objects of a copy when the operator first
// needs them, and records the operator's writing requests.
package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kopf-dev/kopf/plan/copy"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// HandlerHeader is the header of the operator's requests that identifies the handler: the handler's id, the uid of the
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

	// Failed is called when objects cannot be copied or loaded, or a request cannot be recorded, because the plan would then be
	// wrong. May be nil. Calls are concurrent.
	Failed func(error)

	// Recorded is called after each writing request. May be nil. Calls are concurrent.
	Recorded func(Request)
}

// Request is a writing request of the operator.
type Request struct {
	// At is the time at which the proxy received the request.
	At time.Time
	// Verb is create, update, patch, delete, or deletecollection.
	Verb string
	// Resource is the resource with the version of the request.
	Resource schema.GroupVersionResource
	// Namespace, Name and Subresource identify the object. If the request has no name, Name is the name that the API server generated.
	Namespace, Name, Subresource string
	// Handler, UID and Attempt are the values of [HandlerHeader]; empty without the header. UID is the uid of the handled object.
	Handler, UID string
	Attempt      int
	// ContentType is the type of the body, such as application/merge-patch+json.
	ContentType string
	// Body is the body as sent if it is JSON or YAML, with values of Secrets replaced.
	Body []byte
	// Before and After are the object before and after the request, without its managed fields, and with the values of Secrets replaced;
	// nil if the object did not exist at that time. They must not be changed, because requests share them.
	Before, After map[string]any
	// Code is the HTTP status of the answer. Status has the details of a failure.
	Code   int
	Status *metav1.Status
}

// Untried is a reason why the copy differs from the cluster.
type Untried struct {
	Resource  schema.GroupVersionResource
	Namespace string
	// Reason is a message without a full stop.
	Reason string
}

// Proxy is the server between an operator and a control plane. Its methods are safe for concurrent use.
type Proxy struct {
	options Options
	loader  *loader
	forward http.Handler
	server  *http.Server
	locks   locks
	life    context.Context // context of loading, which continues if the client of a request disconnects
	end     context.CancelFunc

	mu       sync.Mutex
	requests []Request
	states   map[string]map[string]any // objects after their last requests
	busy     int
	last     time.Time // last answer
	used     time.Time // last request for objects
}

// New returns a proxy. It sends no request.
func New(o Options) (*Proxy, error) {
	control, err := newControl(o.Control)
	if err != nil {
		return nil, err
	}
	p := &Proxy{options: o, loader: newLoader(o, control), forward: passOn(control), locks: locks{named: map[string]*namedLock{}}, states: map[string]map[string]any{}, last: time.Now()}
	p.life, p.end = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0)} // the dropped log has only errors of connections that the operator closes
	return p, nil
}

// passOn returns the handler that passes requests on to the control plane, with its credentials.
func passOn(c *control) http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(c.base)
			r.Out.Header.Del("Authorization")
			r.Out.Header.Del("Accept-Encoding") // the transport decodes only compressed answers that it requested itself
			for name := range r.Out.Header {
				if strings.HasPrefix(name, "Impersonate-") {
					r.Out.Header.Del(name)
				}
			}
		},
		Transport:     c.client.Transport,
		FlushInterval: -1, // flush each write, so that watches deliver each event at once
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the copy does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
}

// Serve accepts connections until the proxy is closed. It returns nil then.
func (p *Proxy) Serve(l net.Listener) error {
	if err := p.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the operator: %w", err)
	}
	return nil
}

// Close ends the connections.
func (p *Proxy) Close() error {
	p.end()
	err := p.server.Close()
	p.loader.control.client.CloseIdleConnections()
	return err
}

// ServeHTTP answers a request of the operator.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from := senderOf(r.Header)
	i, ok := infoOf(r)
	done := p.begin(!ok || !isSignOfLife(i.resource.GroupResource()), ok && !i.isReview())
	defer done()
	if !ok {
		if !isKnown(r) {
			answer(w, &metav1.Status{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: "a plan does not know this path"})
		} else if err := p.loader.definitions.ensure(p.life); err != nil {
			p.fail(w, err)
		} else {
			p.forward.ServeHTTP(w, r)
		}
		return
	}
	if i.acts() {
		status := forbidden(i.resource, "its subresource "+i.subresource+" needs a running program")
		p.loader.note(i.resource, i.namespace, status.Message)
		answer(w, status)
		return
	}
	err := p.loader.ensure(p.life, i)
	refused, isRefused := errors.AsType[*apierrors.StatusError](err)
	switch {
	case isRefused:
		answer(w, &refused.ErrStatus)
	case err != nil:
		p.fail(w, err)
	case i.verb == readingVerb && isWatch(r):
		done() // a watch does not count as busy
		p.forward.ServeHTTP(w, r)
	case i.verb == readingVerb || i.isReview() || isDryRun(r):
		p.forward.ServeHTTP(w, r)
	default:
		p.write(w, r, i, from)
	}
}

// begin counts a request until done is called. Further calls of done do nothing. If isWork is false, the request counts as none. If
// hasObjects is true, the request is for objects.
func (p *Proxy) begin(isWork, hasObjects bool) (done func()) {
	if !isWork {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.busy++
	if hasObjects {
		p.used = time.Now()
	}
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.busy--
		p.last = time.Now()
	})
}

func (p *Proxy) record(r Request) {
	p.mu.Lock()
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	if p.options.Recorded != nil {
		p.options.Recorded(r)
	}
}

// failed reports an error that makes the plan wrong, unless the proxy is closed.
func (p *Proxy) failed(err error) {
	if p.options.Failed != nil && p.life.Err() == nil {
		p.options.Failed(err)
	}
}

// fail reports an error by failed, and answers the request with it.
func (p *Proxy) fail(w http.ResponseWriter, err error) {
	p.failed(err)
	answer(w, &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: printable.Lines(err.Error())})
}

// answer answers a request with a status.
func answer(w http.ResponseWriter, s *metav1.Status) {
	s = s.DeepCopy()
	s.TypeMeta, s.Status = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, metav1.StatusFailure
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_ = json.NewEncoder(w).Encode(s) // the client may have disconnected
}

// Prepare loads a resource as a request of the operator would do. A refusal is a [*apierrors.StatusError].
func (p *Proxy) Prepare(ctx context.Context, scope copy.Scope) error {
	return p.loader.ensure(ctx, info{verb: readingVerb, resource: scope.Resource, namespace: scope.Namespace, name: scope.Name})
}

// Requests returns the recorded requests in the order of their answers.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// Untried returns the reasons why the copy differs from the cluster, sorted by resource.
func (p *Proxy) Untried() []Untried { return p.loader.notes() }

// LastUse returns the time of the last request for objects; zero before the first. Leases and peering objects do not count.
func (p *Proxy) LastUse() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Busy returns the number of requests that are being answered, without watches, and the time of the last answer. Requests for leases and
// peering objects do not count, because operators send them for as long as they run.
func (p *Proxy) Busy() (requests int, last time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy, p.last
}
