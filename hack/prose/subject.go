package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"
)

const maxSubject = 72

var (
	subjectForm = regexp.MustCompile(`^[a-z0-9_.][\w./{}*, -]*: ([a-z][\w/-]*)`)
	// notImperative matches the past, the progressive and the third person; the words are imperatives that look so.
	notImperative = regexp.MustCompile(`(?:ed|ing|[^su]s)$`)
	imperatives   = regexp.MustCompile(`^(?:need|embed|feed|speed|seed|proceed|exceed|shed|bring|string|ping|bias|alias)$`)
)

func checkSubjectFile(file string, stdin io.Reader) error {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return err
	}
	subject, _, _ := strings.Cut(string(text), "\n")
	return checkSubject(subject)
}

// checkSubject returns an error unless a commit's subject is of the form "area: imperative" and short enough. The
// subjects that git writes for merges, reverts and fixups pass.
func checkSubject(subject string) error {
	for _, own := range []string{"Merge ", "Revert ", "fixup! ", "squash! ", "amend! "} {
		if strings.HasPrefix(subject, own) {
			return nil
		}
	}
	if n := utf8.RuneCountInString(subject); n > maxSubject {
		return fmt.Errorf("the subject has %d characters, of at most %d: %s", n, maxSubject, subject)
	}
	form := subjectForm.FindStringSubmatch(subject)
	if form == nil {
		return fmt.Errorf(`the subject is not "area: imperative", as in "kube: retry lost requests": %s`, subject)
	}
	if verb := form[1]; notImperative.MatchString(verb) && !imperatives.MatchString(verb) {
		return fmt.Errorf("the subject begins with %q, which is no imperative: %s", verb, subject)
	}
	return nil
}
