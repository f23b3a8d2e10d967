package main

import (
	"context"

	"github.com/kopf-dev/kopf/sdk/kopf"
)

// admissionVariable makes the operator have one validating handler, and no others. With "object", it is one without a type.
const admissionVariable = "KOPF_BENCH_ADMISSION"

// checkField denies one value of a field.
func checkField(_ context.Context, a *kopf.Admission[example]) error {
	if a.Object.Spec.Field == "wrong" {
		return kopf.AdmissionError{Message: "change the field", Code: 422}
	}
	return nil
}

// checkObject is checkField without a type.
func checkObject(_ context.Context, a *kopf.Admission[kopf.Object]) error {
	if a.Object.Get("spec.field") == "wrong" {
		return kopf.AdmissionError{Message: "change the field", Code: 422}
	}
	return nil
}
