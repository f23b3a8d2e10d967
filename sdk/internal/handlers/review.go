package handlers

import (
	"crypto/tls"
	"slices"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Review is the API server's request to admission handlers.
type Review struct {
	// Family is [Validate] or [Mutate]; empty asks both. HandlerID is the id of the only handler to call; empty
	// asks all.
	Family    Family
	HandlerID string

	Operation   string // "CREATE", "UPDATE", "DELETE" or "CONNECT"
	Subresource string // such as "status"; empty for the object itself
	DryRun      bool
	User        UserInfo

	Object *object.Object // object after the operation; nil for a deletion
	Old    *object.Object // object before the operation; nil for a creation

	Header map[string][]string  // headers of the API server's request, including Host
	TLS    *tls.ConnectionState // state of the API server's connection, with verified certificates only; nil without TLS
}

// Operations of reviews.
const (
	OperationCreate  = "CREATE"
	OperationUpdate  = "UPDATE"
	OperationDelete  = "DELETE"
	OperationConnect = "CONNECT"
)

// UserInfo is who has sent the request to the API server.
type UserInfo struct {
	Username string              `json:"username"`
	UID      string              `json:"uid"`
	Groups   []string            `json:"groups"`
	Extra    map[string][]string `json:"extra"`
}

// AdmissionOptions are the options of admission handlers.
type AdmissionOptions struct {
	Operations  []string // empty means all
	Subresource string   // empty means the object itself; "*" means the object and all its subresources

	Persistent     bool // the webhook stays in the cluster when the operator exits
	SideEffects    bool // except in a dry run
	IgnoreFailures bool // a request is admitted if the handler fails or cannot be reached
}

// AnySubresource is the subresource of handlers of an object and all its subresources.
const AnySubresource = "*"

// matchesReview reports whether an admission handler is called for a review. As in Kopf for Python, the
// operations are left to the configurations of webhooks, except that the object of a deletion cannot be
// changed.
func (h *Handler) matchesReview(r *Review) bool {
	switch {
	case r == nil,
		r.Family != "" && r.Family != h.Family,
		r.HandlerID != "" && r.HandlerID != h.ID,
		h.Admission.Subresource != AnySubresource && h.Admission.Subresource != r.Subresource:
		return false
	}
	return h.Family != Mutate || r.Operation != OperationDelete || h.onlyDeletions()
}

func (h *Handler) onlyDeletions() bool {
	ops := h.Admission.Operations
	return len(ops) > 0 && !slices.ContainsFunc(ops, func(op string) bool { return op != OperationDelete })
}
