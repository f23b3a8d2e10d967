package mcpserver

import (
	"os"
	"regexp"
	"testing"
)

var toolRow = regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|(.*)$")

// documentedTools returns the rows of the tools in the documentation, by the names of the tools.
func documentedTools(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]string{}
	for _, m := range toolRow.FindAllStringSubmatch(string(text), -1) {
		tools[m[1]] = m[2]
	}
	return tools
}
