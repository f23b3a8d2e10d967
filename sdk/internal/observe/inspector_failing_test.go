package observe

import (
	"testing"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

func TestFailingOf_NamesWhatDenies(t *testing.T) {
	const patch = "patch Claim ns/x: PATCH /apis/example.com/v1/claims/x: "
	for message, want := range map[string]inspect.Failing{
		patch + `admission webhook "freeze.example.com" denied the request: it is frozen`:         {DeniedBy: "freeze.example.com", Message: "it is frozen"},
		patch + "admission webhook \"a.b.c\" denied the request: two\nlines":                      {DeniedBy: "a.b.c", Message: "two\nlines"},
		patch + `admission webhook "a.b.c" denied the request without explanation`:                {DeniedBy: "a.b.c", Message: "without explanation"},
		patch + `ValidatingAdmissionPolicy 'limits' with binding 'all' denied request: too large`: {DeniedBy: "limits", Message: "too large"},
		patch + "connection refused": {Message: patch + "connection refused"},
	} {
		if got := *failingOf(message); got != want {
			t.Errorf("%q: %+v", message, got)
		}
	}
}
