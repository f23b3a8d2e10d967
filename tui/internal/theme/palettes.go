package theme

var trueDark = palette{
	colours: map[Token]string{
		Dim: rgb(38, "8a93a6"), Faint: rgb(38, "454c5e"), Accent: rgb(38, "7aa2f7"),
		OK: rgb(38, "87b97a"), Warn: rgb(38, "d9a75f"), Err: rgb(38, "ef7a85"), Run: rgb(38, "6cc3d9"),
		Add: rgb(38, "87b97a"), Del: rgb(38, "ef7a85"),
	},
	selection: rgb(48, "262d3f"),
}

var trueLight = palette{
	colours: map[Token]string{
		Dim: rgb(38, "5d6675"), Faint: rgb(38, "c3c9d4"), Accent: rgb(38, "1f55c4"),
		OK: rgb(38, "2b7a33"), Warn: rgb(38, "8f6000"), Err: rgb(38, "bf2a36"), Run: rgb(38, "0a6e86"),
		Add: rgb(38, "2b7a33"), Del: rgb(38, "bf2a36"),
	},
	selection: rgb(48, "e3eaf8"),
}

// The 256 colours are chosen by eye: the nearest ones to the palettes above are greyer
// than what they stand for.
var indexedDark = palette{
	colours: map[Token]string{
		Dim: indexed(38, 246), Faint: indexed(38, 239), Accent: indexed(38, 111),
		OK: indexed(38, 108), Warn: indexed(38, 179), Err: indexed(38, 210), Run: indexed(38, 80),
		Add: indexed(38, 108), Del: indexed(38, 210),
	},
	selection: indexed(48, 236),
}

var indexedLight = palette{
	colours: map[Token]string{
		Dim: indexed(38, 242), Faint: indexed(38, 251), Accent: indexed(38, 26),
		OK: indexed(38, 28), Warn: indexed(38, 94), Err: indexed(38, 124), Run: indexed(38, 24),
		Add: indexed(38, 28), Del: indexed(38, 124),
	},
	selection: indexed(48, 189),
}

// With 16 colours nobody knows what they look like. Blue is left out, because it cannot
// be read on black, and yellow on white for the same reason.
var basicDark = palette{
	colours: map[Token]string{
		Dim: "90", Faint: "90", Accent: "4",
		OK: "32", Warn: "93", Err: "91", Run: "96", Add: "92", Del: "91",
	},
}

var basicLight = palette{
	colours: map[Token]string{
		Dim: "90", Faint: "37", Accent: "4",
		OK: "32", Warn: "35", Err: "31", Run: "36", Add: "32", Del: "31",
	},
}

// Without colours, weight is what is left: every state has its glyph and its word anyway.
var colourless = palette{colours: map[Token]string{Accent: "4", Err: "1"}}
