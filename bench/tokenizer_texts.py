#!/usr/bin/env python3
"""Writes the documents that the tokenizer benchmark reads: mixed.txt, json.txt, chinese.txt and japanese.txt, the same
for the same seed. Sentences of common words in the frequencies of natural text (Zipf), with rarer made-up words, names
and numbers among them, so that no two lines are alike.

Usage: bench/tokenizer_texts.py OUT_DIR [--bytes N] [--seed N]
"""
import argparse
import json
import pathlib
import random

ENGLISH = """the of and to in a is that for it was on with he be by as you at this are have not or from they but his had
she which an we one there were all her would their if will up out so what when more who no them can time about into some
could him see other than then now only its over also after use two how our work first well way even new want because any
these give day most us customer order refund shipment delivered account password charged invoice weeks support answered
request server error upgrade restarted database connection failed again morning patient reported pain medication doctor
appointment contract clause payment within thirty days agreement parties liability damage package arrived broken screen
replaced warranty expired battery does charge temperature sensor reading above threshold alarm operator checked pressure
valve closed river crossing bridge repair council voted budget school teacher children reading improved quarter revenue
increased although costs remained higher compared with previous year analysts expected stronger growth information
international development understanding government available different important especially experience environment""".split()
OTHER = {
    "german": """der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat
dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch man
sein wurde Rechnung Bestellung Lieferung Kundendienst verspätet zurückgeschickt Straße Größe möglich natürlich
Geschwindigkeitsbegrenzung Krankenversicherung Vertragsverlängerung überprüft geändert""".split(),
    "french": """de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec ou son
mais comme on nous été aussi leur bien même fait très sans deux commande livraison colis arrivé retard téléphone réponse
élève hôpital après problème différent café déjà""".split(),
    "spanish": """de la que el en y a los se del las un por con no una su para es al lo como más pero sus le ya o este sí
porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos durante pedido envío paquete llegó
tarde teléfono respuesta mañana niño problema señal corazón""".split(),
    "russian": """и в не на я быть он с что а по это она этот к но они мы весь который из у то за свой от так о для ты же год
время заказ доставка клиент ответ возврат деньги ошибка сервер документ договор больница врач школа дорога город вопрос
решение потому сегодня завтра хорошо""".split(),
}
HANZI = """的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事成方多经
么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外
将两高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表化老给世位次度门任常先海通教儿原东声提立及比员
解水名真论处走义各入几口认条平系气题活尔更别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区保至队形
社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让
识候带导争运""".replace("\n", "")
CHINESE = """我们 他们 公司 问题 工作 时间 中国 可以 没有 自己 已经 现在 因为 所以 如果 但是 系统 数据 信息 服务 客户 订单 退款
物流 快递 包裹 昨天 今天 明天 上午 下午 北京 上海 电话 地址 合同 付款 账户 密码 登录 失败 服务器 数据库 升级 错误 医院 医生 病人 检查 结果
学校 老师 学生 考试 成绩 发展 经济 市场 价格 技术 研究 社会 文化 历史 国际 关系 政府 管理 产品 质量 使用 需要 非常 希望 联系 处理 解决 申请
通过 提供 进行 要求 影响 人工智能 机器学习 自动驾驶 新能源汽车 可持续发展""".split()
KANJI = """日一国人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電校語土木聞食車何
南万毎白天母火右読友左休父雨会同事自社発者地業方新場員立開手力問代明動京目通言理体田主題意不作用度強公持野以思家世多正安院心界教文元重近考画
海売知道集別物使品計死特私始朝運終台広住真有口少町料工建空急止送切転研足究楽起着店病質待試族銀早映親験英医仕去味写字答夜音注帰古歌買悪図週
室歩風紙黒花春赤青館屋色走秋夏習駅洋旅服夕借曜飲肉貸堂鳥飯勉冬昼茶弟牛魚兄犬妹姉漢""".replace("\n", "")
JAPANESE = """これ それ ここ ため こと もの よう さん 私 会社 仕事 時間 問題 今日 明日 昨日 注文 返金 配送 荷物 お客様 サービス システム データ
サーバー エラー パスワード アカウント ログイン アップデート コンピューター インターネット 契約 支払い 病院 先生 学生 学校 試験 結果 研究 開発 経済 市場
技術 電話 住所 確認 連絡 対応 解決 申請 使用 必要 可能 東京 大阪 日本 世界 社会 文化 歴史 ありがとう よろしく お願い 機械学習 人工知能""".split()
PARTICLES = "は が を に で と も の から まで より へ や など".split()
ENDINGS = "です ます でした ました ません ください している された ている だった でしょう と思います になりました".split()
SYLLABLES = "ka lo mi ter ban dor sil ven qua pra ston ley ris ham ber nor tal zi wen gor fel".split()


