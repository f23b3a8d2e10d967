// Package render draws text of an exact size for the terminal: styled lines, blocks of
// lines, a table that draws only its visible rows, frames and layers.
//
// Whatever text is put on a line, the line never gets wider or higher than it should: texts
// are cut where there is no space, and control characters are removed.
package render
