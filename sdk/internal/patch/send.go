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

// ErrRepeated is ErrOutdated of a request that was sent more than once: an earlier attempt, whose
// answer was lost, may have been applied.
var ErrRepeated = fmt.Errorf("%w, perhaps by the same request", ErrOutdated)

// Call is a PATCH request.
type Call struct {
	Subresource string // "status", or empty for the object itself
	ContentType string // [MergeType] or [JSONType]
	Payload     any    // map[string]any of a merge patch, or []Op of a JSON patch

	// Base is the version that a JSON patch applies to, and Wanted is the patched object.
	Base, Wanted map[string]any
}

// Version returns the resourceVersion that a JSON patch is for.
func (c Call) Version() string {
	version, _ := object.Metadata(c.Base)["resourceVersion"].(string)
	return version
}

// Object is a version of an object, as it was watched or as the server returned it. Only
// transformations need its tree.
type Object interface {
	Tree() (map[string]any, error)
}

// Requests are the functions that send a patch.
type Requests struct {
	// Send sends a PATCH request. It returns the patched object. [ErrGone], [ErrOutdated] and
	// [ErrRepeated] are results; any other error is a failure.
	Send func(call Call) (Object, error)

	// Landed returns the newest version of the object, and whether a JSON patch whose answer was lost
	// has been applied. Optional.
	Landed func(call Call) (newest Object, landed bool, err error)
}

// Result is the result of sending a patch.
type Result struct {
	// Object is the response of the last successful request, with its new resourceVersion. It is nil if no request
	// was sent or none succeeded.
	Object Object

	// Gone is whether the object no longer exists. Nothing remains to be sent then.
	Gone bool

	// Remaining has the changes that were not applied; nil if there are none. Without an error, it holds the
	// transformations that did not apply because the object had changed; they run again for the newer version. With
	// an error, it holds all changes that the server did not accept.
	Remaining *Patch

	// Calls is the number of sent requests.
	Calls int
}

