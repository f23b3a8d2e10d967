package runner

import (
	"regexp"
	"strconv"
	"strings"
)

// frame matches the second line of a frame in a stack trace.
var frame = regexp.MustCompile(`^\t(.+\.go):(\d+)(?: \+0x[0-9a-f]+)?$`)

// findPanic parses the panic from the standard error of a crashed Go program. The position is the topmost frame in
// dir, the folder of the user's code; it is empty without such a frame. It returns nil if the program did not panic.
func findPanic(lines []string, dir string) *Panic {
	start := -1
	var message string
	for i, line := range lines {
		if rest, ok := strings.CutPrefix(line, "panic: "); ok {
			start, message = i, strings.TrimPrefix(rest, "panic: ") // the value of a panic may be the error of another panic
			break
		}
		if rest, ok := strings.CutPrefix(line, "fatal error: "); ok {
			start, message = i, rest
			break
		}
	}
	if start < 0 {
		return nil
	}
	p := &Panic{}
	trace := start + 1
	for ; trace < len(lines) && !strings.HasPrefix(lines[trace], "goroutine "); trace++ {
		// Messages may have several lines. A panic in a deferred function has several
		// messages; the first one is the cause. The signal line adds nothing.
		if line := lines[trace]; line != "" && line[0] != '\t' && !strings.HasPrefix(line, "[signal ") {
			message += "\n" + line
		}
	}
	p.Message = strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(message, " [recovered]"), " [recovered, repanicked]"))
	for i := trace + 1; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "goroutine ") {
			break // other goroutines did not panic
		}
		m := frame.FindStringSubmatch(lines[i])
		if m == nil || !strings.HasPrefix(m[1], dir+"/") || strings.Contains(m[1], mainFile) {
			continue
		}
		p.File = strings.TrimPrefix(m[1], dir+"/")
		// The expression matches digits only; a number out of range is left 0.
		p.Line, _ = strconv.Atoi(m[2])
		p.Function = functionName(lines[i-1])
		break
	}
	return p
}

// functionName extracts the name from the first line of a frame, such as
// "example.com/op/claims.(*T).resize(0x1, {0x2, 0x3})" or "created by main.f in goroutine 1".
func functionName(line string) string {
	line = strings.TrimPrefix(line, "created by ")
	line, _, _ = strings.Cut(line, " in goroutine ")
	line = line[strings.LastIndexByte(line, '/')+1:]
	if i := strings.LastIndexByte(line, '('); i > 0 && !strings.HasPrefix(line[i:], "(*") {
		line = line[:i]
	}
	return line
}
