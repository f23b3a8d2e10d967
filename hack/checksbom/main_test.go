package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const valid = `{"bomFormat": "CycloneDX", "specVersion": "1.6", "serialNumber": "urn:uuid:1",
	"metadata": {"component": {"type": "application", "name": "example.com/x", "version": "v1.0.0", "bom-ref": "main"}},
	"components": [{"type": "library", "name": "k8s.io/client-go", "version": "v0.37.1", "purl": "pkg:golang/k8s.io/client-go@v0.37.1", "bom-ref": "a"}],
	"dependencies": [{"ref": "main"}, {"ref": "a"}]}`

func TestCheck_NamesWhatIsWrong(t *testing.T) {
	for _, test := range []struct{ old, new, want string }{
		{"", "", ""},
		{"CycloneDX", "SPDX", "want CycloneDX"},
		{"urn:uuid:1", "", "serial number"},
		{`"example.com/x"`, `"example.com/y"`, "want a version of example.com/x"},
		{`"v1.0.0"`, `"(devel)"`, "want a version of example.com/x"},
		{`"version": "v0.37.1"`, `"version": ""`, "incomplete"},
		{`"bom-ref": "a"`, `"bom-ref": "main"`, "listed twice"},
		{`{"ref": "a"}`, `{"ref": "b"}`, "the dependency b is not among the components"},
		{"client-go", "api", "k8s.io/client-go is not among its 1 components"},
		{"{", "[", "invalid character"},
	} {
		path := filepath.Join(t.TempDir(), "x.sbom.json")
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(valid, test.old, test.new)), 0o600); err != nil {
			t.Fatal(err)
		}
		err := run([]string{"example.com/x", "k8s.io/client-go", "--", path})
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path)) {
			t.Errorf("%s: %v", test.new, err)
		}
	}
	if err := run([]string{"example.com/x"}); err == nil {
		t.Error("no file, and no error")
	}
}
