package inspect

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// serveWithToken serves a snapshot to those with the token, and returns the address and the port.
func serveWithToken(t *testing.T, text string) (address, port string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(VersionHeader, strconv.Itoa(Version))
		if r.Header.Get("Authorization") != "Bearer "+text {
			http.Error(w, "wrong token", http.StatusUnauthorized)
			return
		}
		if _, err := w.Write([]byte("{}")); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(server.Close)
	where := server.Listener.Addr().String()
	_, port, err := net.SplitHostPort(where)
	if err != nil {
		t.Fatal(err)
	}
	return "tcp:" + where, port
}

// setFolders sets the folder of the session, which may be empty, the home folder, and that for temporary files.
func setFolders(t *testing.T, runtime, home, temporary string) {
	t.Helper()
	t.Setenv("XDG_RUNTIME_DIR", runtime)
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", "")
	t.Setenv("TMPDIR", temporary)
	t.Setenv(TokenVariable, "")
}

// keepToken writes a token as an operator does.
func keepToken(t *testing.T, port, text string, written time.Time) (path string) {
	t.Helper()
	path, err := TokenFile(port)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, written, written); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestToken_FoundInTheFoldersOfOperatorsStartedOtherwise(t *testing.T) {
	runtime, home, temporary := t.TempDir(), t.TempDir(), t.TempDir()
	noFolder := filepath.Join(home, "file", "folder")
	if err := os.WriteFile(filepath.Dir(noFolder), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, operator := range map[string][2]string{
		"with the folder of the session": {runtime, home}, "without it": {"", home}, "without a cache": {"", noFolder},
	} {
		address, port := serveWithToken(t, name)
		setFolders(t, operator[0], operator[1], temporary)
		path := keepToken(t, port, name, time.Now())
		setFolders(t, runtime, home, temporary)
		client, err := Dial(address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Snapshot(t.Context()); err != nil {
			t.Errorf("an operator %s, with its token in %s: %v", name, path, err)
		}
	}
}

func TestToken_NewestIsSent(t *testing.T) {
	runtime, home, temporary := t.TempDir(), t.TempDir(), t.TempDir()
	address, port := serveWithToken(t, "new")
	now := time.Now()
	setFolders(t, runtime, home, temporary)
	keepToken(t, port, "old", now.Add(-time.Hour))
	setFolders(t, "", home, temporary)
	path := keepToken(t, port, "new", now)
	setFolders(t, runtime, home, temporary)
	client, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Snapshot(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.Chtimes(path, now.Add(-2*time.Hour), now.Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, err = client.Snapshot(t.Context())
	if want := "wrong token; the token sent is from " + filepath.Join(runtime, "kopf", "inspectors", port+".token"); err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("the error does not name the file: %v", err)
	}
}

func TestToken_MissingNamesTheFolders(t *testing.T) {
	runtime, home := t.TempDir(), t.TempDir()
	address, port := serveWithToken(t, "known to others")
	setFolders(t, runtime, home, t.TempDir())
	client, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Snapshot(t.Context())
	if want := "there is no " + port + ".token in " + filepath.Join(runtime, "kopf", "inspectors"); err == nil || !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
	if files, err := os.ReadDir(runtime); err != nil || len(files) > 0 {
		t.Errorf("the client has created %v, %v", files, err)
	}
	t.Setenv(TokenVariable, "guessed")
	if _, err := client.Snapshot(t.Context()); err == nil || !strings.HasSuffix(err.Error(), "the token sent is the value of "+TokenVariable) {
		t.Error(err)
	}
}
