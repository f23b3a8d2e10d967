package explain

// Tone is the meaning of a piece of text. A theme turns it into colours and attributes; callers name the meaning of a
// text, never its look.
type Tone int

// The tones. Text is the zero value, without emphasis.
const (
	Text     Tone = iota
	Dim           // secondary facts
	Faint         // rules and separators
	Title         // names of the shown things
	Accent        // the current place
	OK            // done, at rest
	Warn          // will be tried again, waits
	Err           // needs the user
	Intended      // intended by a handler: it waits, or denies a request
	Busy          // current activity
	Added         // a value that was added
	Removed       // a value that was removed
	Key           // names of fields in YAML
	Literal       // numbers and the like in YAML
	Inverted      // buttons and the text cursor
	Tones         // the number of tones
)
