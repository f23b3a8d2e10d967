package runner

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// BuildFailure is the error of a failed build. It has the errors of the compiler, the linker or the go command.
type BuildFailure struct{ Errors []BuildError }

func (e *BuildFailure) Error() string {
	lines := make([]string, len(e.Errors))
	for i, line := range e.Errors {
		lines[i] = line.String()
	}
	return strings.Join(lines, "\n")
}

// String returns the error in the compiler's format: "claims.go:49:3: message".
func (e BuildError) String() string {
	if at := e.Position(); at != "" {
		return at + ": " + e.Message
	}
	return e.Message
}

// Position returns the known part of the position: "claims.go:49:3". It is empty without a file.
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

// BuildError is one error of a failed build, usually of the compiler.
type BuildError struct {
	File    string // relative to the module's folder; empty if unknown
	Line    int    // 0 if unknown
	Column  int    // column in bytes, from 1; 0 if unknown
	Message string // message, which may have several lines

	// Source are the lines around the error. SourceAt is the number of the first of these lines.
	Source   []string
	SourceAt int
}

// buildErrors returns the list of errors to show for any error of a build.
func buildErrors(err error) []BuildError {
	if failure, ok := errors.AsType[*BuildFailure](err); ok {
		return failure.Errors
	}
	if signature, ok := errors.AsType[*SignatureError](err); ok {
		return []BuildError{{File: signature.File, Line: signature.Line, Column: signature.Column, Message: "Register is " + signature.Got + "; it must be func(*kopf.Registry)"}}
	}
	return []BuildError{{Message: err.Error()}}
}

func isBuildFailure(err error) bool {
	_, ok := errors.AsType[*BuildFailure](err)
	return ok
}

// position matches "file.go:12:3: message"; the column is optional.
var position = regexp.MustCompile(`^((?:[A-Za-z]:)?[^:\s][^:]*\.[A-Za-z]+):(\d+)(?::(\d+))?: (.*)$`)

// parseBuildErrors parses the output of the go command: a line with a position begins an
// error, indented lines continue it, and "# package" lines are headings.
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
			// The expression matches digits only; a number out of range is left 0.
			e.Line, _ = strconv.Atoi(m[2])
			e.Column, _ = strconv.Atoi(m[3])
		}
		list = append(list, e)
	}
	return list
}

// shortenMissingSums replaces all "missing go.sum entry" errors by a single error. The go command reports an error for
// every package of the SDK, which would hide the user's errors.
func shortenMissingSums(list []BuildError) []BuildError {
	missing := func(e BuildError) bool { return strings.HasPrefix(e.Message, "missing go.sum entry ") }
	if !slices.ContainsFunc(list, missing) {
		return list
	}
	list = slices.DeleteFunc(list, missing)
	return append(list, BuildError{Message: "go.sum lacks entries for modules that the packages need; add them with: go mod tidy"})
}

// explainMissingSDK replaces the go command's advice for a module that lacks the SDK or an optional module of the
// SDK, because go get finds only released modules.
func explainMissingSDK(list []BuildError) []BuildError {
	for i := range list {
		m := missingSDK.FindStringSubmatch(list[i].Message)
		switch {
		case m == nil:
		case slices.Contains(optionalModules, m[1]):
			list[i].Message = fmt.Sprintf("no required module provides sdk/%s, which is a module of its own; add it with: go get %s/%s; or take it from your checkout of kopf with: go work use CHECKOUT/sdk/%[1]s",
				m[1], path.Dir(sdkPackage), m[1])
		default:
			list[i].Message = "no required module provides the SDK; take it from your checkout of kopf with: go work init . CHECKOUT/sdk"
		}
	}
	return list
}

// optionalModules are the folders of the SDK that are separate modules.
var optionalModules = []string{"leaderelection", "metrics"}

var missingSDK = regexp.MustCompile(`^(?:no required module provides|cannot find module providing) package ` + regexp.QuoteMeta(path.Dir(sdkPackage)) + `/(\w+)`)

// isProgress reports whether a line of the go command is about a download, not an error.
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

// addSource adds the surrounding source lines to the errors. File names are relative to
// dir. Errors in unreadable files stay without source.
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
