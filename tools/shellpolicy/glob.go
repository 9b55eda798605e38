package shellpolicy

import "slices"

// matchesAny tells whether one of the globs matches a whole text.
func matchesAny(globs []string, text string) bool {
	return slices.ContainsFunc(globs, func(g string) bool { return g != "" && globMatch(g, text) })
}

// globMatch matches a whole text: "*" stands for any text, slashes too, "?" for one byte. It takes time in proportion to
// the product of the lengths at worst.
func globMatch(glob, text string) bool {
	g, t, star, from := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case g < len(glob) && glob[g] == '*':
			star, from = g, t
			g++
		case g < len(glob) && (glob[g] == '?' || glob[g] == text[t]):
			g++
			t++
		case star >= 0:
			from++
			g, t = star+1, from
		default:
			return false
		}
	}
	for g < len(glob) && glob[g] == '*' {
		g++
	}
	return g == len(glob)
}
