package patch

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// The content types of PATCH requests.
const (
	MergeType = "application/merge-patch+json"
	JSONType  = "application/json-patch+json"
)

// The answers to a PATCH request that end the sending without being failures.
var (
	// ErrGone means that the object does not exist.
	ErrGone = errors.New("the object does not exist")
	// ErrOutdated means that a JSON patch was not made for the newest version of the object.
	ErrOutdated = errors.New("the object has changed")
)

// Call is one PATCH request.
type Call struct {
	Subresource string // "status", or empty for the object itself
	ContentType string // [MergeType] or [JSONType]
	Payload     any    // map[string]any of a merge patch, or []Op of a JSON patch
}

// Object is a version of an object. Its tree is only needed by transformations.
type Object interface {
	Tree() (map[string]any, error)
}

// Do sends one PATCH request. It returns the state of the object after the request. [ErrGone] and
// [ErrOutdated] are results; any other error is a failure.
type Do func(call Call) (Object, error)

// Result is the result of sending a patch.
type Result struct {
	// Object is the version that the last successful request returned; nil if there was none.
	Object Object

	// Gone means that the object does not exist anymore.
	Gone bool

	// Remaining are the transformations that could not be applied, because the object had changed
	// meanwhile; nil if there are none. They are to be applied to its newer version.
	Remaining *Patch

	// Calls is the number of requests that were sent.
	Calls int
}

// Send sends the patch in as few requests as possible, at most four, in this order:
//
//  1. the merge patch, without the status if that is a subresource;
//  2. the merge patch of the status, if that is a subresource;
//  3. what the transformations change, as a JSON patch;
//  4. what they change in the status, as another one, if that is a subresource.
//
// The transformations run once, on the version that the merge patches returned or, if there were
// none, on the original one. Each JSON patch first tests that the object still has this
// resourceVersion. If it has not, nothing of the request is applied, and all transformations remain,
// since it is not known which of them changes the status.
//
// [ErrGone] from any request ends the sending.
//
// The patch must not be changed meanwhile: use [Patch.Take] for a shared one.
func (p *Patch) Send(original Object, statusIsSubresource bool, do Do) (Result, error) {
	s := sender{do: do, latest: original}
	for _, call := range mergeCalls(p.merge, statusIsSubresource) {
		ok, err := s.send(call)
		if err != nil || !ok {
			return s.result, err
		}
	}
	if len(p.fns) == 0 {
		return s.result, nil
	}
	ops, err := s.transform(p.fns)
	if err != nil {
		return s.result, err
	}
	body, status := ops, []Op(nil)
	if statusIsSubresource {
		body, status = splitStatus(ops)
	}
	for _, part := range []struct {
		subresource string
		ops         []Op
	}{{"", body}, {"status", status}} {
		if len(part.ops) == 0 {
			continue
		}
		ok, err := s.sendOps(part.subresource, part.ops, p.fns)
		if err != nil || !ok {
			return s.result, err
		}
	}
	return s.result, nil
}

func mergeCalls(merge map[string]any, statusIsSubresource bool) []Call {
	var calls []Call
	status, hasStatus := merge["status"]
	body := merge
	if statusIsSubresource && hasStatus {
		body = maps.Clone(merge)
		delete(body, "status")
	}
	if len(body) > 0 {
		calls = append(calls, Call{ContentType: MergeType, Payload: body})
	}
	if emptyMap, isMap := status.(map[string]any); isMap && len(emptyMap) == 0 {
		hasStatus = false
	}
	if statusIsSubresource && hasStatus {
		payload := map[string]any{"status": status}
		calls = append(calls, Call{Subresource: "status", ContentType: MergeType, Payload: payload})
	}
	return calls
}

func splitStatus(ops []Op) (body, status []Op) {
	for _, op := range ops {
		if op.Path == "/status" || strings.HasPrefix(op.Path, "/status/") {
			status = append(status, op)
		} else {
			body = append(body, op)
		}
	}
	return body, status
}

type sender struct {
	do     Do
	latest Object // the newest known version
	result Result
}

// send sends one request. It returns false if no other must follow.
func (s *sender) send(call Call) (bool, error) {
	object, err := s.do(call)
	s.result.Calls++
	switch {
	case errors.Is(err, ErrGone):
		s.result = Result{Gone: true, Calls: s.result.Calls}
		return false, nil
	case errors.Is(err, ErrOutdated):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("patch: %w", err)
	}
	s.latest, s.result.Object = object, object
	return true, nil
}

func (s *sender) sendOps(subresource string, ops []Op, fns []Fn) (bool, error) {
	version, err := s.version()
	if err != nil {
		return false, err
	}
	test := Op{Op: OpTest, Path: "/metadata/resourceVersion", Value: version}
	payload := append([]Op{test}, ops...)
	ok, err := s.send(Call{Subresource: subresource, ContentType: JSONType, Payload: payload})
	if err == nil && !ok && !s.result.Gone {
		s.result.Remaining = &Patch{fns: fns}
	}
	return ok, err
}

func (s *sender) transform(fns []Fn) ([]Op, error) {
	object, err := s.tree()
	if err != nil {
		return nil, err
	}
	return transform(object, nil, fns)
}

func (s *sender) version() (any, error) {
	obj, err := s.tree()
	return object.Metadata(obj)["resourceVersion"], err
}

func (s *sender) tree() (map[string]any, error) {
	if s.latest == nil {
		return nil, nil
	}
	object, err := s.latest.Tree()
	if err != nil {
		return nil, fmt.Errorf("read the object to be patched: %w", err)
	}
	return object, nil
}
