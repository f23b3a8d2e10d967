package runner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindEntryPoint_WrongSignatureReportsExpectedOne(t *testing.T) {
	for signature, got := range map[string]string{
		"()":                                  "func()",
		"(r kopf.Registry)":                   "func(r kopf.Registry)",
		"(r *kopf.Registry) error":            "func(r *kopf.Registry) error",
		"(r *kopf.Registry, n int)":           "func(r *kopf.Registry, n int)",
		"(a, b *kopf.Registry)":               "func(a, b *kopf.Registry)",
		"(r ...*kopf.Registry)":               "func(r ...*kopf.Registry)",
		"[T any](r *kopf.Registry)":           "generic func(r *kopf.Registry)",
		"(r *kopf.Registrar)":                 "func(r *kopf.Registrar)",
		"(r *strings.Builder)":                "func(r *strings.Builder)",
		"(ctx context.Context) (int, error) ": "func(ctx context.Context) (int, error)",
	} {
		t.Run(strings.ReplaceAll(got, "...", ""), func(t *testing.T) {
			dir := tree(t, map[string]string{"a/a.go": "package a\n\nimport \"github.com/kopf-dev/kopf/sdk/kopf\"\n\nfunc Register" + signature + " {}\n"})
			_, err := Load(t.Context(), dir, []string{"./a"})
			bad, ok := errors.AsType[*SignatureError](err)
			if !ok {
				t.Fatal(err)
			}
			if want := (SignatureError{File: "a/a.go", Line: 5, Column: 1, Got: got}); *bad != want {
				t.Error(cmp.Diff(want, *bad))
			}
		})
	}
}
