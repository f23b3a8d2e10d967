package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// TokenVariable is the environment variable with the token of inspectors at TCP addresses, for operators and clients that
// share no files, for example in containers. Without it, each operator generates a token.
const TokenVariable = "KOPF_INSPECTOR_TOKEN"

// TokenFile returns the file in which the operator at a port of this machine keeps its token. The folder belongs to
// the user. It is the first of these that is known: $XDG_RUNTIME_DIR, the cache folder, and a separate folder in the folder for
// temporary files. TokenFile creates the folder, and returns an error if other users have access. Clients read all three
// folders.
func TokenFile(port string) (string, error) {
	var err error
	for _, dir := range tokenFolders() {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			continue
		}
		if err := checkTokenFolder(dir); err != nil {
			return "", err
		}
		return tokenIn(dir, port), nil
	}
	return "", fmt.Errorf("inspector: create a folder for its token: %w; set %s instead", err, TokenVariable)
}

// tokenFolders returns the folders for tokens, by preference. An operator and a client of the same user may prefer different
// folders, because services and containers are started without some of the variables.
func tokenFolders() []string {
	var folders []string
	if runtime := os.Getenv("XDG_RUNTIME_DIR"); runtime != "" {
		folders = append(folders, filepath.Join(runtime, "kopf", "inspectors"))
	}
	if cache, err := os.UserCacheDir(); err == nil {
		folders = append(folders, filepath.Join(cache, "kopf", "inspectors"))
	}
	return append(folders, filepath.Join(os.TempDir(), "kopf-inspectors-"+strconv.Itoa(os.Geteuid())))
}

func tokenIn(dir, port string) string { return filepath.Join(dir, port+".token") }

// checkTokenFolder returns an error if other users have access to a folder.
func checkTokenFolder(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("inspector: %w", err)
	}
	if !info.IsDir() || !isPrivate(info) {
		return fmt.Errorf("inspector: others have access to %s, which is for tokens; remove it, or set %s", dir, TokenVariable)
	}
	return nil
}

// token is a client's token, and a description of its origin.
type token struct{ text, origin string }

// tokenOf returns the token for the operator at a port. If no token is found, the text is empty, and the operator rejects the
// request.
func tokenOf(port string) (token, error) {
	if text := os.Getenv(TokenVariable); text != "" {
		return token{text, "the token sent is the value of " + TokenVariable}, nil
	}
	folders := tokenFolders()
	found := token{origin: fmt.Sprintf("there is no %s.token in %s", port, strings.Join(folders, ", "))}
	var newest time.Time
	var failed []error
	for _, dir := range folders {
		text, written, err := readToken(dir, port)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			failed = append(failed, err)
		case newest.IsZero() || written.After(newest): // an older token belongs to a killed operator
			newest, found = written, token{text, "the token sent is from " + tokenIn(dir, port)}
		}
	}
	if newest.IsZero() && len(failed) > 0 {
		return token{}, errors.Join(failed...)
	}
	return found, nil
}

// readToken returns the token in a folder, and the time when it was written.
func readToken(dir, port string) (string, time.Time, error) {
	if err := checkTokenFolder(dir); err != nil {
		return "", time.Time{}, err
	}
	path := tokenIn(dir, port)
	info, err := os.Stat(path)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("inspector: read its token: %w", err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", time.Time{}, fmt.Errorf("inspector: read its token: %w", err)
	}
	return strings.TrimSpace(string(text)), info.ModTime(), nil
}
