package admission

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kopf-dev/kopf/sdk/internal/handlers"
	"github.com/kopf-dev/kopf/sdk/internal/patch"
)

// Response is the answer to a review.
type Response struct {
	Allowed  bool
	Code     int    // HTTP status of a denial
	Message  string // message of a denial
	Warnings []string
	Patch    []patch.Op
}

// Respond returns the response for the outcome of handlers: errs are the errors of the failed handlers. The response
// of a denial has the patch too, but the API server ignores it.
func Respond(errs []error, warnings []string, ops []patch.Op) Response {
	r := Response{Allowed: true, Patch: ops}
	for _, warning := range warnings {
		if warning = singleLine(warning); warning != "" {
			r.Warnings = append(r.Warnings, warning)
		}
	}
	if err := Choose(errs); err != nil {
		r.Allowed, r.Code, r.Message = false, codeOf(err), cut(handlers.ErrorText(err), maxMessage)
	}
	return r
}

// maxMessage is the number of bytes to which the messages of denials are shortened.
const maxMessage = 8 << 10

// cut shortens a text, not inside of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// singleLine replaces control characters: the API server drops warnings that have any.
func singleLine(text string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "�")))
}

// priorities are the kinds of errors, those that are reported first; all others come last.
var priorities = map[handlers.ErrorKind]int{
	handlers.KindAdmission: 4,
	handlers.KindPermanent: 3, handlers.KindTimeout: 3, handlers.KindRetries: 3,
	handlers.KindTemporary: 2,
}

// Choose returns the error that is reported: a denial, else a permanent error, else a temporary error, else any other
// error. Among equal kinds it returns the first error. It returns nil without errors.
func Choose(errs []error) error {
	var chosen error
	best := -1
	for _, err := range errs {
		if err == nil {
			continue
		}
		if priority := priorities[handlers.ErrorKindOf(err)]; priority > best {
			chosen, best = err, priority
		}
	}
	return chosen
}

// codeOf returns the HTTP status of a denial. Codes outside of the error range would not deny anything.
func codeOf(err error) int {
	for e := range handlers.ErrorChain(err) {
		if d, ok := e.(handlers.Denial); ok { //nolint:errorlint // this is a walk over the chain
			if code := d.KopfCode(); code >= badRequest && code < endOfErrors {
				return code
			}
			break
		}
	}
	return internalServerError
}

type wireResponse struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Response   struct {
		UID       string      `json:"uid"`
		Allowed   bool        `json:"allowed"`
		Warnings  []string    `json:"warnings,omitempty"`
		Patch     []byte      `json:"patch,omitempty"` // patch in base64
		PatchType string      `json:"patchType,omitempty"`
		Status    *wireStatus `json:"status,omitempty"`
	} `json:"response"`
}

type wireStatus struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

// Encode returns the JSON of the response to a review of a version, which defaults to the preferred one.
func (r *Response) Encode(apiVersion, uid string) ([]byte, error) {
	wire := wireResponse{APIVersion: cmp.Or(apiVersion, group+"/"+Versions[0]), Kind: reviewKind}
	to := &wire.Response
	to.UID, to.Allowed, to.Warnings = uid, r.Allowed, r.Warnings
	if len(r.Patch) > 0 {
		text, err := json.Marshal(r.Patch)
		if err != nil {
			return nil, fmt.Errorf("encode the patch: %w", err)
		}
		to.Patch, to.PatchType = text, "JSONPatch"
	}
	if !r.Allowed {
		to.Status = &wireStatus{Message: r.Message, Code: r.Code}
	}
	return json.Marshal(wire)
}
