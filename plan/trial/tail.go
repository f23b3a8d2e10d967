package trial

import (
	"slices"
	"strings"
	"sync"
)

// maxTail is the maximum number of lines of the operator's output in an error.
const maxTail = 20

// tail is an [io.Writer] that keeps the last lines. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text string
}

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text += string(p)
	if all := strings.SplitAfter(t.text, "\n"); len(all) > 2*maxTail {
		t.text = strings.Join(all[len(all)-maxTail-1:], "")
	}
	return len(p), nil
}

func (t *tail) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := slices.DeleteFunc(strings.Split(t.text, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
	return all[max(0, len(all)-maxTail):]
}
