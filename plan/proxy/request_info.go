package proxy

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kopf-dev/kopf/plan/copy"
)

// info is a request for a resource.
type info struct {
	verb                         string // verb of RBAC; get stands for all reading requests
	resource                     schema.GroupVersionResource
	namespace, name, subresource string
}

// readingVerb is the verb of requests that write nothing.
const readingVerb = "get"

// isKnown reports whether a request without a resource, such as discovery, may be passed on. It must be a reading request, and have a path
// that the API server and the proxy parse in the same way.
func isKnown(r *http.Request) bool {
	_, ok := partsOf(r.URL)
	return (ok || strings.Trim(r.URL.EscapedPath(), "/") == "") && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// infoOf returns the resource of a request; false for requests for other paths, such as discovery.
func infoOf(r *http.Request) (info, bool) {
	var i info
	parts, ok := partsOf(r.URL)
	if !ok {
		return i, false
	}
	switch {
	case parts[0] == "api" && len(parts) > 2:
		i.resource.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		i.resource.Group, i.resource.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return i, false
	}
	if parts[0] == "watch" && len(parts) > 1 { // the deprecated form of watch paths, which is still served
		parts = parts[1:]
	}
	// In paths, the subresources of a namespace have the same position as the resources in the namespace.
	if parts[0] == "namespaces" && len(parts) > 2 && !slices.Contains([]string{"status", "finalize"}, parts[2]) {
		i.namespace, parts = parts[1], parts[2:]
	}
	i.resource.Resource = parts[0]
	if len(parts) > 1 {
		i.name = parts[1]
	}
	if len(parts) > 2 {
		i.subresource = strings.Join(parts[2:], "/")
	}
	i.verb = verbOf(r.Method, i.name)
	return i, true
}

// partsOf returns the parts of a path; false if one of them is not valid in a path of a resource.
func partsOf(u *url.URL) ([]string, bool) {
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, part := range parts {
		decoded, err := url.PathUnescape(part)
		if err != nil || decoded == "" || decoded == "." || decoded == ".." || strings.ContainsRune(decoded, '/') {
			return nil, false
		}
		parts[i] = decoded
	}
	return parts, true
}

func verbOf(method, name string) string {
	switch {
	case method == http.MethodPost:
		return "create"
	case method == http.MethodPut:
		return "update"
	case method == http.MethodPatch:
		return "patch"
	case method == http.MethodDelete && name == "":
		return "deletecollection"
	case method == http.MethodDelete:
		return "delete"
	default:
		return readingVerb
	}
}

// scope returns the scope to load for the request: all objects of the resource in the namespace of the request.
func (i info) scope() copy.Scope { return copy.Scope{Resource: i.resource, Namespace: i.namespace} }

// key identifies the object of the request.
func (i info) key() string {
	return i.resource.GroupResource().String() + "/" + i.namespace + "/" + i.name
}

// isReview reports whether the request is a review, such as a SelfSubjectAccessReview, which creates no object.
func (i info) isReview() bool {
	return i.resource.Group == "authorization.k8s.io" || i.resource.Group == "authentication.k8s.io"
}

// acting are the subresources that need running containers, which a plan does not have.
var acting = []string{"exec", "attach", "portforward", "proxy", "log"}

func (i info) acts() bool {
	first, _, _ := strings.Cut(i.subresource, "/")
	return slices.Contains(acting, first)
}

// isWatch reports whether the request is a watch.
func isWatch(r *http.Request) bool {
	watch := r.URL.Query().Get("watch")
	return watch == "true" || watch == "1" || strings.Contains(r.URL.Path, "/watch/")
}

// isDryRun reports whether the request is a dry run.
func isDryRun(r *http.Request) bool { return r.URL.Query().Has("dryRun") }

// neverCopied reports whether the objects of a resource are not loaded. Leases and peering objects of running operators would pause the
// operator, and webhook configurations would make the control plane call programs of the cluster. Reviews are not objects.
func neverCopied(r schema.GroupResource) bool {
	switch r.Group {
	case "admissionregistration.k8s.io":
		return strings.HasSuffix(r.Resource, "webhookconfigurations")
	case "apiregistration.k8s.io", "authorization.k8s.io", "authentication.k8s.io":
		return true
	default:
		return isSignOfLife(r)
	}
}

// isSignOfLife reports whether the objects of a resource show other processes that an operator is alive.
func isSignOfLife(r schema.GroupResource) bool {
	return r.Group == "coordination.k8s.io" && r.Resource == "leases" || r.Resource == "kopfpeerings" || r.Resource == "clusterkopfpeerings"
}
