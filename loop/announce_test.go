package loop

import "testing"

func TestAnnounces(t *testing.T) {
	for _, text := range []string{
		"I'll now run the tests.",
		"The config looks wrong. Let me check the file:",
		"Okay, I will now fix main.py",
		"Great! Next, I'm going to search for the error...",
		"**I’ll start by reading the logs.**",
		"Here is the plan:\n1. Read\n2. Fix\n\nLet's start reading the file.",
		"Ich schaue mir jetzt die Datei an.",
		"Gut, jetzt führe ich die Tests aus.",
		"Die Datei fehlt. Ich werde nun im Ordner suchen.",
		"Lass mich kurz nachsehen.",
		"让我检查一下配置文件。",
		"好的，我现在运行测试",
		"配置有问题。接下来我来修复 main.py：",
		"Je vais maintenant vérifier le fichier.",
		"Voy a revisar el archivo.",
		"それでは、設定ファイルを確認します。",
	} {
		if !announces(text) {
			t.Errorf("not recognised: %q", text)
		}
	}
	for _, text := range []string{
		"",
		"Done.",
		"I ran the tests and they pass.",
		"Shall I run the tests?",
		"I can fix this. Should I?\n",
		"I'll run the tests once you confirm.",
		"Let me know if you want me to check more.",
		"I will check again tomorrow.",
		"I'll send you the report every morning.",
		"I will not change the file.",
		"From now on I'll use metric units.",
		"Let me explain: the file is missing.",
		"Let me check the file: it says \"port = 80\", so that is the port.",
		"I'll run the tests. They passed: 12 of 12.",
		"Ich werde das im Auge behalten.",
		"Ich prüfe die Datei, sobald du sie hochgeladen hast.",
		"Ich sehe, dass die Datei fehlt.",
		"Soll ich die Datei löschen?",
		"如果你愿意，我来检查配置。",
		"我已经检查了文件，一切正常。",
		"需要我运行测试吗？",
		"Je vais bien.",
		"Si quieres, voy a revisar el archivo.",
		"I'd read the file first.",
		"You should run the tests now.",
	} {
		if announces(text) {
			t.Errorf("wrongly recognised: %q", text)
		}
	}
}
