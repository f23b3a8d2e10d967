// Reviewed is the operator of the soak of reviews, in a process of its own, so that its memory can be measured. It admits
// objects whose value is "right".
package main

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

func main() { kopf.Main(register) }

func register(r *kopf.Registry) {
	kopf.OnValidate(r, kopf.Resource("faults.kopf.dev/v1", "typeds"), checkField, kopf.ID("field"))
	kopf.OnValidate(r, kopf.Resource("faults.kopf.dev/v1", "untypeds"), checkObject, kopf.ID("object"))
}

// typed is a handler's type that leaves out most of an object.
type typed struct {
	Spec struct {
		Value string `json:"value"`
	} `json:"spec"`
}

func checkField(_ context.Context, a *kopf.Admission[typed]) error { return check(a.Object.Spec.Value) }

// checkObject reads a field of an object without a type.
func checkObject(_ context.Context, a *kopf.Admission[kopf.Object]) error {
	return check(a.Object.Get("spec.value"))
}

func check(value any) error {
	if value != "right" {
		return kopf.AdmissionError{Message: "not this value", Code: 422}
	}
	return nil
}
