package kube

import (
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxWarnings limits the number of remembered texts.
const maxWarnings = 256

// warnings remembers the server's warnings, because the server repeats them in every response.
type warnings struct {
	mu     sync.Mutex
	logged map[string]struct{}
}

// first reports whether a text is new. It forgets all texts when there are too many, because a repeated warning is
// better than a lost warning.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.logged[text]; known {
		return false
	}
	if w.logged == nil || len(w.logged) >= maxWarnings {
		w.logged = make(map[string]struct{})
	}
	w.logged[text] = struct{}{}
	return true
}

func (c *Client) warn(header http.Header) {
	texts := header["Warning"]
	if len(texts) == 0 {
		return
	}
	parsed, errs := utilnet.ParseWarningHeaders(texts)
	for _, err := range errs {
		c.options.Logger.Debug("Cannot parse a warning of the API server", "error", err)
	}
	for _, w := range parsed {
		// The API uses no other code than 299.
		if w.Code == 299 && w.Text != "" && c.warnings.first(w.Text) {
			c.options.Logger.Warn(w.Text)
		}
	}
}
