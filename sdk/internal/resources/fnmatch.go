package resources

import "strings"

// fnmatch tells whether a name matches a shell glob as a whole: "*" is anything, "?" is
// one character, "[ab]", "[a-z]" and "[!a]" are one of some characters. Unlike with
// path.Match, an unfinished bracket stands for itself, there are no escapes, and "*"
// matches slashes: so it is in Python, whose operators take the same patterns.
func fnmatch(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	pi, ni := 0, 0
	star, mark := -1, 0 // the last star, and where in the name it has stopped so far
	for ni < len(n) {
		if pi < len(p) && p[pi] == '*' {
			star, mark = pi, ni
			pi++
			continue
		}
		if pi < len(p) {
			if ok, width := matchOne(p[pi:], n[ni]); ok {
				pi += width
				ni++
				continue
			}
		}
		if star < 0 {
			return false
		}
		mark++
		pi, ni = star+1, mark
	}
	return strings.Trim(string(p[pi:]), "*") == ""
}

// matchOne matches one character with the beginning of a pattern that is no star, and
// tells how much of the pattern it took.
func matchOne(p []rune, c rune) (ok bool, width int) {
	switch p[0] {
	case '?':
		return true, 1
	case '[':
		if set, width := bracket(p); width > 0 {
			return inSet(set, c), width
		}
	}
	return p[0] == c, 1
}

// bracket returns what is between the brackets that a pattern begins with, and their
// width; the width is 0 if they are not closed.
func bracket(p []rune) (set []rune, width int) {
	end := 1
	if end < len(p) && p[end] == '!' {
		end++
	}
	if end < len(p) && p[end] == ']' { // as the first of the set, it is a character
		end++
	}
	for end < len(p) && p[end] != ']' {
		end++
	}
	if end >= len(p) {
		return nil, 0
	}
	return p[1:end], end + 1
}

func inSet(set []rune, c rune) bool {
	negated := set[0] == '!'
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		found = found || set[i] == c
	}
	return found != negated
}
