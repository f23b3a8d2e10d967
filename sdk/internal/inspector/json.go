package inspector

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/kopf-dev/kopf/sdk/inspect"
	"github.com/kopf-dev/kopf/sdk/printable"
)

// maxIntent is the maximal size of a request with an intent, in bytes.
const maxIntent = 64 << 10

// decodeIntent returns the intent of a request, which must be the whole body, with known fields only: an operator acts on
// nothing that it understands in part.
func decodeIntent(w http.ResponseWriter, r *http.Request) (inspect.Intent, error) {
	var in inspect.Intent
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxIntent))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&in)
	if err == nil {
		if _, next := decoder.Token(); next == nil || !errors.Is(next, io.EOF) {
			err = errors.New("something follows the JSON object; send one intent in each request")
		}
	} else if errors.Is(err, io.EOF) {
		err = errors.New(`the request is empty; send one such as {"kind":"pause"}`)
	}
	if err != nil {
		return inspect.Intent{}, fmt.Errorf("decode the intent: %w", err)
	}
	return in, nil
}

// newEncoder returns an encoder that escapes the characters which terminals do not show as such, for readers that print
// the JSON as it is.
func newEncoder(w io.Writer) *json.Encoder { return json.NewEncoder(escaper{w}) }

// escaper escapes the lines of a [json.Encoder].
type escaper struct{ to io.Writer }

// Write implements [io.Writer].
func (e escaper) Write(line []byte) (int, error) {
	end := len(line)
	if end > 0 && line[end-1] == '\n' {
		end-- // the line break is no part of the JSON
	}
	if _, err := e.to.Write(printable.JSON(line[:end])); err != nil {
		return 0, err
	}
	_, err := e.to.Write(line[end:])
	return len(line), err
}
