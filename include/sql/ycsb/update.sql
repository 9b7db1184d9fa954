UPDATE documents SET jsonraw = overlay(jsonraw PLACING md5(CAST($word AS text)) FROM length(jsonraw) - 34 FOR 32) WHERE jkeynum = $key