class Writer:
    def __init__(self, seed):
        self.rng = random.Random(seed)

    def zipf(self, words):
        """A word, the earlier ones in the list more often."""
        return words[min(int(len(words) ** self.rng.random()) - 1, len(words) - 1)]

    def made_up(self):
        word = "".join(self.rng.choice(SYLLABLES) for _ in range(self.rng.randrange(2, 5)))
        return word.capitalize() if self.rng.random() < 0.5 else word

    def number(self):
        return self.rng.choice((str(self.rng.randrange(100)), f"{self.rng.randrange(1, 10000) / 100:.2f}",
                                f"{self.rng.randrange(24):02}:{self.rng.randrange(60):02}", f"#{self.rng.randrange(10**6)}",
                                f"2026-{self.rng.randrange(1, 13):02}-{self.rng.randrange(1, 29):02}"))

    def sentence(self, words):
        parts = []
        for _ in range(self.rng.randrange(5, 22)):
            kind = self.rng.random()
            word = self.made_up() if kind < 0.08 else self.number() if kind < 0.13 else self.zipf(words)
            parts.append(word + ("," if self.rng.random() < 0.08 else ""))
        text = " ".join(parts)
        return text[0].upper() + text[1:] + self.rng.choice((".", ".", ".", "?", "!", ";"))

    def code(self):
        name, other, n = self.made_up().lower(), self.made_up().lower(), self.rng.randrange(100)
        return self.rng.choice((f"def {name}({other}, size={n}):\n    return [{other}[i] * {n} for i in range(size)]\n",
                                f"if ({name} != nullptr && {other}->count() > {n}) {{\n\t{name}->reset();\n}}\n",
                                f"SELECT {name}, COUNT(*) FROM {other} WHERE id >= {n} GROUP BY {name};\n",
                                f"https://{name}.example.com/{other}/{n}?page={n}&sort=asc\n"))

    def mixed(self):
        kind = self.rng.random()
        if kind < 0.6:
            return self.sentence(ENGLISH) + " "
        if kind < 0.8:
            return self.sentence(OTHER[self.rng.choice(sorted(OTHER))]) + "\n"
        if kind < 0.88:
            return self.code()
        if kind < 0.94:
            return self.rng.choice((self.chinese, self.japanese))()
        return self.rng.choice(("\n\n", "- ", "* **" + self.made_up() + "**: ", "👍🏽 ", "❤️ ", "👨‍👩‍👧\n", "    "))

    def value(self, depth):
        kind = self.rng.random()
        if depth < 3 and kind < 0.25:
            return {self.zipf(ENGLISH) + self.rng.choice(("", "_id", "Count")): self.value(depth + 1) for _ in range(self.rng.randrange(1, 6))}
        if depth < 3 and kind < 0.4:
            return [self.value(depth + 1) for _ in range(self.rng.randrange(0, 5))]
        return self.rng.choice((self.sentence(ENGLISH), self.number(), self.rng.randrange(10**6), self.rng.random() * 100, True, None,
                                self.made_up(), "%032x" % self.rng.getrandbits(128)))

    def json(self):
        return json.dumps({"id": self.rng.randrange(10**9), "items": [self.value(1) for _ in range(4)]}, ensure_ascii=False) + "\n"

    def chinese(self):
        parts = []
        for _ in range(self.rng.randrange(4, 18)):
            kind = self.rng.random()
            parts.append(self.zipf(CHINESE) if kind < 0.45 else self.number() if kind < 0.48 else
                         "".join(self.zipf(HANZI) for _ in range(self.rng.randrange(1, 4))))
            if self.rng.random() < 0.12:
                parts.append(self.rng.choice("，，，、：“”《》"))
        return "".join(parts) + self.rng.choice("。。。！？\n")

    def japanese(self):
        parts = []
        for _ in range(self.rng.randrange(2, 8)):
            word = self.zipf(JAPANESE) if self.rng.random() < 0.6 else "".join(self.zipf(KANJI) for _ in range(self.rng.randrange(1, 4)))
            parts.append((self.number() if self.rng.random() < 0.04 else word) + self.zipf(PARTICLES))
            if self.rng.random() < 0.1:
                parts.append("、")
        return "".join(parts) + self.zipf(KANJI) + self.rng.choice(ENDINGS) + self.rng.choice("。。。！？\n")

    def document(self, kind, size):
        parts, written = [], 0
        while written < size:
            parts.append(getattr(self, kind)())
            written += len(parts[-1].encode())
        return "".join(parts)


def write_all(out, size, seed):
    """Writes the documents and returns their paths."""
    paths = []
    for kind in ("mixed", "json", "chinese", "japanese"):
        paths.append(pathlib.Path(out, f"{kind}.txt"))
        paths[-1].write_text(Writer(f"{seed} {kind}").document(kind, size), encoding="utf-8", newline="")
    return paths


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for path in write_all(args.out, args.bytes, args.seed):
        print(path)


if __name__ == "__main__":
    main()
