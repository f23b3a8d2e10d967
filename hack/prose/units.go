package main

import (
	"path"
	"strings"
)

// kind is the place of a text in a file.
type kind string

const (
	exportedComment kind = "exported comment"
	internalComment kind = "internal comment"
	fieldComment    kind = "field comment"
	bodyComment     kind = "comment in a body"
	errorString     kind = "error"
	logMessage      kind = "log message"
	helpText        kind = "help"
	otherString     kind = "string"
	paragraph       kind = "paragraph"
)

func (k kind) isComment() bool {
	return k == exportedComment || k == internalComment || k == fieldComment || k == bodyComment
}

// unit is a text that a reader meets as one piece.
type unit struct {
	kind kind
	file string // slash-separated, relative to the repository
	line int    // number of the first line of text
	name string // the declared name that a comment belongs to; may be empty
	text string // the words, without comment markers and code; keeps the line breaks of the file
}

// pkg returns the package that the baseline counts the unit for. Tests count separately.
func (u *unit) pkg() string {
	dir := path.Dir(u.file)
	if strings.HasSuffix(u.file, "_test.go") {
		return dir + " (tests)"
	}
	return dir
}
