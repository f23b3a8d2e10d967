package binary

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
)

// released is the version that the tests fetch.
const released = "v0.0.7"

// script is a program in place of the control plane, long enough to be interrupted.
var script = "#!/bin/sh\necho fetched\n# " + strings.Repeat("0123456789abcdef", 1<<12) + "\n"

// packed returns the compressed program. It is not really smaller, so that it can be interrupted.
func packed(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.NoCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte(script)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// mirror serves the files of releases from a folder.
type mirror struct {
	dir    string
	sum    string
	served atomic.Int64 // requests for the archive
	ranges []string
	mu     sync.Mutex

	// cut, if positive, ends the connection after so many bytes of the archive, as long as it is not 0.
	cut atomic.Int64
}

func newMirror(t *testing.T) (*mirror, string) {
	t.Helper()
	m := &mirror{dir: t.TempDir()}
	body := packed(t)
	sum := sha256.Sum256(body)
	m.sum = hex.EncodeToString(sum[:])
	r, _ := releaseOf(released, "http://unused")
	put(t, filepath.Join(m.dir, released, r.archive()), string(body), 0o644)
	m.putChecksum(t, m.sum)
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	return m, server.URL
}

func (m *mirror) putChecksum(t *testing.T, sum string) {
	t.Helper()
	r, _ := releaseOf(released, "http://unused")
	other := strings.Repeat("0", 64)
	put(t, filepath.Join(m.dir, released, checksumsFile), other+"  other.tar.gz\n"+sum+"  "+r.archive()+"\n", 0o644)
}

func (m *mirror) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, ".gz") {
		m.served.Add(1)
		m.mu.Lock()
		m.ranges = append(m.ranges, r.Header.Get("Range"))
		m.mu.Unlock()
		if cut := m.cut.Load(); cut > 0 {
			w = &cutWriter{w, int(cut)}
		}
	}
	http.FileServer(http.Dir(m.dir)).ServeHTTP(w, r)
}

// cutWriter breaks the connection after some bytes.
type cutWriter struct {
	http.ResponseWriter
	left int
}

