//go:build unix

package inspect

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestToken_FoldersOfOthersAreNotRead(t *testing.T) {
	runtime, home, temporary := t.TempDir(), t.TempDir(), t.TempDir()
	address, port := serveWithToken(t, "known")
	setFolders(t, runtime, home, temporary)
	shared := keepToken(t, port, "planted", time.Now())
	if err := os.Chmod(filepath.Dir(shared), 0o755); err != nil { //nolint:gosec // that is the test
		t.Fatal(err)
	}
	client, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Snapshot(t.Context()); err == nil || !strings.Contains(err.Error(), "others have access to "+filepath.Dir(shared)) {
		t.Error(err)
	}
	setFolders(t, "", home, temporary)
	keepToken(t, port, "known", time.Now().Add(-time.Hour))
	setFolders(t, runtime, home, temporary)
	if _, err := client.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
}
