package binary

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"

	gomodule "golang.org/x/mod/module"

	"github.com/kopf-dev/kopf/devcluster/internal/fault"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// ReleasesVar is the environment variable with the URL of a mirror of the releases, or "off" to build the
// program from its source. A mirror has a folder for each version, with the files of the release. It is served with
// https, or with http on this machine, or is a folder of this machine.
const ReleasesVar = "KOPF_RELEASES"

// defaultReleases is where the releases are.
const defaultReleases = "https://github.com/kopf-dev/kopf/releases/download"

// noReleases is the value of ReleasesVar that turns them off.
const noReleases = "off"

// checksumsFile lists the SHA-256 of all files of a release.
const checksumsFile = "checksums.txt"

// maxChecksums bounds the list of checksums.
const maxChecksums = 1 << 20

// release is where the built program of a version is.
type release struct {
	folder  string // URL
	version string
}

// checkReleases returns an error unless a value of ReleasesVar can be used.
func checkReleases(base string) error {
	if base == "" || base == noReleases {
		return nil
	}
	u, err := url.Parse(base)
	if err == nil && isUsable(u) {
		return nil
	}
	if err == nil && u.Scheme == "http" && u.Hostname() != "" {
		return &fault.Error{
			Kind:    fault.ErrInvalid,
			Message: fmt.Sprintf("%s is set to %q, where anything in between could replace the program and its checksum", ReleasesVar, printable.WithoutPasswords(base)),
			Next:    "use https, or http on this machine (http://localhost:8080), or a folder (file:///srv/kopf)",
		}
	}
	return &fault.Error{
		Kind:    fault.ErrInvalid,
		Message: fmt.Sprintf("%s is set to %q, which is no URL of a mirror", ReleasesVar, printable.WithoutPasswords(base)),
		Next:    "use one such as https://mirror.example.com/kopf or file:///srv/kopf, or \"off\" to build from source, or unset it",
	}
}

// releaseOf returns the release of a version; false if there is none, or if releases are turned off.
func releaseOf(version, base string) (release, bool) {
	if base == "" {
		base = defaultReleases
	}
	if version == "" || base == noReleases || gomodule.IsPseudoVersion(version) {
		return release{}, false
	}
	return release{folder: strings.TrimRight(base, "/") + "/" + url.PathEscape(version), version: version}, true
}

// archive returns the name of the file with the compressed program for this platform.
func (r release) archive() string {
	return fmt.Sprintf("kopf-controlplane_%s_%s_%s.gz", strings.TrimPrefix(r.version, "v"), runtime.GOOS, runtime.GOARCH)
}

// errNotReleased means that there is no program for the version or the platform.
var errNotReleased = errors.New("there is none")

// checksum returns the SHA-256 of the archive in hexadecimal digits. The error is errNotReleased if the
// release does not have it.
func (r release) checksum(ctx context.Context, client *http.Client) (string, error) {
	at := r.folder + "/" + checksumsFile
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	switch {
	case resp.StatusCode == http.StatusNotFound:
		return "", fmt.Errorf("GET %s: %w", at, errNotReleased)
	case resp.StatusCode != http.StatusOK:
		return "", fmt.Errorf("GET %s: %s", at, resp.Status)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxChecksums+1))
	if err != nil {
		return "", fmt.Errorf("GET %s: %w", at, err)
	}
	if len(body) > maxChecksums {
		return "", fmt.Errorf("GET %s: %w: it has more than %d MB", at, errRefused, maxChecksums/megabyte)
	}
	lines := bufio.NewScanner(bytes.NewReader(body))
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.TrimLeft(name, " *") != r.archive() {
			continue
		}
		if raw, err := hex.DecodeString(sum); err != nil || len(raw) != 32 {
			return "", fmt.Errorf("GET %s: the checksum of %s is malformed", at, r.archive())
		}
		return strings.ToLower(sum), nil
	}
	return "", fmt.Errorf("%s has no checksum of %s: %w", at, r.archive(), errNotReleased)
}
