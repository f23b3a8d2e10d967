package main

import (
	"fmt"
	"regexp"
	"sort"
	"strings"
)

// finding is one place that a rule objects to.
type finding struct {
	rule    *rule
	unit    *unit
	line    int
	message string
}

func (f finding) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", f.unit.file, f.line, f.rule.Name, f.message)
}

// check returns the findings of all rules in all units, ordered by file and line.
func check(rules []*rule, units []unit) []finding {
	var found []finding
	for i := range units {
		u := &units[i]
		for _, r := range rules {
			if r.appliesTo(u) {
				found = append(found, r.check(u)...)
			}
		}
	}
	sort.SliceStable(found, func(i, j int) bool {
		a, b := found[i], found[j]
		if a.unit.file != b.unit.file {
			return a.unit.file < b.unit.file
		}
		return a.line < b.line
	})
	return found
}

func (r *rule) appliesTo(u *unit) bool {
	switch r.Scope {
	case "comment":
		return u.kind.isComment()
	case "field":
		return u.kind == fieldComment
	}
	return true
}

func (r *rule) check(u *unit) []finding {
	if r.Extends == "occurrence" {
		return r.checkOccurrence(u)
	}
	// A phrase may span two lines.
	text := strings.ReplaceAll(u.text, "\n", " ")
	var found []finding
	for _, p := range r.patterns {
		for _, at := range p.FindAllStringIndex(text, -1) {
			if r.excepts(text, at) {
				continue
			}
			args := []any{text[at[0]:at[1]]}
			if r.Extends == "substitution" {
				args = []any{p.instead, text[at[0]:at[1]]}
			}
			found = append(found, r.at(u, at[0], args...))
		}
	}
	return found
}

// excepts reports whether a match is part of an exception in the text.
func (r *rule) excepts(text string, match []int) bool {
	for exception := range r.Exceptions {
		for from := 0; ; {
			i := strings.Index(text[from:], exception)
			if i < 0 {
				break
			}
			if from += i; from <= match[0] && match[1] <= from+len(exception) {
				return true
			}
			from++
		}
	}
	return false
}

func (r *rule) checkOccurrence(u *unit) []finding {
	var found []finding
	for _, s := range sentences(u.text) {
		n := 0
		for _, p := range r.patterns {
			n += len(p.FindAllStringIndex(u.text[s[0]:s[1]], -1))
		}
		if n > r.Max {
			found = append(found, r.at(u, s[0]))
		}
	}
	return found
}

func (r *rule) at(u *unit, offset int, args ...any) finding {
	message := r.Message
	if len(args) > 0 && strings.Contains(message, "%s") {
		message = fmt.Sprintf(message, args[:min(len(args), strings.Count(message, "%s"))]...)
	}
	return finding{rule: r, unit: u, line: u.line + strings.Count(u.text[:offset], "\n"), message: message}
}

// sentenceEnd matches the space between two sentences, and the empty line between two paragraphs.
var sentenceEnd = regexp.MustCompile(`[.!?][)"']?\s+[A-Z"'(\[]|\n\s*\n`)

// sentences returns the offsets of the sentences of a text.
func sentences(text string) [][2]int {
	var all [][2]int
	start := 0
	for _, end := range sentenceEnd.FindAllStringIndex(text, -1) {
		stop := end[1]
		if text[end[0]] != '\n' {
			stop-- // the capital belongs to the next sentence
		}
		all = append(all, [2]int{start, stop})
		start = stop
	}
	if start < len(text) {
		all = append(all, [2]int{start, len(text)})
	}
	return all
}
