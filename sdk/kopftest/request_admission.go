package kopftest

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Admission returns a request to call an admission handler with, for the existing and the new object. For a creation, the
// existing object is nil; for a deletion, the new object is nil. The request is for no subresource, is not a dry run, and is
// from the user "kopftest". You can change its fields.
//
//	a := kopftest.Admission[Claim](t, nil, `{"spec": {"size": "1G"}}`)
//	err := check(t.Context(), a)
func Admission[T any](t testing.TB, older, object any) *kopf.Admission[T] {
	t.Helper()
	a := &kopf.Admission[T]{Operation: kopf.OperationUpdate, User: kopf.UserInfo{Username: "kopftest", Groups: []string{"system:authenticated"}}}
	subject := object
	switch {
	case older == nil && object == nil:
		t.Fatal("kopftest: Admission: give the object as it is, as it will be, or both")
	case older == nil:
		a.Operation = kopf.OperationCreate
	case object == nil:
		a.Operation, subject = kopf.OperationDelete, older
	}
	a.Request = requestOf(t, viewOf(t, treeOf(t, subject)))
	if older != nil {
		a.Old = decoded[T](t, viewOf(t, treeOf(t, older)))
	}
	if object != nil {
		a.Object = decoded[T](t, viewOf(t, treeOf(t, object)))
	}
	return a
}
