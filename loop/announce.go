package loop

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxAnnouncing   = 2_000 // bytes; a longer text is an answer, whatever it ends with
	maxAnnouncement = 300   // runes of the sentence that announces
)

// announcement is how a language says "I am going to do it now", and what in the same sentence makes it something else: a
// condition, a refusal, another day.
type announcement struct{ says, unless *regexp.Regexp }

var announcements = []announcement{
	{ // English
		regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|sure|alright|right|great|good|now|next|first|then|so|and|great question|of course)[,.!:]? +)*` +
			`(?:let me|let's|i'?ll|i will|i am going to|i'?m going to|i am about to|i'?m about to)(?: now| first| next| then| quickly| just| go ahead and| also| start by| begin by| try to)* ` +
			`(?:check|look|read|search|run|open|find|inspect|examine|fix|write|create|update|edit|install|test|try|fetch|list|start|begin|analy[sz]e|review|` +
			`verify|investigate|query|download|explore|scan|execute|do|proceed|continue|implement|add|change|modify|build|take a look|see|get|gather|load|` +
			`call|use|make|dig|reading|checking|looking|running|searching)\b`),
		regexp.MustCompile(`(?i)\b(?:if|once|when|whenever|until|unless|after you|before you|as soon as|tomorrow|later|every|each|next time|in (?:the )?future|` +
			`from now on|not|never|no longer|let me know|see you|use the|shortly after|your (?:reply|answer|confirmation|permission))\b`),
	},
	{ // German
		regexp.MustCompile(`(?i)^(?:(?:ok(?:ay)?|gut|alles klar|klar|so|also|und)[,.!:]? +)*` +
			`(?:(?:(?:ich|dann|jetzt|nun|zuerst|zunächst|als nächstes|gleich) (?:ich )?(?:schaue|sehe|prüfe|überprüfe|lese|suche|öffne|führe|starte|teste|erstelle|` +
			`schreibe|behebe|ändere|hole|lade|untersuche|analysiere|probiere)\b)|` +
			`(?:(?:ich|dann|jetzt|nun|zuerst|zunächst|als nächstes|gleich) (?:werde|will)\b|lass(?:en sie)? (?:mich|uns)\b).*(?:schauen|ansehen|nachsehen|prüfen|lesen|` +
			`suchen|öffnen|ausführen|starten|testen|erstellen|schreiben|beheben|ändern|holen|laden|untersuchen|analysieren|probieren|anpassen|beginnen)$)`),
		regexp.MustCompile(`(?i)\b(?:wenn|falls|sobald|sofern|bevor|nachdem|nicht|nie|kein\w*|morgen|später|jede\w*|künftig|in zukunft|bescheid|wissen|` +
			`ich (?:sehe|lese),? dass)\b`),
	},
	{ // French
		regexp.MustCompile(`(?i)^(?:(?:ok|bien|d'accord|maintenant|ensuite|d'abord|alors|et)[,.!:]? +)*(?:je vais|laisse[zr]?-moi)(?: maintenant| d'abord| ensuite)* ` +
			`(?:vérifier|regarder|lire|chercher|rechercher|exécuter|lancer|ouvrir|corriger|écrire|créer|modifier|tester|essayer|analyser|examiner|installer|mettre à jour|consulter|commencer)`),
		regexp.MustCompile(`(?i)(?:\b(?:si|quand|lorsque|dès que|une fois|pas|jamais|demain|plus tard|chaque)\b)`),
	},
	{ // Spanish
		regexp.MustCompile(`(?i)^(?:(?:ok|bien|vale|de acuerdo|ahora|primero|luego|entonces|y)[,.!:]? +)*(?:voy a|déjame|permíteme|vamos a)(?: ahora| primero)* ` +
			`(?:comprobar|revisar|verificar|mirar|leer|buscar|ejecutar|abrir|corregir|arreglar|escribir|crear|modificar|probar|analizar|examinar|instalar|actualizar|consultar|empezar)`),
		regexp.MustCompile(`(?i)\b(?:si|cuando|una vez|no|nunca|mañana|más tarde|cada)\b`),
	},
	{ // Chinese
		regexp.MustCompile(`^(?:好的?[,，。!！]?|现在|接下来|首先|那么|下面)*[,，]?(?:让我们?|我来|我将|我会|我要|我现在|我先|我这就|我去|我马上|我再)(?:现在|先|再|来|去|就|立即|马上|将|帮您|帮你|为您|为你)*` +
			`(?:检查|查看|看看|看一下|读取|阅读|搜索|运行|执行|打开|查找|查一下|修改|修复|创建|编写|测试|尝试|分析|更新|安装|获取|下载|查询|继续|开始|处理|写)`),
		regexp.MustCompile(`如果|若|一旦|等你|等您|的话|不会|不再|明天|以后|每天|每次|之后再|确认后|[吗呢]`),
	},
	{ // Japanese
		regexp.MustCompile(`^(?:では|それでは|まず|次に|今から|これから)[、 ]?.*(?:確認|調査|検索|実行|修正|作成|更新|読み込み|テスト)(?:します|してみます|していきます)`),
		regexp.MustCompile(`場合|たら|ませんか|明日|後で|毎`),
	},
}

// announces tells whether a text ends in the announcement of something that is to be done now. It is careful: questions,
// conditions, long texts and other languages never count, since a wrong yes costs a model call.
func announces(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxAnnouncing || strings.ContainsAny(lastRunes(text, 80), "?？") {
		return false
	}
	sentence := lastSentence(text)
	if utf8.RuneCountInString(sentence) > maxAnnouncement {
		return false
	}
	for _, a := range announcements {
		if a.says.MatchString(sentence) && !a.unless.MatchString(sentence) {
			return true
		}
	}
	return false
}

var sentenceEnd = regexp.MustCompile(`[.!:…][)"'*_]*\s+|[。！：][」）]*|\n+`)

// lastSentence returns the last sentence of a text, without its end and without Markdown's emphasis.
func lastSentence(text string) string {
	text = strings.TrimRight(text, " \n.!:…。！：*_`")
	if ends := sentenceEnd.FindAllStringIndex(text, -1); len(ends) > 0 {
		text = text[ends[len(ends)-1][1]:]
	}
	text = strings.NewReplacer("’", "'", "**", "", "__", "").Replace(text)
	return strings.TrimLeft(text, " -*_>#")
}

// lastRunes returns at most the last n characters of a text.
func lastRunes(text string, n int) string {
	r := []rune(text)
	return string(r[max(0, len(r)-n):])
}
