package discord

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// checkMessage holds the form of a new or edited message against the limits.
func checkMessage(form object) *problem {
	var bad []fieldError
	if n := utf8.RuneCountInString(text(form, "content")); n > maxContent {
		bad = append(bad, tooLong("content", maxContent))
	}
	switch v := form["nonce"].(type) {
	case string:
		if utf8.RuneCountInString(v) > maxNonce {
			bad = append(bad, tooLong("nonce", maxNonce))
		}
	case nil, float64:
	default:
		bad = append(bad, fieldError{"nonce", "NONCE_TYPE_INVALID", "Nonce must be a string or an integer."})
	}
	bad = append(bad, checkMentions(form)...)
	bad = append(bad, checkEmbeds(list(form, "embeds"))...)
	bad = append(bad, checkComponents(list(form, "components"))...)
	if len(bad) > 0 {
		return invalidForm(bad...)
	}
	return nil
}

func checkMentions(form object) []fieldError {
	v, ok := form["allowed_mentions"]
	if !ok || v == nil {
		return nil
	}
	allowed, ok := v.(object)
	if !ok {
		return []fieldError{{"allowed_mentions", "DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType"}}
	}
	parse, given := allowed["parse"]
	if _, isList := parse.([]any); given && !isList {
		return []fieldError{{"allowed_mentions.parse", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType"}}
	}
	for i, p := range list(allowed, "parse") {
		if name, _ := p.(string); !slices.Contains([]string{"roles", "users", "everyone"}, name) {
			return []fieldError{badChoice(fmt.Sprintf("allowed_mentions.parse.%d", i), "Value must be one of ('roles', 'users', 'everyone').")}
		}
	}
	return nil
}

func checkEmbeds(embeds []any) []fieldError {
	if len(embeds) > maxEmbeds {
		return []fieldError{tooLong("embeds", maxEmbeds)}
	}
	total := 0
	for i, e := range embeds {
		description := utf8.RuneCountInString(text(e, "description"))
		if description > 4096 {
			return []fieldError{tooLong(fmt.Sprintf("embeds.%d.description", i), 4096)}
		}
		total += description + utf8.RuneCountInString(text(e, "title"))
		for _, f := range list(e, "fields") {
			total += utf8.RuneCountInString(text(f, "name")) + utf8.RuneCountInString(text(f, "value"))
		}
	}
	if total > maxEmbedText {
		return []fieldError{{"embeds", "MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000"}}
	}
	return nil
}

// checkComponents takes rows of buttons: what a bot without Components V2 can send, but for menus.
func checkComponents(rows []any) []fieldError {
	if len(rows) > maxRows {
		return []fieldError{badLength("components", 1, maxRows)}
	}
	var bad []fieldError
	seen := map[string]bool{}
	for i, row := range rows {
		at := fmt.Sprintf("components.%d", i)
		o, _ := row.(object)
		if o["type"] != float64(1) {
			bad = append(bad, badChoice(at+".type", "Value of field \"type\" must be one of (1,)."))
			continue
		}
		buttons := list(row, "components")
		if len(buttons) < 1 || len(buttons) > maxRowButtons {
			bad = append(bad, badLength(at+".components", 1, maxRowButtons))
		}
		for j, b := range buttons {
			bad = append(bad, checkButton(fmt.Sprintf("%s.components.%d", at, j), b, seen)...)
		}
	}
	return bad
}

func checkButton(at string, b any, seen map[string]bool) (bad []fieldError) {
	o, _ := b.(object)
	if o["type"] != float64(2) {
		return []fieldError{badChoice(at+".type", "Value of field \"type\" must be one of (2, 3, 5, 6, 7, 8).")}
	}
	style, _ := o["style"].(float64)
	if style < 1 || style > 6 {
		return []fieldError{badChoice(at+".style", "Value must be one of {1, 2, 3, 4, 5, 6}.")}
	}
	label := text(b, "label")
	if utf8.RuneCountInString(label) > maxLabel {
		bad = append(bad, tooLong(at+".label", maxLabel))
	}
	if label == "" && o["emoji"] == nil {
		bad = append(bad, fieldError{at, "BUTTON_COMPONENT_INVALID_LABEL", "A label or an emoji is required"})
	}
	if style >= 5 {
		return bad
	}
	id := text(b, "custom_id")
	switch n := utf8.RuneCountInString(id); {
	case n == 0:
		bad = append(bad, fieldError{at, "BUTTON_COMPONENT_CUSTOM_ID_REQUIRED", "A custom id required"})
	case n > maxCustomID:
		bad = append(bad, tooLong(at+".custom_id", maxCustomID))
	case seen[id]:
		bad = append(bad, fieldError{at + ".custom_id", "COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated"})
	}
	seen[id] = true
	return bad
}
