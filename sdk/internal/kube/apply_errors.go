package kube

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// FieldConflict is an applied field that another manager owns.
type FieldConflict struct {
	Field       string // path as the server writes it, such as .spec.template.spec.containers[name="web"].image
	Manager     string // empty if the server does not name the owner
	Subresource string // subresource through which the manager took the field, such as "scale"; otherwise empty
}

// Conflicts returns the fields because of which the server refused an apply. It is nil for other errors.
func Conflicts(err error) []FieldConflict {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok || status.ErrStatus.Code != http.StatusConflict || status.ErrStatus.Details == nil {
		return nil
	}
	var all []FieldConflict
	for _, cause := range status.ErrStatus.Details.Causes {
		if cause.Type == metav1.CauseTypeFieldManagerConflict {
			all = append(all, conflictOf(cause))
		}
	}
	return all
}

// conflictOf reads a cause whose message is as in: conflict with "NAME" with subresource "scale" using apps/v1.
func conflictOf(cause metav1.StatusCause) FieldConflict {
	c := FieldConflict{Field: cause.Field}
	rest := cause.Message
	c.Manager, rest = cutQuoted(rest, "conflict with ")
	c.Subresource, _ = cutQuoted(rest, " with subresource ")
	return c
}

// cutQuoted returns the quoted text after a prefix, and the rest. The text is empty if there is none.
func cutQuoted(s, prefix string) (text, rest string) {
	rest, ok := strings.CutPrefix(s, prefix)
	if !ok {
		return "", s
	}
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return "", s
	}
	text, err = strconv.Unquote(quoted)
	if err != nil {
		return "", s
	}
	return text, rest[len(quoted):]
}

// uidConflicts are in the messages of conflicts because of a uid, which have no causes: of an apply for a deleted object, of a
// deletion, and of a deletion whose object is replaced meanwhile.
var uidConflicts = []string{": uid mismatch: ", ": the UID in the precondition (", ": Precondition failed: UID in precondition: "}

// IsOtherUID reports whether the server rejected a request because of its uid: the named object has another uid, or does not
// exist.
func IsOtherUID(err error) bool {
	status, ok := errors.AsType[*apierrors.StatusError](err)
	if !ok {
		return false
	}
	switch Classify(err) {
	case Invalid:
		return status.ErrStatus.Details != nil && slices.ContainsFunc(status.ErrStatus.Details.Causes, func(c metav1.StatusCause) bool {
			return c.Field == "metadata.uid"
		})
	case Conflict:
		return slices.ContainsFunc(uidConflicts, func(text string) bool { return strings.Contains(status.ErrStatus.Message, text) })
	}
	return false
}

// IsRemovedVersion reports whether the server failed to apply a custom resource because metadata.managedFields have an entry of a
// version that was removed from its definition. The apply succeeds after the entries are cleared.
func IsRemovedVersion(err error) bool { return failedToApply(err, " invalid group/version: ") }

// mistyped reports whether the server failed to apply an object because of a field that the schema lacks, a value of
// another type, or a time in another format. The server responds with 500.
func mistyped(err error) bool {
	return failedToApply(err, "failed to create typed patch object") || failedToApply(err, "failed to convert new object")
}

// failedToApply reports whether the server responded to an apply with 500 and a message that contains the text.
func failedToApply(err error, text string) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || !e.applied || Status(err) != http.StatusInternalServerError {
		return false
	}
	status, ok := errors.AsType[*apierrors.StatusError](err)
	return ok && strings.Contains(status.ErrStatus.Message, text)
}
