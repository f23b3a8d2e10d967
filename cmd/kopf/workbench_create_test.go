package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWorkbench_CreatesObjects creates objects as a person does: from a manifest and like another object, with errors.
func TestWorkbench_CreatesObjects(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	term := p.dev()
	term.shows("✓ settled", "my-hello")

	// The text is no YAML: it is kept, and edited again.
	p.willEdit("s/name: my-hello.*/name: second/; s/size: .*/size: [4/")
	term.types("C")
	term.shows("another hello like default/my-hello", "Hello my-hello", "handlers/sample.yaml:", "a new Hello")
	term.types("j", "Enter") // the manifest: the API server may not have published the schema yet
	term.shows("The object was not created", "this is not the YAML of an object", "Your text is kept in")
	if text := p.draft(); !strings.Contains(text, "name: second") || !strings.Contains(text, "size: [4") {
		t.Errorf("the kept text is %s", text)
	}
	p.willEdit("s/size: .*/size: 4/")
	term.types("e")
	term.shows("✓ created second")
	term.shows("created size=4")
	term.wait(func(screen string) bool { return strings.Count(screen, "✓ settled") == 2 }, "the two objects are not settled")

	// The name is taken: the other object stays as it is, and the text gets another name.
	p.willEdit("s/name: .*-copy/name: second/; s/size: .*/size: 9/")
	term.types("C")
	term.shows("another hello like")
	term.types("Enter")
	term.shows("The object was not created", "409 conflict", `"second" already exists`, "Your text is kept in")
	if text := p.draft(); !strings.Contains(text, "name: second") || !strings.Contains(text, "size: 9") {
		t.Errorf("the kept text is %s", text)
	}
	p.willEdit("s/name: second/name: third/")
	term.types("e")
	term.shows("✓ created third")
	term.shows("default/third", "created size=9")
	term.hides("resized") // the object that had the name was not changed
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(p.dir), "kopf-*.yaml")); err != nil || len(left) > 0 {
		t.Errorf("what was created leaves %v, %v", left, err)
	}
}

// draft returns the text that the workbench keeps.
func (p *project) draft() string {
	p.t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.Dir(p.dir), "kopf-*.yaml"))
	if err != nil || len(files) != 1 {
		p.t.Fatalf("the texts are in %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}
