package main

import (
	"bytes"
	"fmt"
	"go/scanner"
	"go/token"
	"io"
	"strings"
)

// checkSameCode fails if two revisions differ in more than comments and Markdown. Comments that tools read are code.
func checkSameCode(tree, from, to string, out io.Writer) error {
	list, err := git(tree, "diff", "--name-only", "--no-renames", "-z", from, to)
	if err != nil {
		return err
	}
	var other []string
	same := 0
	for _, file := range strings.Split(strings.TrimSuffix(list, "\x00"), "\x00") {
		switch {
		case file == "":
		case strings.HasSuffix(file, ".md"):
			same++
		case !strings.HasSuffix(file, ".go"):
			other = append(other, file+": neither Go nor Markdown")
		default:
			before, err := git(tree, "show", from+":"+file)
			if err != nil {
				other = append(other, file+": added")
				continue
			}
			after, err := git(tree, "show", to+":"+file)
			if err != nil {
				other = append(other, file+": deleted")
				continue
			}
			if line := firstChange([]byte(before), []byte(after)); line > 0 {
				other = append(other, fmt.Sprintf("%s:%d: other code", file, line))
				continue
			}
			same++
		}
	}
	if len(other) > 0 {
		return fmt.Errorf("%s and %s differ in more than comments:\n\t%s", from, to, strings.Join(other, "\n\t"))
	}
	fmt.Fprintf(out, "%d files differ in comments and Markdown only\n", same)
	return nil
}

// firstChange returns the line of the first token in which two Go files differ, in the second file; 0 if there is none.
func firstChange(before, after []byte) int {
	old, changed := tokens(before), tokens(after)
	for i, t := range changed {
		if i >= len(old) || old[i].text != t.text {
			return t.line
		}
	}
	if len(old) > len(changed) {
		return bytes.Count(after, []byte("\n")) // the end of the file
	}
	return 0
}

type codeToken struct {
	text string
	line int
}

func tokens(text []byte) []codeToken {
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	var all []codeToken
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return all
		}
		if tok == token.COMMENT && !directive.MatchString(literal) {
			continue
		}
		if tok == token.SEMICOLON {
			literal = ";" // a line break may stand for it
		}
		all = append(all, codeToken{tok.String() + " " + literal, file.Line(pos)})
	}
}
