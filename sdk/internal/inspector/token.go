package inspector

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/kopf-dev/kopf/sdk/inspect"
)

// token is what readers of a TCP address must have. On Unix sockets, there is none.
type token struct {
	text string // empty if none is needed
	file string // empty if it comes from the environment
}

// newToken makes the token of a listener, and writes it to the file where readers look for it.
func newToken(listener net.Listener) (token, error) {
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		return token{}, nil
	}
	if text := os.Getenv(inspect.TokenVariable); text != "" {
		return token{text: text}, nil
	}
	file, err := inspect.TokenFile(fmt.Sprint(address.Port))
	if err != nil {
		return token{}, err
	}
	t := token{text: rand.Text(), file: file}
	if err := t.write(); err != nil {
		return token{}, fmt.Errorf("inspector: write its token: %w", err)
	}
	return t, nil
}

// write replaces the file of an earlier operator, so that no reader gets half of a token. Temporary files
// are private.
func (t token) write() error {
	file, err := os.CreateTemp(filepath.Dir(t.file), "new-")
	if err != nil {
		return err
	}
	_, err = file.WriteString(t.text + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), t.file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// remove removes the file, unless it is another operator's by now.
func (t token) remove() {
	if text, err := os.ReadFile(t.file); t.file != "" && err == nil && strings.TrimSpace(string(text)) == t.text {
		_ = os.Remove(t.file) // a token of no operator is worthless
	}
}

// isIn reports whether a request has the token.
func (t token) isIn(r *http.Request) bool {
	given, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return t.text == "" || subtle.ConstantTimeCompare([]byte(given), []byte(t.text)) == 1
}

// missing returns the message to readers without a valid token.
func (t token) missing() string {
	if t.file == "" {
		return "wrong token; set " + inspect.TokenVariable + " to the operator's token"
	}
	return "wrong token; read it as the user of the operator, or set " + inspect.TokenVariable + " for both"
}
