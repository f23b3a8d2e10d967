package main

import (
	"regexp"
	"strings"
)

var (
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	linkTarget = regexp.MustCompile(`\]\([^)\n]*\)`)
	htmlTag    = regexp.MustCompile(`<[^>\n]*>`)
	newBlock   = regexp.MustCompile(`^\s*(?:[-*+]|\d+\.|#+|>)\s`)
)

// markdownUnits returns the paragraphs, headings, list items and rows of tables of a page, without code.
func markdownUnits(file, text string) []unit {
	var units []unit
	var lines []string
	start := 0
	flush := func() {
		if joined := strings.Join(lines, "\n"); strings.TrimSpace(joined) != "" {
			units = append(units, unit{kind: paragraph, file: file, line: start, text: joined})
		}
		lines = nil
	}
	fence := ""
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		mark := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`~"))]
		isCode := strings.HasPrefix(line, "    ") && len(lines) == 0
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) {
				fence = ""
			}
			continue
		case len(mark) >= 3:
			fence = mark
			flush()
			continue
		case trimmed == "" || isCode:
			flush()
			continue
		}
		if newBlock.MatchString(line) || strings.HasPrefix(trimmed, "|") {
			flush()
		}
		if len(lines) == 0 {
			start = i + 1
		}
		lines = append(lines, maskCode(line))
	}
	flush()
	return units
}

// maskCode replaces code and the targets of links, so that no rule matches in them.
func maskCode(line string) string {
	mask := func(s string) string { return strings.Repeat("_", len(s)) }
	line = inlineCode.ReplaceAllStringFunc(line, mask)
	line = linkTarget.ReplaceAllStringFunc(line, func(s string) string { return "]" + mask(s[1:]) })
	return htmlTag.ReplaceAllStringFunc(line, mask)
}