// Send applies the patch by as few requests as possible, in this order:
//
//  1. the merge patch, without the status if that is a subresource;
//  2. the merge patch of the status, if that is a subresource;
//  3. the changes by the transformations, as a JSON patch;
//  4. their changes of the status, as another one, if that is a subresource.
//
// The transformations run once, on the result of the merge patches or, if there were none, on
// the original. Each JSON patch tests first that the resourceVersion is unchanged. If it is
// not, nothing of the request is applied and the transformations remain for the next cycle; only
// their changes of the status remain if the others were applied.
//
// If the answer to a JSON patch is lost, the transformations remain together with the request. The
// next Send asks whether it was applied before it runs them again. Transformations that were added since
// then follow in requests of their own.
//
// Send returns after [ErrGone] from any request.
//
// The patch must not change meanwhile; use [Patch.Take] first if others can access it.
func (p *Patch) Send(original Object, statusIsSubresource bool, requests Requests) (Result, error) {
	s := sender{requests: requests, latest: original, statusIsSubresource: statusIsSubresource, fns: p.fns, lost: p.lost}
	calls := mergeCalls(p.merge, statusIsSubresource)
	for i, call := range calls {
		if ok, err := s.send(call); err != nil || !ok {
			return s.failed(calls[i:], err)
		}
	}
	if err := s.sendTransformations(); err != nil {
		return s.failed(nil, err)
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
	requests            Requests
	statusIsSubresource bool

	latest Object // the newest known version
	fns    []Fn   // transformations that are not applied yet
	lost   *lostAnswer
	result Result
}

// send returns false if no more requests should follow.
func (s *sender) send(call Call) (bool, error) {
	object, err := s.requests.Send(call)
	s.result.Calls++
	switch {
	case errors.Is(err, ErrGone):
		s.gone()
		return false, nil
	case err != nil:
		return false, fmt.Errorf("patch: %w", err)
	}
	s.latest, s.result.Object = object, object
	return true, nil
}

func (s *sender) gone() { s.result = Result{Gone: true, Calls: s.result.Calls} }

// failed returns the result of an error, with the unsent changes.
func (s *sender) failed(calls []Call, err error) (Result, error) {
	if err == nil {
		return s.result, nil
	}
	s.result.Remaining = &Patch{fns: s.fns, lost: s.lost}
	for _, call := range calls {
		if fields, ok := call.Payload.(map[string]any); ok {
			s.result.Remaining.Merge(fields)
		}
	}
	return s.result, err
}

// sendTransformations sends the changes by the transformations.
func (s *sender) sendTransformations() error {
	if len(s.fns) == 0 {
		return nil
	}
	if s.lost != nil && s.lost.fns < len(s.fns) {
		return s.sendLostFirst()
	}
	base, err := s.tree()
	if err != nil {
		return err
	}
	if s.lost != nil && s.lost.call.Version() != (Call{Base: base}).Version() {
		if ok, err := s.settleLost(); err != nil || !ok {
			return err
		}
		if base, err = s.tree(); err != nil || len(s.fns) == 0 {
			return err
		}
	}
	wanted, ops, err := transform(base, nil, s.fns)
	if err != nil {
		return err
	}
	body, status, wantedBody := ops, []Op(nil), wanted
	if s.statusIsSubresource {
		body, status = splitStatus(ops)
		wantedBody = withStatusOf(wanted, base)
	}
	if ok, err := s.sendOps(Call{Base: base, Wanted: wantedBody}, body, len(status) > 0); err != nil || !ok {
		return err
	}
	if len(status) > 0 {
		if len(body) > 0 {
			s.fns = statusOnly(s.fns)
		}
		if base, err = s.tree(); err != nil {
			return err
		}
		call := Call{Subresource: "status", Base: base, Wanted: withStatusOf(base, wanted)}
		if ok, err := s.sendOps(call, status, false); err != nil || !ok {
			return err
		}
	}
	s.fns = nil
	return nil
}

// sendLostFirst sends the transformations of the request whose response was lost, and then the remaining
// transformations, so that the two requests are never confused. If the first request does not apply, all
// transformations remain.
func (s *sender) sendLostFirst() error {
	others := s.fns[s.lost.fns:]
	s.fns = s.fns[:s.lost.fns:s.lost.fns]
	err := s.sendTransformations()
	first := s.fns
	s.fns = append(first, others...)
	switch {
	case err != nil || s.result.Gone:
		return err
	case len(first) == 0:
		s.lost = nil
		return s.sendTransformations()
	}
	s.result.Remaining = &Patch{fns: s.fns}
	return nil
}

// sendOps sends a JSON patch, which changes of the status may follow. It returns false if nothing can
// follow it for this version.
func (s *sender) sendOps(call Call, ops []Op, statusFollows bool) (bool, error) {
	if len(ops) == 0 {
		return true, nil
	}
	test := Op{Op: opTest, Path: "/metadata/resourceVersion", Value: object.Metadata(call.Base)["resourceVersion"]}
	call.ContentType, call.Payload = JSONType, append([]Op{test}, ops...)
	ok, err := s.send(call)
	switch {
	case err == nil:
		if ok {
			s.lost = nil
		}
		return ok, nil
	case !errors.Is(err, ErrOutdated):
		s.lost = &lostAnswer{call: call, fns: len(s.fns), status: statusFollows}
		return false, err
	}
	if s.lost == nil && errors.Is(err, ErrRepeated) {
		s.lost = &lostAnswer{call: call, fns: len(s.fns), status: statusFollows}
	}
	if s.lost != nil {
		if ok, err := s.settleLost(); err != nil || !ok {
			return false, err
		}
	}
	if len(s.fns) > 0 {
		s.result.Remaining = &Patch{fns: s.fns}
	}
	return false, nil
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
