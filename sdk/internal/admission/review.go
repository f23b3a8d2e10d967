package admission

import (
	"fmt"

	kjson "sigs.k8s.io/json"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Versions are the versions of reviews that operators answer, the preferred one first.
var Versions = []string{"v1", "v1beta1"}

// group is the API group of reviews.
const group = "admission.k8s.io"

// reviewKind is the kind of reviews, of requests and responses.
const reviewKind = "AdmissionReview"

// Request is a decoded review.
type Request struct {
	APIVersion string // version of the review
	UID        string // UID of the request

	Resource GroupVersionResource // resource in the webhook's rules

	Weight int64 // estimated memory of the decoded objects, in bytes

	handlers.Review // lacks the family, the handler's id, the header and the TLS state
}

// GroupVersionResource identifies a resource.
type GroupVersionResource struct {
	Group    string `json:"group"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
}

// String returns "RESOURCE.VERSION.GROUP".
func (r GroupVersionResource) String() string {
	if r.Group == "" {
		return r.Resource + "." + r.Version
	}
	return r.Resource + "." + r.Version + "." + r.Group
}

// InvalidError is the error of a request that is not a review, or one that cannot be answered.
type InvalidError struct {
	Status int // status of the HTTP response
	Reason string
}

// Error implements the error interface.
func (e *InvalidError) Error() string { return e.Reason }

// HTTP statuses.
const (
	badRequest          = 400
	internalServerError = 500
	endOfErrors         = 600
)

func invalid(format string, args ...any) error {
	return &InvalidError{Status: badRequest, Reason: fmt.Sprintf(format, args...)}
}

// wireReview is a review as the API server sends it.
type wireReview struct {
	APIVersion string       `json:"apiVersion"`
	Kind       string       `json:"kind"`
	Request    *wireRequest `json:"request"`
}

type wireRequest struct {
	UID  string `json:"uid"`
	Kind struct {
		Group   string `json:"group"`
		Version string `json:"version"`
		Kind    string `json:"kind"`
	} `json:"kind"`
	Resource    GroupVersionResource `json:"resource"`
	SubResource string               `json:"subResource"`
	Name        string               `json:"name"`
	Namespace   string               `json:"namespace"`
	Operation   string               `json:"operation"`
	UserInfo    *handlers.UserInfo   `json:"userInfo"`
	Object      wireObject           `json:"object"`
	OldObject   wireObject           `json:"oldObject"`
	DryRun      bool                 `json:"dryRun"`
}

// wireObject is an object of a review, which stays text.
type wireObject struct {
	parsed *object.Object // nil if it is absent
	weight int64
	err    error
}

// UnmarshalJSON implements [json.Unmarshaler]. It copies the text once, without its managed fields.
func (o *wireObject) UnmarshalJSON(text []byte) error {
	*o = wireObject{}
	if string(text) == "null" {
		return nil
	}
	if o.parsed, o.err = object.Parse(text, object.ParseOptions{}); o.err == nil {
		o.weight, o.err = object.Weigh(o.parsed.Raw)
	}
	return nil
}

// Decode reads a review. It returns an [*InvalidError] for anything else.
func Decode(body []byte) (*Request, error) {
	var wire wireReview
	if err := kjson.UnmarshalCaseSensitivePreserveInts(body, &wire); err != nil {
		return nil, invalid("the body is not an AdmissionReview: %v", err)
	}
	if err := wire.check(); err != nil {
		return nil, err
	}
	r := wire.Request
	request := &Request{APIVersion: wire.APIVersion, UID: r.UID, Resource: r.Resource}
	request.Operation, request.Subresource, request.DryRun, request.User = r.Operation, r.SubResource, r.DryRun, *r.UserInfo
	var err error
	if request.Object, err = r.object("object", &r.Object); err != nil {
		return nil, err
	}
	if request.Old, err = r.object("oldObject", &r.OldObject); err != nil {
		return nil, err
	}
	if request.Object == nil && request.Old == nil {
		return nil, invalid("the review has neither an object nor an oldObject")
	}
	request.Weight = r.Object.weight + r.OldObject.weight
	return request, nil
}

func (w *wireReview) check() error {
	known := false
	for _, version := range Versions {
		known = known || w.APIVersion == group+"/"+version
	}
	switch {
	case w.Kind != reviewKind:
		return invalid("the body is of the kind %q; want an %s", Clip(w.Kind), reviewKind)
	case !known:
		return invalid("the review is of the version %q; want %s/v1 or v1beta1", Clip(w.APIVersion), group)
	case w.Request == nil:
		return invalid("the review has no request")
	case w.Request.UID == "":
		return invalid("the review has no uid")
	case w.Request.Resource.Resource == "":
		return invalid("the review names no resource")
	case w.Request.UserInfo == nil:
		return invalid("the review has no userInfo")
	}
	return nil
}

// Clip shortens a string that comes from a request, so that it fits into a message.
func Clip(text string) string {
	const enough = 64
	if len(text) > enough {
		return text[:enough] + "…"
	}
	return text
}

// object returns an object of the review with its identity; nil if it is absent.
func (r *wireRequest) object(field string, o *wireObject) (*object.Object, error) {
	parsed, err := o.parsed, o.err
	if err == nil && parsed == nil {
		return nil, nil
	}
	if err == nil && (parsed.APIVersion == "" || parsed.Kind == "") {
		apiVersion := r.Kind.Version
		if r.Kind.Group != "" {
			apiVersion = r.Kind.Group + "/" + apiVersion
		}
		parsed, err = object.Parse(parsed.Raw, object.ParseOptions{APIVersion: apiVersion, Kind: r.Kind.Kind})
	}
	if err != nil {
		return nil, invalid("the review's %s: %v", field, err)
	}
	// The objects of some requests have no names: they are being made, or are of another kind.
	if parsed.Name == "" {
		parsed.Name = r.Name
	}
	if parsed.Namespace == "" {
		parsed.Namespace = r.Namespace
	}
	return parsed, nil
}

// Subject returns the object that the review is about: as it will be, or for a deletion, as it is.
func (r *Request) Subject() *object.Object {
	if r.Object != nil {
		return r.Object
	}
	return r.Old
}