func (w *cutWriter) Write(p []byte) (int, error) {
	if len(p) <= w.left {
		w.left -= len(p)
		return w.ResponseWriter.Write(p)
	}
	if _, err := w.ResponseWriter.Write(p[:w.left]); err != nil {
		return 0, err
	}
	w.ResponseWriter.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// newReleasedFinder returns a finder of a released kopf. Its source can be built from a module proxy if
// there are files.
func newReleasedFinder(t *testing.T, releases string, files map[string]string) finder {
	t.Helper()
	f := newFinder(t, nil)
	f.source, f.releases = source{version: released}, releases
	t.Setenv("GOPROXY", "off")
	if files != nil {
		t.Setenv("GOPROXY", "file://"+proxy(t, sourceModule, released, files))
	}
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOFLAGS", "-modcacherw") // so that the test can clean up
	t.Setenv("GOMODCACHE", t.TempDir())
	return f
}

// testFetcher returns the fetcher of a finder, without pauses.
func testFetcher(t *testing.T, f finder, url string) *fetcher {
	t.Helper()
	if err := os.MkdirAll(f.cache, 0o755); err != nil {
		t.Fatal(err)
	}
	fetch := newFetcher(release{url + "/" + released, released}, f.cache, f.key(t), f.report)
	fetch.pause = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return fetch
}

func (f finder) key(t *testing.T) string {
	t.Helper()
	key, err := f.source.key()
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// partial returns the path of the archive that is not complete.
func (f finder) partial(t *testing.T, sum string) string {
	t.Helper()
	return filepath.Join(f.cache, partialName(sum, f.key(t)))
}

func expectNoPartials(t *testing.T, f finder) {
	t.Helper()
	if left, err := filepath.Glob(filepath.Join(f.cache, partialPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left (%v)", left, err)
	}
	if left, err := filepath.Glob(filepath.Join(f.cache, buildPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("%q are left (%v)", left, err)
	}
}

func TestFetch_ReleasedProgramOnce(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	var last Progress
	f.report = func(p Progress) { last = p }
	for range 2 {
		program, err := f.find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join(f.cache, released+"-"+runtime.GOOS+"-"+runtime.GOARCH, programName); program != want {
			t.Errorf("it is at %s", program)
		}
		if got := run(t, program); got != "fetched" {
			t.Errorf("got %q", got)
		}
	}
	if n := m.served.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
	if last.Step != StepFetch || last.Total != 1 {
		t.Errorf("the last step is %+v", last)
	}
	expectNoPartials(t, f)
}

func TestFetch_MirrorInFolder(t *testing.T) {
	m, _ := newMirror(t)
	f := newReleasedFinder(t, "file://"+m.dir, nil)
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "fetched" {
		t.Errorf("got %q", got)
	}
}

func TestFetch_WrongChecksumBuilds(t *testing.T) {
	m, url := newMirror(t)
	m.putChecksum(t, strings.Repeat("a", 64))
	f := newReleasedFinder(t, url, small)
	var messages []string
	f.report = func(p Progress) { messages = append(messages, p.Message) }
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "hello" {
		t.Errorf("the program is %q, not the built one", got)
	}
	if all := strings.Join(messages, "\n"); !strings.Contains(all, "the checksum is wrong: got "+m.sum) || !strings.Contains(all, "building it") {
		t.Errorf("the messages are %s", all)
	}
	expectNoPartials(t, f)
}

func TestFetch_ResumesBrokenConnection(t *testing.T) {
	m, url := newMirror(t)
	m.cut.Store(40_000)
	f := newReleasedFinder(t, url, nil)
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "fetched" {
		t.Errorf("got %q", got)
	}
	if len(m.ranges) < 2 || m.ranges[0] != "" || m.ranges[1] != "bytes=40000-" {
		t.Errorf("the ranges are %q", m.ranges)
	}
	expectNoPartials(t, f)
}

func TestFetch_ResumesInterruptedProcess(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	m.cut.Store(30_000)
	ctx, cancel := context.WithCancel(t.Context())
	fetch := testFetcher(t, f, url)
	fetch.pause = func(ctx context.Context, _ time.Duration) error {
		cancel() // ctrl+c
		return context.Cause(ctx)
	}
	if err := fetch.fetch(ctx, filepath.Join(t.TempDir(), "out")); !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	m.cut.Store(0)
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "fetched" {
		t.Errorf("got %q", got)
	}
	if last := m.ranges[len(m.ranges)-1]; last != "bytes=30000-" {
		t.Errorf("the last range is %q", last)
	}
	expectNoPartials(t, f)
}

func TestFetch_DamagedBeginningIsFetchedAgain(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	put(t, f.partial(t, m.sum), strings.Repeat("x", 1000), 0o644)
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "fetched" {
		t.Errorf("got %q", got)
	}
	if m.served.Load() != 2 {
		t.Errorf("the ranges are %q", m.ranges)
	}
}

func TestFetch_WrongRangeIsNotAppended(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	put(t, f.partial(t, m.sum), "0123456789", 0o644)
	careless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") != "" {
			r.Header.Set("Range", "bytes=5-")
		}
		m.ServeHTTP(w, r)
	}))
	defer careless.Close()
	fetch := testFetcher(t, f, careless.URL)
	err := fetch.fetch(t.Context(), filepath.Join(t.TempDir(), "out"))
	if err == nil || !strings.Contains(err.Error(), "instead of what follows byte 10") {
		t.Errorf("the error is %v", err)
	}
	if body, err := os.ReadFile(f.partial(t, m.sum)); err != nil || string(body) != "0123456789" {
		t.Errorf("the beginning is now %d bytes, %v", len(body), err)
	}
}

func TestFetch_RetriesChecksums(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	var asked atomic.Int64
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, checksumsFile) && asked.Add(1) < fetchAttempts {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		m.ServeHTTP(w, r)
	}))
	defer busy.Close()
	out := filepath.Join(t.TempDir(), "out")
	if err := testFetcher(t, f, busy.URL).fetch(t.Context(), out); err != nil {
		t.Fatal(err)
	}
	if got := run(t, out); got != "fetched" {
		t.Errorf("got %q", got)
	}
}

func TestFetch_SilentServerIsGivenUp(t *testing.T) {
	for _, suffix := range []string{checksumsFile, ".gz"} {
		t.Run(suffix, func(t *testing.T) {
			m, url := newMirror(t)
			f := newReleasedFinder(t, url, nil)
			silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, suffix) {
					m.ServeHTTP(w, r)
					return
				}
				w.Header().Set("Content-Length", "1000")
				w.(http.Flusher).Flush()
				<-r.Context().Done()
			}))
			defer silent.Close()
			fetch := testFetcher(t, f, silent.URL)
			fetch.stall = time.Second
			err := fetch.fetch(t.Context(), filepath.Join(t.TempDir(), "out"))
			if err == nil || !strings.Contains(err.Error(), "the server took") && !strings.Contains(err.Error(), "the server sent nothing") {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestFetch_FullDiskEndsAllAttempts(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("a full disk is played by /dev/full, which this system does not have; run this test on Linux:", err)
	}
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, small)
	if err := os.MkdirAll(f.cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/full", f.partial(t, m.sum)); err != nil {
		t.Fatal(err)
	}
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrDiskFull) || !strings.Contains(err.Error(), f.cache) || !strings.Contains(err.Error(), "free about") {
		t.Errorf("the error is %v", err)
	}
	if n := m.served.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

