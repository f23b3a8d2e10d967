package parts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/kopf-dev/kopf/runner"
)

// applyPrefix is the start of the palette's command that applies one file, such as "apply config/crd.yaml".
const applyPrefix = "apply "

// ApplyFile returns the action that asks which file is to be applied.
func ApplyFile(s *Screen, unavailable string) Action {
	return Action{
		Binding: Key("M", ""), Name: "apply one file", Column: Act, Unavailable: unavailable,
		Do: func() tea.Msg { return Ask{NewPalette(s.State.Dir, applyPrefix)} },
	}
}

// applying returns the commands for the files and folders that complete a path. The action is the action of
// [ApplyFile].
func (d *Palette) applying(typed string, action *Action) []Action {
	if action == nil {
		return nil
	}
	var all []Action
	for _, path := range completions(d.dir, typed) {
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(d.dir, path)
		}
		all = append(all, Action{
			Name: applyPrefix + path, Column: Act, Unavailable: action.Unavailable,
			Do: func() tea.Msg {
				return Request{What: "applied " + path, Intent: runner.Intent{Kind: runner.IntentApply, Value: full}}
			},
		})
	}
	return all
}

// completions returns the manifests and folders whose paths begin with a text. A path that is complete comes first.
func completions(dir, typed string) []string {
	folder, begin := filepath.Split(typed)
	where := folder
	if !filepath.IsAbs(where) {
		where = filepath.Join(dir, where)
	}
	entries, err := os.ReadDir(where)
	if err != nil {
		return nil // nothing completes the path of a folder that cannot be read
	}
	var files, folders []string
	for _, e := range entries {
		name := e.Name()
		switch {
		case !strings.HasPrefix(name, begin) || strings.HasPrefix(name, "."):
		case e.IsDir():
			folders = append(folders, folder+name+string(filepath.Separator))
		case slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			files = append(files, folder+name)
		}
	}
	all := append(files, folders...)
	if begin == "" && folder != "" {
		all = append([]string{folder}, all...)
	}
	return all
}
