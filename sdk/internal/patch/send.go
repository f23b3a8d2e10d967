package patch

import (
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/kopf-dev/kopf/sdk/internal/object"
)

// Content types of PATCH requests.
const (
	MergeType = "application/merge-patch+json"
	JSONType  = "application/json-patch+json"
)

// Answers to a PATCH request that end the sending without being failures.
var (
	// ErrGone means that the object does not exist.
	ErrGone = errors.New("the object does not exist")
	// ErrOutdated means that a JSON patch was made for another version than the newest.
	ErrOutdated = errors.New("the object has changed")
)

// Call is a PATCH request.
type Call struct {
	Subresource string // "status", or empty for the object itself
	ContentType string // [MergeType] or [JSONType]
	Payload     any    // map[string]any of a merge patch, or []Op of a JSON patch
}

// Object is a version of an object, as it was watched or as the server returned it. Only
// transformations need its tree.
type Object interface {
	Tree() (map[string]any, error)
}

// sendFunc sends a PATCH request. It returns the patched object. [ErrGone] and [ErrOutdated] are
// results; any other error is a failure.
type sendFunc func(call Call) (Object, error)

// Result is the result of sending a patch.
type Result struct {
	// Object is what the last successful request returned, with its new resourceVersion. It is
	// nil if no request was sent or none succeeded.
	Object Object

	// Gone is whether the object no longer exists. Nothing remains to be sent then.
	Gone bool

	// Remaining holds the transformations that did not apply, as the object had changed.
	// They run again in the next cycle, for the newer version. It is nil if there are none.
	Remaining *Patch

	// Calls is the number of sent requests.
	Calls int
}

// Send applies the patch by as few requests as possible, at most four, in this order:
//
//  1. the merge patch, without the status if that is a subresource;
//  2. the merge patch of the status, if that is a subresource;
//  3. the changes by the transformations, as a JSON patch;
//  4. their changes of the status, as another one, if that is a subresource.
//
// The transformations run once, on the result of the merge patches or, if there were none, on
// the original. Each JSON patch tests first that the resourceVersion is unchanged. If it is
// not, nothing of the request is applied and all transformations remain for the next cycle, as
// it is unknown which of them change the status.
//
// Send returns after [ErrGone] from any request.
//
// The patch must not change meanwhile; use [Patch.Take] first if others can access it.
func (p *Patch) Send(original Object, statusIsSubresource bool, do sendFunc) (Result, error) {
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
	do     sendFunc
	latest Object // the newest known version
	result Result
}

// send returns false if no more requests should follow.
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
	test := Op{Op: opTest, Path: "/metadata/resourceVersion", Value: version}
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
		return nil, fmt.Errorf("read the object to patch: %w", err)
	}
	return object, nil
}
