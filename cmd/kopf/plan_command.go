package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kopf-dev/kopf/plan/trial"
)

// pythonFinalizer is the default name of the finalizer of Kopf for Python.
const pythonFinalizer = "kopf.zalando.org/KopfFinalizerMarker"

// foreignBuild returns the program of a shell command, with the folders that it can read in a box.
func foreignBuild(command, dir string, shown []string) (*planBuild, error) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		return nil, fmt.Errorf("--against-command needs a shell: %w", err)
	}
	return &planBuild{name: command, command: command, binary: shell, dir: dir, shown: append(installedAt(command, dir), shown...)}, nil
}

// failed adds the name of the build to the error of its run, in a box or outside.
func (b *planBuild) failed(err error, boxed bool) error {
	if _, ok := errors.AsType[*trial.ExitError](err); ok && b.command != "" {
		err = fmt.Errorf("%w\nthe program must find its cluster by $KUBECONFIG", err)
		if boxed {
			err = fmt.Errorf("%w; in the box, your home folder has nothing but the current folder and the installation of the program: --visible shows more folders", err)
		}
	}
	return fmt.Errorf("%s: %w", b.name, err)
}

// findVisible checks the folders of --visible, and makes their paths absolute.
func (f *planFlags) findVisible() error {
	for i, folder := range f.visible {
		path, err := filepath.Abs(folder)
		if err != nil {
			return usagef("--visible=%s: %w", folder, err)
		}
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return usagef("--visible: %w", err)
		case !info.IsDir():
			return usagef("--visible=%s: want a folder", folder)
		case hasHome(path):
			return usagef("--visible=%s: your home folder is in it, with your credentials; name the folders that the operator needs", folder)
		}
		f.visible[i] = path
	}
	return nil
}

// maxInstalled limits the number of programs that [installedAt] looks at, because a symlink or an interpreter can lead to itself.
const maxInstalled = 100

// installedAt returns the folders of the programs that a shell command names, with the virtual environments, the installations of Python, and
// the folders of the interpreters. It leaves out folders that no box hides.
func installedAt(command, dir string) []string {
	var programs, folders []string
	for _, word := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>'\"`=$", r) }) {
		if strings.Contains(word, "/") && !filepath.IsAbs(word) {
			word = filepath.Join(dir, word)
		}
		if path, err := exec.LookPath(word); err == nil {
			programs = append(programs, path)
		}
	}
	for i := 0; i < len(programs) && i < maxInstalled; i++ {
		program := programs[i]
		bin := filepath.Dir(program)
		root := filepath.Dir(bin)
		folders = append(folders, bin)
		if target, err := os.Readlink(program); err == nil {
			if !filepath.IsAbs(target) {
				target = filepath.Join(bin, target)
			}
			programs = append(programs, target)
		} else if interpreter := interpreterOf(program); interpreter != "" {
			programs = append(programs, interpreter)
		}
		if base, ok := virtualEnvironment(root); ok {
			folders = append(folders, root)
			programs = append(programs, filepath.Join(base, "python3"))
		}
		if libraries, err := filepath.Glob(filepath.Join(root, "lib", "python3*")); err == nil && len(libraries) > 0 {
			folders = append(folders, filepath.Join(root, "lib"))
		}
		if info, err := os.Stat(filepath.Join(root, "libexec", "pyenv")); err == nil && !info.IsDir() {
			folders = append(folders, root) // pyenv finds the program in its other folders
		}
	}
	slices.Sort(folders)
	return slices.DeleteFunc(slices.Compact(folders), func(folder string) bool {
		info, err := os.Stat(folder)
		return err != nil || !info.IsDir() || hasHome(folder) || !isHidden(folder)
	})
}

// isHidden reports whether a folder, or a symlink on the way to it, is in a folder that is empty in boxes.
func isHidden(folder string) bool {
	return slices.ContainsFunc(append(homes(), "/tmp", "/run"), func(empty string) bool {
		return isWithin(folder, empty) || strings.HasPrefix(folder, filepath.Clean(empty)+"/")
	})
}

// interpreterOf returns the path of the interpreter of a script; empty for other programs.
func interpreterOf(program string) string {
	file, err := os.Open(program)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // the file is only read
	line, err := bufio.NewReaderSize(file, 256).ReadSlice('\n')
	rest, isScript := strings.CutPrefix(string(line), "#!")
	words := strings.Fields(rest)
	if err != nil || !isScript || len(words) == 0 {
		return ""
	}
	if filepath.Base(words[0]) != "env" {
		return words[0]
	}
	for _, word := range words[1:] {
		if path, err := exec.LookPath(word); err == nil {
			return path
		}
	}
	return ""
}

// virtualEnvironment returns the folder of the Python that a virtual environment is made from; false if the folder has none.
func virtualEnvironment(root string) (base string, ok bool) {
	text, err := os.ReadFile(filepath.Join(root, "pyvenv.cfg"))
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(line, "="); strings.TrimSpace(name) == "home" {
			base = strings.TrimSpace(value)
		}
	}
	return base, true
}
