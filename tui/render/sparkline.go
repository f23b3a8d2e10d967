package render

import "strings"

// bars are the heights of a sparkline. Where the locale is not UTF-8, digits take their place.
const bars = "▁▂▃▄▅▆▇█"

// Sparkline draws values as bars in w cells, each relative to the largest one. If there are more values than
// cells, a cell shows the largest of several values. The value 0 is a point.
func Sparkline(values []float64, w int) string {
	if len(values) == 0 || w < 1 {
		return ""
	}
	w = min(w, len(values))
	cells, top := make([]float64, w), 0.0
	for i, v := range values {
		cells[i*w/len(values)] = max(cells[i*w/len(values)], v)
		top = max(top, v)
	}
	heights := []rune(bars)
	var b strings.Builder
	for _, v := range cells {
		if v <= 0 {
			b.WriteRune('·')
			continue
		}
		b.WriteRune(heights[min(len(heights)-1, int(v/top*float64(len(heights))))])
	}
	return b.String()
}
