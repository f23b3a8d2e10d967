package webhook

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestServer_ConfigFileIsAnnouncedAgainWhenItChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "webhooks.json")
	_, authority, err := selfSigned([]string{"x"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	write := func(c ClientConfig) {
		t.Helper()
		if err := c.WriteFile(path); err != nil {
			t.Fatal(err)
		}
	}
	first := ClientConfig{URL: "https://one.example/x", CABundle: authority}
	write(first)
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		announced := make(chan ClientConfig, 10)
		r := &running{server: &Server{ConfigFile: path}, config: first, logger: slog.New(slog.DiscardHandler)}
		var following sync.WaitGroup
		following.Go(func() { r.follow(ctx, first, func(c ClientConfig) { announced <- c }) })
		pass := func() int {
			time.Sleep(configInterval)
			synctest.Wait()
			return len(announced)
		}
		if n := pass(); n != 0 {
			t.Errorf("%d announcements of what was announced", n)
		}
		next := ClientConfig{Service: &Service{Namespace: "a", Name: "b", Port: 443, Path: "/x"}, Lost: "the tunnel has gone"}
		write(next)
		if n := pass(); n != 1 {
			t.Fatalf("%d announcements", n)
		}
		if got := <-announced; !got.same(next) {
			t.Errorf("it announces %+v", got)
		}
		// A file that cannot be read changes nothing.
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if n := pass(); n != 0 {
			t.Errorf("%d announcements of a broken file", n)
		}
		write(first)
		if n := pass(); n != 1 {
			t.Errorf("%d announcements after it", n)
		}
		cancel()
		following.Wait()
	})
}

func TestClientConfig_WriteFileLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		if err := (ClientConfig{URL: "https://x"}).WriteFile(filepath.Join(dir, "w")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (ClientConfig{URL: "https://x"}).WriteFile(filepath.Join(dir, "folder")); err == nil {
		t.Error("a folder is replaced")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
}
