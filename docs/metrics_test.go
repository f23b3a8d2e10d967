package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestMetrics_FromCheckout(t *testing.T) {
	if testing.Short() {
		t.Skip("the test compiles a program with another workspace; run it without -short")
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := []string{"go mod init example.com/hello", "go work init . CHECKOUT/sdk"}
	for _, m := range regexp.MustCompile(`(?m)^    (go work .*)$`).FindAllStringSubmatch(string(page), -1) {
		commands = append(commands, m[1])
	}
	dir := t.TempDir()
	const program = "package hello\n\nimport \"github.com/kopf-dev/kopf/sdk/metrics\"\n\nvar _ = metrics.At\n"
	if err := os.WriteFile(filepath.Join(dir, "hello.go"), []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range append(commands, "go build .") {
		args := strings.Fields(strings.ReplaceAll(command, "CHECKOUT", checkout))
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
	}
}
