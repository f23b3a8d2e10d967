package outbox

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
)

// The numbers are the refusals from which an answer drops a part.
func TestVerdict_ByAnswerPartAndRefusals(t *testing.T) {
	const never, patient = -1, MaxConflicts
	for _, test := range []struct {
		answer                        patchAnswer
		refuses                       bool
		records, changes, pinned, fns int
	}{
		{answerAccepted, false, never, never, never, never},
		{answerGone, false, never, never, never, 0},
		{answerFailed, false, never, never, never, 0},
		{answerRejected, true, never, 0, 0, 0},
		{answerDoubted, true, never, 1, 0, 1},
		{answerConflict, true, never, patient, 0, patient},
		{answerOutdated, true, never, patient, 0, patient},
		{answerDenied, true, never, patient, 0, patient},
	} {
		for about, limit := range map[writtenPart]int{
			theRecords: test.records, theChanges: test.changes, thePinned: test.pinned, theTransformations: test.fns,
		} {
			for _, refusals := range []int{0, 1, 2, patient - 1, patient, patient + 1} {
				want := repeatIt
				switch {
				case limit != never && refusals >= limit:
					want = dropIt
				case test.refuses && about != theRecords:
					want = keepIt
				}
				if got := verdictOn(test.answer, about, refusals); got != want {
					t.Errorf("answer %d about part %d after %d refusals: got %d, want %d", test.answer, about, refusals, got, want)
				}
			}
		}
	}
}

func status(code int32, fields ...string) error {
	details := &metav1.StatusDetails{}
	for _, field := range fields {
		details.Causes = append(details.Causes, metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid, Field: field})
	}
	return fmt.Errorf("patch: %w", &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Details: details}})
}

func TestVerdict_DaemonsDropRefusedPatches(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want bool
	}{
		"success":                         {nil, false},
		"no answer":                       {errors.New("down"), false},
		"trouble of servers":              {status(http.StatusInternalServerError), false},
		"conflict":                        {status(http.StatusConflict), false},
		"denial":                          {status(http.StatusForbidden), false},
		"bad request":                     {status(http.StatusBadRequest), true},
		"invalid object":                  {status(http.StatusUnprocessableEntity, "spec"), true},
		"outdated pinned version":         {fmt.Errorf("%w: %w", errPinned, status(http.StatusConflict)), true},
		"transformation that fails":       {&transformError{errors.New("no")}, true},
		"transformation that panics":      {&handlers.PanicError{}, true},
		"invalid transformed object":      {&transformError{status(http.StatusUnprocessableEntity, "spec")}, true},
		"bad request by a transformation": {&transformError{status(http.StatusBadRequest)}, true},
		"denied transformation":           {&transformError{status(http.StatusForbidden)}, false},
		"outdated transformation":         {&transformError{status(http.StatusConflict)}, false},
	} {
		if got := DropsAll(test.err); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}

func TestPatchAnswer_ByStatusAndContentType(t *testing.T) {
	answer := func(status int, causes ...metav1.StatusCause) error {
		return &apierrors.StatusError{ErrStatus: metav1.Status{Code: int32(status), Details: &metav1.StatusDetails{Causes: causes}}}
	}
	mistake := metav1.StatusCause{Type: metav1.CauseTypeFieldValueInvalid}
	for name, test := range map[string]struct {
		err         error
		merge, json patchAnswer
	}{
		"success":            {nil, answerAccepted, answerAccepted},
		"not found":          {answer(404), answerGone, answerGone},
		"conflict":           {answer(409), answerConflict, answerOutdated},
		"invalid object":     {answer(422, mistake), answerRejected, answerRejected},
		"failed test":        {answer(422), answerDenied, answerOutdated},
		"bad request":        {answer(400), answerDoubted, answerDoubted},
		"forbidden":          {answer(403), answerDenied, answerDenied},
		"too large":          {answer(413), answerRejected, answerRejected},
		"trouble of servers": {answer(500), answerFailed, answerFailed},
		"no answer":          {errors.New("down"), answerFailed, answerFailed},
	} {
		if got := classifyAnswer(test.err, false); got != test.merge {
			t.Errorf("%s of a merge patch: got %d", name, got)
		}
		if got := classifyAnswer(test.err, true); got != test.json {
			t.Errorf("%s of a JSON patch: got %d", name, got)
		}
	}
}
