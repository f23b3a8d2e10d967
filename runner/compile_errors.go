package runner

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// position matches "file.go:12:3: message", with or without a column.
var position = regexp.MustCompile(`^((?:[A-Za-z]:)?[^:\s][^:]*\.[A-Za-z]+):(\d+)(?::(\d+))?: (.*)$`)

// parseBuildErrors takes the list of the go command apart: lines with a position begin
// an error, indented lines continue it, "# package" are headings.
func parseBuildErrors(text string) []BuildError {
	var list []BuildError
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "# ") || isProgress(line):
			continue
		case line[0] == '\t' || line[0] == ' ':
			if len(list) > 0 {
				list[len(list)-1].Message += "\n" + line
				continue
			}
		}
		e := BuildError{Message: strings.TrimSpace(line)}
		if m := position.FindStringSubmatch(strings.TrimPrefix(line, "go: ")); m != nil {
			e.File, e.Message = filepath.Clean(m[1]), m[4]
			// The expression admits nothing but digits, and a number too large is none.
			e.Line, _ = strconv.Atoi(m[2])
			e.Column, _ = strconv.Atoi(m[3])
		}
		list = append(list, e)
	}
	return list
}

// shortenMissingSums says once what the go command says of each of the packages that the
// SDK consists of, the user's own errors being somewhere among them.
func shortenMissingSums(list []BuildError) []BuildError {
	missing := func(e BuildError) bool { return strings.HasPrefix(e.Message, "missing go.sum entry ") }
	if !slices.ContainsFunc(list, missing) {
		return list
	}
	list = slices.DeleteFunc(list, missing)
	return append(list, BuildError{Message: "go.sum lacks modules that the packages need; add them with: go mod tidy"})
}

// isProgress tells what the go command says while it is still hopeful.
func isProgress(line string) bool {
	for _, prefix := range []string{"go: downloading ", "go: finding ", "go: found "} {
		if strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return false
}

// sourceContext is the number of lines shown before and after an error.
const sourceContext = 2

// addSource reads the lines around the errors, of files relative to the folder. Errors
// in files that cannot be read stay without.
func addSource(list []BuildError, dir string) {
	files := make(map[string][]string)
	for i := range list {
		e := &list[i]
		if e.File == "" || e.Line == 0 {
			continue
		}
		path := e.File
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		lines, ok := files[path]
		if !ok {
			if text, err := os.ReadFile(path); err == nil {
				lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			}
			files[path] = lines
		}
		if e.Line > len(lines) {
			continue
		}
		from := max(e.Line-sourceContext, 1)
		e.SourceAt = from
		e.Source = lines[from-1 : min(e.Line+sourceContext, len(lines))]
	}
}

// BuildFailure is what the compiler, the linker or the go command has to say. Its text
// is their list, and nothing else.
type BuildFailure struct{ Errors []BuildError }

func (e *BuildFailure) Error() string {
	lines := make([]string, len(e.Errors))
	for i, line := range e.Errors {
		lines[i] = line.String()
	}
	return strings.Join(lines, "\n")
}

// String writes the error as the compiler does.
func (e BuildError) String() string {
	if at := e.Position(); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

// Position is where the error is, as far as that is known: "claims.go:49:3".
func (e BuildError) Position() string {
	switch {
	case e.File == "":
		return ""
	case e.Line == 0:
		return e.File
	case e.Column == 0:
		return fmt.Sprintf("%s:%d", e.File, e.Line)
	}
	return fmt.Sprintf("%s:%d:%d", e.File, e.Line, e.Column)
}

// BuildError is one line of the compiler's list.
type BuildError struct {
	File    string // relative to the module's folder, as the compiler has it; may be empty
	Line    int    // 0 if unknown
	Column  int    // in bytes from 1; 0 if unknown
	Message string // may have more than one line

	// Source are the lines around the error, SourceAt being the number of the first.
	Source   []string
	SourceAt int
}

// buildErrors makes any error of a build a list.
func buildErrors(err error) []BuildError {
	if failure, ok := errors.AsType[*BuildFailure](err); ok {
		return failure.Errors
	}
	if bad, ok := errors.AsType[*SignatureError](err); ok {
		return []BuildError{{File: bad.File, Line: bad.Line, Column: bad.Column, Message: "Register is a " + bad.Got + "; it must be func(*kopf.Registry)"}}
	}
	return []BuildError{{Message: err.Error()}}
}

func isBuildFailure(err error) bool {
	_, ok := errors.AsType[*BuildFailure](err)
	return ok
}
