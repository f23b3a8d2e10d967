package binary

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	// fetchAttempts is the maximal number of consecutive attempts that receive nothing.
	fetchAttempts = 3
	// fetchBackoff is the pause after the first of them; it doubles.
	fetchBackoff = 500 * time.Millisecond
	// fetchStall is how long a server may send nothing.
	fetchStall = 30 * time.Second
	// connectTimeout bounds the connection to a server, which some networks neither allow nor refuse.
	connectTimeout = 10 * time.Second
	// maxArchive bounds the size of the compressed program, which has about 40 MB.
	maxArchive = 256 << 20
	// megabyte is the unit of the progress.
	megabyte = 1 << 20
)

// errChecksum means that a file is not the one that was released.
var errChecksum = errors.New("the checksum is wrong")

// storeError means that the program cannot be stored on this machine, wherever it comes from.
type storeError struct{ err error }

// Error implements error.
func (e *storeError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *storeError) Unwrap() error { return e.err }

func cannotStore(err error) bool {
	_, ok := errors.AsType[*storeError](err)
	return ok
}

// isFinal reports whether another attempt would end alike.
func isFinal(err error) bool {
	return errors.Is(err, errNotReleased) || errors.Is(err, errRefused) || cannotStore(err)
}

// fetcher downloads the program of a release. A download that was interrupted, even with the process, is
// resumed.
type fetcher struct {
	client  *http.Client
	release release
	cache   string // directory of incomplete downloads
	key     string // key of the program in the cache; the caller must hold its lock
	report  func(Progress)
	stall   time.Duration // time for which a server may send nothing
	limit   int64         // bytes of the archive
	pause   func(ctx context.Context, d time.Duration) error
}

// newFetcher returns a fetcher of a release whose URL isUsable accepts.
func newFetcher(r release, cache, key string, report func(Progress)) *fetcher {
	return &fetcher{
		client: newClient(r.folder), release: r, cache: cache, key: key, report: report,
		stall: fetchStall, limit: maxArchive, pause: sleep,
	}
}

// fetch downloads the program into a file.
func (f *fetcher) fetch(ctx context.Context, out string) error {
	defer f.client.CloseIdleConnections()
	f.report(Progress{Step: StepFetch, Message: "looking for the control plane of " + f.release.version})
	sum, err := f.checksum(ctx)
	if err != nil {
		return err
	}
	partial := filepath.Join(f.cache, partialName(sum, f.key))
	resumed := exists(partial)
	err = f.complete(ctx, partial, sum)
	if errors.Is(err, errChecksum) && resumed {
		err = f.complete(ctx, partial, sum) // the beginning was damaged, and is deleted
	}
	if err != nil {
		return err
	}
	return unpack(partial, out)
}

// checksum returns the checksum of the release. It tries again if the server does not answer well.
func (f *fetcher) checksum(ctx context.Context) (string, error) {
	for failures := 1; ; failures++ {
		sum, err := f.askChecksum(ctx)
		if err == nil || isFinal(err) || failures == fetchAttempts {
			return sum, err
		}
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if err := f.pause(ctx, fetchBackoff<<(failures-1)); err != nil {
			return "", err
		}
	}
}

func (f *fetcher) askChecksum(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, f.stall, fmt.Errorf("the server took more than %s", f.stall))
	defer cancel()
	sum, err := f.release.checksum(ctx, f.client)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("GET %s/%s: %w", f.release.folder, checksumsFile, context.Cause(ctx))
	}
	return sum, err
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// complete downloads the missing part of the archive, and verifies the archive. An archive with another checksum is
// deleted.
func (f *fetcher) complete(ctx context.Context, partial, sum string) error {
	for failures := 0; ; {
		before := size(partial)
		err := f.download(ctx, partial)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if failures++; size(partial) > before {
			failures = 0
		}
		if failures == fetchAttempts || isFinal(err) {
			return err
		}
		if err := f.pause(ctx, fetchBackoff<<max(0, failures-1)); err != nil {
			return err
		}
	}
	got, err := hashFile(partial)
	if err == nil && got != sum {
		err = fmt.Errorf("%s/%s: %w: got %s, want %s", f.release.folder, f.release.archive(), errChecksum, got, sum)
		err = errors.Join(err, os.Remove(partial))
	}
	return err
}

func size(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// download appends to the file what follows its content.
func (f *fetcher) download(ctx context.Context, partial string) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	at := f.release.folder + "/" + f.release.archive()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	from := size(partial)
	if from > 0 {
		req.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	resp, err := f.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	how := os.O_CREATE | os.O_WRONLY
	switch resp.StatusCode {
	case http.StatusOK: // the whole file, although a part was requested
		how, from = how|os.O_TRUNC, 0
	case http.StatusPartialContent:
		if !strings.HasPrefix(resp.Header.Get("Content-Range"), fmt.Sprintf("bytes %d-", from)) {
			return fmt.Errorf("GET %s: the server sent %q instead of what follows byte %d", at, resp.Header.Get("Content-Range"), from)
		}
		how |= os.O_APPEND
	case http.StatusRequestedRangeNotSatisfiable:
		return nil // it is complete; its checksum shows whether it is right
	case http.StatusNotFound:
		return fmt.Errorf("GET %s: %w", at, errNotReleased)
	default:
		return fmt.Errorf("GET %s: %s", at, resp.Status)
	}
	if resp.ContentLength > f.limit-from {
		return f.tooLarge(at)
	}
	file, err := os.OpenFile(partial, how, 0o644)
	if err != nil {
		return &storeError{err}
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	total := resp.ContentLength + from
	if resp.ContentLength < 0 {
		total = 0
	}
	stalled := time.AfterFunc(f.stall, func() { cancel(fmt.Errorf("the server sent nothing for %s", f.stall)) })
	defer stalled.Stop()
	told := int64(-1)
	counted := &countedReader{next: resp.Body, read: func(n int) {
		stalled.Reset(f.stall)
		if from += int64(n); from/megabyte == told {
			return
		}
		told = from / megabyte
		f.report(Progress{
			Step: StepFetch, Done: int(from / megabyte), Total: int((total + megabyte - 1) / megabyte),
			Message: "fetching the control plane of " + f.release.version,
		})
	}}
	if _, err := io.Copy(storer{file}, io.LimitReader(counted, f.limit-from+1)); cannotStore(err) {
		return err
	} else if from > f.limit {
		return errors.Join(f.tooLarge(at), os.Remove(partial))
	} else if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return fmt.Errorf("GET %s: %w", at, err)
	}
	return nil
}

// tooLarge returns the error of an archive that is not the program, whatever its checksum is.
func (f *fetcher) tooLarge(at string) error {
	return fmt.Errorf("GET %s: %w: the archive has more than %d MB", at, errRefused, f.limit/megabyte)
}

// countedReader counts the bytes read.
type countedReader struct {
	next io.Reader
	read func(n int)
}

// Read implements [io.Reader].
func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.next.Read(p)
	if n > 0 {
		r.read(n)
	}
	return n, err
}

// storer writes to a file. Its errors are of type storeError.
type storer struct{ file *os.File }

// Write implements [io.Writer].
func (s storer) Write(p []byte) (int, error) {
	n, err := s.file.Write(p)
	if err != nil {
		err = &storeError{err}
	}
	return n, err
}

func hashFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("verify the control plane: %w", err)
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, file); err != nil {
		return "", fmt.Errorf("verify the control plane: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// sleep pauses unless the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