func TestFetch_KeepsDownloadsOfOtherProcesses(t *testing.T) {
	_, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	sum := strings.Repeat("b", 64)
	running, abandoned := filepath.Join(f.cache, partialName(sum, "v0.0.6-linux-amd64")), filepath.Join(f.cache, partialName(sum, "v0.0.5-linux-amd64"))
	outdated := f.partial(t, sum) // of an archive that was released again
	for _, path := range []string{running, abandoned, outdated} {
		put(t, path, "half", 0o644)
	}
	unlock, err := lock(t.Context(), filepath.Join(f.cache, "v0.0.6-linux-amd64.lock"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := f.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{running: true, abandoned: false, outdated: false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s exists: %v", path, err == nil)
		}
	}
}

func TestFetch_UnusableMirrorIsRefused(t *testing.T) {
	for _, releases := range []string{"/srv/kopf", "file://srv/kopf", "https://", "ftp://mirror.example.com", "mirror.example.com/kopf", "no", "https://me:secret@%zz", "http://me:secret@mirror.example.com/kopf", "http://127.0.0.1.example.com"} {
		f := newReleasedFinder(t, releases, small)
		_, err := f.find(t.Context())
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), ReleasesVar) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", releases, err)
		}
	}
	// A checkout does not fetch.
	f := newFinder(t, small)
	f.releases = "/srv/kopf"
	if _, err := f.find(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestFetch_RedirectsAreNoDowngrade redirects each request for the archive.
func TestFetch_RedirectsAreNoDowngrade(t *testing.T) {
	m, plain := newMirror(t)
	secure := httptest.NewTLSServer(m)
	defer secure.Close()
	r, _ := releaseOf(released, plain)
	file := "/" + released + "/" + r.archive()
	for title, test := range map[string]struct {
		to      string
		secure  bool // the redirecting server
		refused string
	}{
		"https to https":    {secure.URL + file, true, ""},
		"https to http":     {plain + file, true, "which is not https"},
		"https to a file":   {"file://" + m.dir + file, true, "which is not https"},
		"local http to it":  {plain + file, false, ""},
		"local http to far": {"http://mirror.example.com" + file, false, "which is not https"},
		"local to a file":   {"file://" + m.dir + file, false, "which is not https"},
	} {
		t.Run(title, func(t *testing.T) {
			var asked atomic.Int64
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, ".gz") {
					asked.Add(1)
					http.Redirect(w, r, test.to, http.StatusFound)
					return
				}
				m.ServeHTTP(w, r)
			})
			server := httptest.NewUnstartedServer(h)
			if test.secure {
				server.StartTLS()
			} else {
				server.Start()
			}
			defer server.Close()
			fetch := testFetcher(t, newReleasedFinder(t, server.URL, nil), server.URL)
			fetch.client.Transport.(*http.Transport).TLSClientConfig = secure.Client().Transport.(*http.Transport).TLSClientConfig
			out := filepath.Join(t.TempDir(), "out")
			err := fetch.fetch(t.Context(), out)
			switch {
			case test.refused == "" && err != nil:
				t.Error(err)
			case test.refused != "" && (!errors.Is(err, errRefused) || !strings.Contains(err.Error(), test.refused)):
				t.Errorf("the error is %v", err)
			case test.refused != "" && exists(out):
				t.Error("the program was unpacked")
			}
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestFetch_SizeIsBounded(t *testing.T) {
	for title, withLength := range map[string]bool{"announced": true, "endless": false} {
		t.Run(title, func(t *testing.T) {
			m, url := newMirror(t)
			f := newReleasedFinder(t, url, nil)
			large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, ".gz") {
					m.ServeHTTP(w, r)
					return
				}
				if withLength {
					w.Header().Set("Content-Length", fmt.Sprint(int64(4*megabyte)))
				}
				for r.Context().Err() == nil {
					if _, err := w.Write(make([]byte, megabyte/8)); err != nil {
						return
					}
				}
			}))
			defer large.Close()
			fetch := testFetcher(t, f, large.URL)
			fetch.limit = 2 * megabyte
			err := fetch.fetch(t.Context(), filepath.Join(t.TempDir(), "out"))
			if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "more than 2 MB") {
				t.Errorf("the error is %v", err)
			}
			expectNoPartials(t, f)
		})
	}
}

