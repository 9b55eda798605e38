package sessions

// Aside is something that happened between two turns, for the model: the next turn says it before what the person says.
type Aside struct {
	Text string `json:"text"`
}

func (Aside) kind() string { return "aside" }
