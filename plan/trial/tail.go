package trial

import (
	"slices"
	"strings"
	"sync"
)

const (
	maxTail  = 20      // maximum number of lines of the operator's output in an error
	maxBytes = 8 << 10 // maximum number of bytes of the kept output
)

// tail is an [io.Writer] that keeps the last lines of at most 16 KiB. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if len(t.text) > 2*maxBytes {
		t.text = append([]byte(nil), t.text[len(t.text)-maxBytes:]...)
	}
	return len(p), nil
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.DeleteFunc(strings.Split(strings.ToValidUTF8(string(t.text), "�"), "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return all[max(0, len(all)-maxTail):]
}
