package docs

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// followed is the script around the commands of the page. The page cannot clone an unreleased
// checkout, so git takes the copy that the test has made. kopf dev runs until it gets a signal: here,
// when the object is handled. The steps in the workbench are keys and are not followed. shows fails
// unless a file contains an excerpt that the page shows.
const followed = `set -euo pipefail
git() {
	[ "$*" = "clone https://github.com/kopf-dev/kopf" ]
	mv "$CHECKOUT" kopf
}
kopf() {
	if [ "$1" != dev ]; then command kopf "$@"; return; fi
	command kopf "$@" >"$OUTPUT" 2>&1 &
	for _ in $(seq 1200); do
		if grep -q '^[0-9:]* *object *settled .*default/my-hello .*create' "$OUTPUT"; then
			kill -TERM $!
			wait $! || [ $? = 143 ]
			return
		fi
		kill -0 $! || break
		sleep 0.1
	done
	kill -TERM $! || true
	wait $! || true
	cat "$OUTPUT"
	return 1
}
shows() {
	if [[ "$(cat "$1"; echo .)" != *"$2"* ]]; then
		echo "$1 does not contain what the page shows:" >&2
		diff <(printf %s "$2") "$1" >&2 || return 1
	fi
}
cd "$EMPTY"
`

// TestGettingStarted_WorksWordByWord runs the commands of the page in an empty folder, and compares
// the files that the page shows with those that kopf init has written, in the order of the page.
func TestGettingStarted_WorksWordByWord(t *testing.T) {
	if testing.Short() {
		t.Skip("the test builds kopf and starts a control plane; run it without -short")
	}
	// The path of a control plane's folder must be short.
	dir, err := os.MkdirTemp("", "kopf-docs-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	checkout, empty := filepath.Join(dir, "checkout"), filepath.Join(dir, "empty")
	copyCheckout(t, checkout)
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	script, commands := followScript(t, read(t, "getting-started.md"))
	for _, want := range []string{"kopf init hello", "kopf dev ./handlers --apply handlers/", "go test ./handlers"} {
		if !slices.Contains(commands, want) {
			t.Errorf("the page has no command %q: %q", want, commands)
		}
	}
	cmd := exec.CommandContext(t.Context(), "bash", "-c", followed+script)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"GOWORK", "GOFLAGS", "KUBECONFIG", "TERM"}, name)
	})
	cmd.Env = append(cmd.Env, "CHECKOUT="+checkout, "EMPTY="+empty, "OUTPUT="+filepath.Join(dir, "output"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "ok  \texample.com/hello/handlers") {
		t.Errorf("%v\n%s", err, out)
	}
}

var (
	block    = regexp.MustCompile("(?m)^```\\w+\n(?s:(.*?))^```$|^    (.*)$")
	fileName = regexp.MustCompile("`(handlers/[\\w./]+)`")
)

// followScript returns the page as a script that runs the commands and compares the files.
func followScript(t *testing.T, page string) (script string, commands []string) {
	t.Helper()
	var b strings.Builder
	last, excerpts := 0, 0
	for _, m := range block.FindAllStringSubmatchIndex(page, -1) {
		before := page[last:m[0]]
		last = m[1]
		if m[4] >= 0 {
			command := page[m[4]:m[5]]
			commands = append(commands, command)
			fmt.Fprintf(&b, "echo '$ '%s >&2\n%s\n", quote(command), command)
			continue
		}
		// The paragraph before a file names it.
		names := fileName.FindAllStringSubmatch(before, -1)
		if names == nil {
			t.Errorf("no file is named before:\n%s", page[m[0]:m[1]])
			continue
		}
		excerpts++
		fmt.Fprintf(&b, "shows %s %s\n", names[len(names)-1][1], quote(page[m[2]:m[3]]))
	}
	if excerpts < 3 {
		t.Errorf("the page shows %d files", excerpts)
	}
	return b.String(), commands
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// copyCheckout copies what git clone would bring.
func copyCheckout(t *testing.T, to string) {
	t.Helper()
	root := os.DirFS("..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "bin" || path == "dist" || path == ".git":
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, path), 0o700)
		case !d.Type().IsRegular():
			return nil
		}
		body, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, path), body, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}
