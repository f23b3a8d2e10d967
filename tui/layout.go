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

// layout has the user's choices about the screen. A file keeps it between sessions.
type layout struct {
	Resources resources.Layout `json:"resources,omitzero"`

	// HideLog hides the log strip.
	HideLog bool `json:"hideLog,omitempty"`
}

// readLayout reads the choices of the last session. Without a file, it returns the default. After an error, the
// workbench starts with the default and shows the error.
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

// write stores the layout for the next session. If two sessions end, the layout of the last session is kept.
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

// layout returns the present choices of the user.
func (a *app) layout() layout {
	return layout{Resources: a.resources.Layout(), HideLog: !a.logStrip}
}

// restoreLayout restores the user's choices of the last session.
func (a *app) restoreLayout() {
	l, err := readLayout(a.opts.Layout)
	if err != nil {
		a.toast.Failure(a.screen.Now, err.Error())
	}
	a.resources.SetLayout(l.Resources)
	a.logStrip = !l.HideLog
	a.restored = a.layout()
}

// keepLayout stores the user's choices, unless they equal the restored choices.
func (a *app) keepLayout() error {
	if l := a.layout(); a.opts.Layout != "" && l != a.restored {
		return l.write(a.opts.Layout)
	}
	return nil
}
