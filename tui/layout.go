package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kopf-dev/kopf/tui/pages/resources"
)

// layout is what the user has chosen about the screen. It is kept between sessions.
type layout struct {
	Resources resources.Layout `json:"resources,omitzero"`

	// HideLog hides the log strip.
	HideLog bool `json:"hideLog,omitempty"`
}

// readLayout reads what was chosen in the last session. Without a file, it is the default. A file that cannot be read
// is no reason not to start: the error is shown.
func readLayout(file string) (l layout, err error) {
	if file == "" {
		return l, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &l)
	}
	if err != nil {
		return layout{}, fmt.Errorf("read the layout of the last session: %w", err)
	}
	return l, nil
}

// write keeps the layout for the next session. Of two sessions that end, the last one counts.
func (l layout) write(file string) error {
	text, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("keep the layout: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("keep the layout: %w", err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("keep the layout: %w", err)
	}
	_, err = temporary.Write(append(text, '\n'))
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		return fmt.Errorf("keep the layout: %w", errors.Join(err, os.Remove(temporary.Name())))
	}
	return nil
}

// layout returns what the user has chosen.
func (a *app) layout() layout {
	return layout{Resources: a.resources.Layout(), HideLog: !a.logStrip}
}

// restoreLayout restores what the user has chosen in the last session.
func (a *app) restoreLayout() {
	l, err := readLayout(a.opts.Layout)
	if err != nil {
		a.toast.Failure(a.screen.Now, err.Error())
	}
	a.resources.SetLayout(l.Resources)
	a.logStrip = !l.HideLog
	a.restored = a.layout()
}

// keepLayout keeps what the user has chosen, unless it is what was restored.
func (a *app) keepLayout() error {
	if l := a.layout(); a.opts.Layout != "" && l != a.restored {
		return l.write(a.opts.Layout)
	}
	return nil
}
