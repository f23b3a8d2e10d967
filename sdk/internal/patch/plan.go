package patch

import (
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

// The HTTP statuses that are results rather than failures.
const (
	statusNotFound      = 404
	statusUnprocessable = 422
)

// Call is one PATCH request.
type Call struct {
	Subresource string // "status", or empty for the object itself
	ContentType string // [MergeType] or [JSONType]
	Payload     any    // map[string]any of a merge patch, or []Op of a JSON patch
}

// Object is the state of an object as it was watched or as a server returned it. Its
// tree is asked for only where transformations need it.
type Object interface {
	Tree() (map[string]any, error)
}

// Do sends one PATCH request. It returns the state of the object after the request,
// and the HTTP status. The statuses 404 and 422 are results, with or without an
// error; any other failure is an error.
type Do func(call Call) (Object, int, error)

// Result is what has become of a patch.
type Result struct {
	// Object is the state that the last successful request has returned, with its new
	// resource version. Nil if nothing was sent, or nothing has succeeded.
	Object Object

	// Gone tells that the object does not exist anymore: the rest of the patch is
	// pointless, and none of it remains.
	Gone bool

	// Remaining holds the transformations that could not be applied, because the object
	// had changed meanwhile. They belong to the next cycle, which the newer version of
	// the object brings soon. Nil if there are none.
	Remaining *Patch

	// Calls is the number of requests that were sent.
	Calls int
}

// Send applies a patch by as few requests as possible, at most four, in this order:
//
//  1. the merge patch, without the status if that is a subresource;
//  2. the merge patch of the status, if that is a subresource;
//  3. what the transformations change, as a JSON patch;
//  4. what they change in the status, as another one, if that is a subresource.
//
// The transformations run once, on the state that the merge patches have returned or,
// if there were none, on the original one. Each JSON patch first tests that the
// resource version is still that of the state it was made for. If it is not, the
// server answers 422: nothing of the request is applied, and all transformations
// remain for the next cycle, since nobody can tell which of them the status needs.
//
// A 404 from any request means that the object is gone. That ends the sending.
//
// Meanwhile, nobody may change the patch: what others can reach is to be taken first, with
// [Patch.Take].
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
	latest Object // the freshest known state
	result Result
}

// send returns false when the sending is over.
func (s *sender) send(call Call) (bool, error) {
	object, status, err := s.do(call)
	s.result.Calls++
	switch {
	case status == statusNotFound:
		s.result = Result{Gone: true, Calls: s.result.Calls}
		return false, nil
	case call.ContentType == JSONType && status == statusUnprocessable:
		return false, nil
	case err != nil:
		return false, fmt.Errorf("patching: %w", err)
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
		return nil, fmt.Errorf("reading the object to be patched: %w", err)
	}
	return object, nil
}
