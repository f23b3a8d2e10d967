package kube

import (
	"net/http"
	"sync"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// maxWarnings bounds the texts that are remembered as told.
const maxWarnings = 256

// warnings remembers what the server has warned about, since it repeats itself with
// every request.
type warnings struct {
	mu   sync.Mutex
	told map[string]struct{}
}

// first reports if a text is new. When too many are known it forgets them all: better
// twice than never.
func (w *warnings) first(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.told[text]; known {
		return false
	}
	if w.told == nil || len(w.told) >= maxWarnings {
		w.told = make(map[string]struct{})
	}
	w.told[text] = struct{}{}
	return true
}

func (c *Client) warn(header http.Header) {
	texts := header["Warning"]
	if len(texts) == 0 {
		return
	}
	parsed, errs := utilnet.ParseWarningHeaders(texts)
	for _, err := range errs {
		c.options.Logger.Debug("A warning of the API is not readable", "error", err)
	}
	for _, w := range parsed {
		// 299 is the only code that the API uses, and the only one that is about the request.
		if w.Code == 299 && w.Text != "" && c.warnings.first(w.Text) {
			c.options.Logger.Warn(w.Text)
		}
	}
}
