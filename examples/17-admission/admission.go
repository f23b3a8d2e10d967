// Package admission checks and changes objects before they are stored.
package admission

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// Example has the fields that the handlers read and write.
type Example struct {
	Spec struct {
		Field    string `json:"field"`
		Injected int    `json:"injected,omitempty"`
	} `json:"spec"`
	Status struct {
		Field string `json:"field,omitempty"`
	} `json:"status,omitzero"`
}

// Register registers the handlers. kopf dev and kopf run call it.
func Register(r *kopf.Registry) {
	kex := kopf.Resource("kopf.dev/v1", "kopfexamples")
	kopf.OnValidate(r, kex, tellWhoAsks)
	kopf.OnValidate(r, kex, checkField, kopf.Webhook{Operations: []kopf.Operation{kopf.OperationCreate, kopf.OperationUpdate}})
	kopf.OnValidate(r, kex, refuse, kopf.Field("spec.field"), kopf.Value("not-allowed"))
	kopf.OnValidate(r, kex, compareStatus, kopf.Webhook{Subresource: "*", Operations: []kopf.Operation{kopf.OperationCreate, kopf.OperationUpdate}})
	kopf.OnValidate(r, kex, protect, kopf.Webhook{Operations: []kopf.Operation{kopf.OperationDelete}}, kopf.Labels{"protected": "yes"})
	kopf.OnMutate(r, kex, inject, kopf.Labels{"somelabel": "somevalue"})
	kopf.OnMutate(r, kex, setDefaults, kopf.Webhook{Operations: []kopf.Operation{kopf.OperationCreate}, IgnoreFailures: true})
}

// tellWhoAsks works on any object. Clients have certificates if the server verifies these.
func tellWhoAsks(_ context.Context, a *kopf.Admission[kopf.Object]) error {
	a.Warnf("%s by %s, sent by %s", a.Operation, a.User.Username, a.Header.Get("User-Agent"))
	if a.TLS != nil && len(a.TLS.PeerCertificates) > 0 {
		a.Warnf("the client is %s", a.TLS.PeerCertificates[0].Subject.CommonName)
	}
	return nil
}

// checkField denies with the code 500, as for any error.
func checkField(_ context.Context, a *kopf.Admission[Example]) error {
	if a.Object.Spec.Field == "wrong" {
		return kopf.AdmissionError{Message: "Meh! I don't like it. Change the field."}
	}
	return nil
}

// refuse is called for one value of the field only.
func refuse(context.Context, *kopf.Admission[Example]) error {
	return kopf.AdmissionError{Message: "I'm too lazy anyway. Go away!", Code: 555}
}

// compareStatus is called for changes of the object and of its status.
func compareStatus(_ context.Context, a *kopf.Admission[Example]) error {
	switch {
	case a.Object.Status.Field == a.Object.Spec.Field:
		return nil
	case a.Subresource == "status":
		return kopf.AdmissionError{Message: "status.field MUST be equal to spec.field!", Code: 422}
	}
	a.Warnf("Also set status.field to %q", a.Object.Spec.Field)
	return nil
}

// protect is called before deletions of objects with a label; the API server checks the label.
func protect(_ context.Context, a *kopf.Admission[Example]) error {
	return kopf.AdmissionError{Message: a.Name + " is protected. Remove the label first.", Code: 403}
}

// inject changes objects with a label.
func inject(_ context.Context, a *kopf.Admission[Example]) error {
	kopf.Edit(a.Patch, func(e *Example) { e.Spec.Injected = 123 })
	return nil
}

// setDefaults changes new objects. They are created even if it fails.
func setDefaults(_ context.Context, a *kopf.Admission[Example]) error {
	if a.Object.Spec.Field == "" {
		a.Patch.Set("spec.field", "value")
	}
	return nil
}
