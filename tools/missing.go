package tools

// Missing is a tool, or a whole toolset, that the config wants and that is not there. The model is not told of it;
// people are, with the reason.
type Missing struct {
	Toolset string
	Name    string // of one tool; empty = none of the toolset's
	Reason  string // what is not there and what to do about it, for the operator
}
