package inspect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// TokenVariable is the environment variable with the token of inspectors at TCP addresses, for operators and
// clients that share no files, such as those in containers. Without it, each operator makes a token of its own.
const TokenVariable = "KOPF_INSPECTOR_TOKEN"

// TokenFile returns the file in which the operator at a port of this machine keeps its token. The folder is that
// of the user: $XDG_RUNTIME_DIR, or else the cache folder, or else one of its own in the folder for temporary
// files. TokenFile creates it, and returns an error if others have access to it.
func TokenFile(port string) (string, error) {
	parent := os.Getenv("XDG_RUNTIME_DIR")
	if parent == "" {
		parent, _ = os.UserCacheDir()
	}
	dir := filepath.Join(parent, "kopf", "inspectors")
	if parent == "" || os.MkdirAll(dir, 0o700) != nil {
		dir = filepath.Join(os.TempDir(), "kopf-inspectors-"+strconv.Itoa(os.Geteuid()))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("inspector: create a folder for its token: %w; set %s instead", err, TokenVariable)
		}
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("inspector: %w", err)
	}
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !isOwn(info) {
		return "", fmt.Errorf("inspector: others have access to %s, which is for tokens; remove it, or set %s", dir, TokenVariable)
	}
	return filepath.Join(dir, port+".token"), nil
}

// tokenOf returns the token for the operator at a port; empty if there is none.
func tokenOf(port string) (string, error) {
	if token := os.Getenv(TokenVariable); token != "" {
		return token, nil
	}
	path, err := TokenFile(port)
	if err != nil {
		return "", err
	}
	token, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // the operator will say what it wants
	}
	if err != nil {
		return "", fmt.Errorf("inspector: read its token: %w", err)
	}
	return strings.TrimSpace(string(token)), nil
}