func TestFetch_ChecksumComesBeforeUnpacking(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	r, _ := releaseOf(released, url)
	put(t, filepath.Join(m.dir, released, r.archive()), "this is no archive", 0o644)
	out := filepath.Join(t.TempDir(), "out")
	if err := testFetcher(t, f, url).fetch(t.Context(), out); !errors.Is(err, errChecksum) {
		t.Errorf("the error is %v, although the archive must not be opened yet", err)
	}
	if exists(out) {
		t.Error("something was unpacked")
	}
}

func TestFetch_UnavailableBuilds(t *testing.T) {
	down := httptest.NewServer(nil)
	down.Close()
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }))
	defer broken.Close()
	for title, url := range map[string]string{"no server": down.URL, "not found": empty.URL, "broken": broken.URL} {
		t.Run(title, func(t *testing.T) {
			f := newReleasedFinder(t, url, small)
			program, err := f.find(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := run(t, program); got != "hello" {
				t.Errorf("the program is %q, not the built one", got)
			}
		})
	}
}

func TestFetch_NothingAvailableExplains(t *testing.T) {
	down := httptest.NewServer(nil)
	down.Close()
	f := newReleasedFinder(t, down.URL, nil)
	_, err := f.find(t.Context())
	if !errors.Is(err, fault.ErrBuild) || !strings.Contains(err.Error(), "cannot fetch it either") || !strings.Contains(err.Error(), ReleasesVar) {
		t.Errorf("the error is %v", err)
	}
	t.Setenv("PATH", t.TempDir())
	_, err = f.find(t.Context())
	if !errors.Is(err, fault.ErrNoToolchain) || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("without Go: %v", err)
	}
	expectCleanCache(t, f)
}

func TestFetch_ModuleIsSecondSource(t *testing.T) {
	empty := httptest.NewServer(http.NotFoundHandler())
	defer empty.Close()
	f := newReleasedFinder(t, empty.URL, nil)
	t.Setenv("GOPROXY", "file://"+proxy(t, programModule(), released, map[string]string{packedName: string(packed(t))}))
	program, err := f.find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, program); got != "fetched" {
		t.Errorf("got %q", got)
	}
	expectNoPartials(t, f)
}

func TestFetch_TwoProcessesFetchOnce(t *testing.T) {
	m, url := newMirror(t)
	f := newReleasedFinder(t, url, nil)
	var both sync.WaitGroup
	errs := make([]error, 2)
	for i := range errs {
		both.Go(func() { _, errs[i] = f.find(t.Context()) })
	}
	both.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := m.served.Load(); n != 1 {
		t.Errorf("fetched %d times", n)
	}
}

// TestRelease_HasFetchedNames compares the names with those that the configuration of releases gives the files.
func TestRelease_HasFetchedNames(t *testing.T) {
	body, err := os.ReadFile("../../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Archives []struct {
			ID           string   `json:"id"`
			Formats      []string `json:"formats"`
			NameTemplate string   `json:"name_template"`
		} `json:"archives"`
		Checksum struct {
			NameTemplate string `json:"name_template"`
			Algorithm    string `json:"algorithm"`
		} `json:"checksum"`
	}
	if err := yaml.Unmarshal(body, &config); err != nil {
		t.Fatal(err)
	}
	if config.Checksum.NameTemplate != checksumsFile || config.Checksum.Algorithm != "sha256" {
		t.Errorf("the checksums are %+v", config.Checksum)
	}
	r, _ := releaseOf("v1.2.3", "")
	for _, a := range config.Archives {
		if a.ID != "controlplane" {
			continue
		}
		var name strings.Builder
		values := map[string]string{"Version": "1.2.3", "Os": runtime.GOOS, "Arch": runtime.GOARCH}
		if err := template.Must(template.New("").Parse(a.NameTemplate)).Execute(&name, values); err != nil {
			t.Fatal(err)
		}
		if got := name.String() + "." + a.Formats[0]; got != r.archive() {
			t.Errorf("released is %s, fetched %s", got, r.archive())
		}
		return
	}
	t.Error("the control plane is not released")
}

func TestReleaseOf_ReleasedVersionsOnly(t *testing.T) {
	for version, want := range map[string]bool{
		"v0.2.0": true, "v0.2.0-rc.1": true, "": false, "v0.2.1-0.20260101000000-abcdef123456": false,
	} {
		if _, got := releaseOf(version, ""); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
	if _, got := releaseOf("v0.2.0", noReleases); got {
		t.Error("releases are not turned off")
	}
	r, _ := releaseOf("v0.2.0", "https://mirror.example.com/kopf/")
	if want := "https://mirror.example.com/kopf/v0.2.0"; r.folder != want {
		t.Errorf("got %s", r.folder)
	}
	if want := fmt.Sprintf("kopf-controlplane_0.2.0_%s_%s.gz", runtime.GOOS, runtime.GOARCH); r.archive() != want {
		t.Errorf("got %s", r.archive())
	}
}
