package resources

import "strings"

// fnmatch reports whether a name matches a shell glob, as Python's fnmatch: "*" is anything,
// "?" is one character, "[ab]", "[a-z]" and "[!a]" are one of some characters. Unlike with
// [path.Match], an unclosed bracket stands for itself, there are no escapes, and "*" matches
// slashes.
func fnmatch(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	pi, ni := 0, 0
	star, starEnd := -1, 0 // the last star in the pattern, and the end of its match in the name
	for ni < len(n) {
		if pi < len(p) && p[pi] == '*' {
			star, starEnd = pi, ni
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
		starEnd++
		pi, ni = star+1, starEnd
	}
	return strings.Trim(string(p[pi:]), "*") == ""
}

// matchOne matches a character with the beginning of a pattern that is not a star. It
// returns the width of that beginning.
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

// bracket returns the set between the brackets that a pattern begins with, and their width,
// which is 0 if they are not closed.
func bracket(p []rune) (set []rune, width int) {
	end := 1
	if end < len(p) && p[end] == '!' {
		end++
	}
	if end < len(p) && p[end] == ']' { // it is a character if it is the first one of the set
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
