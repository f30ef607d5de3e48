"""Makes the demo model's questions: a state, a typed question, the right option, and the concepts behind them.

Everything comes from words.py and the lists here. `Wordings` splits every list of wordings in two: a question made for
`held` uses option texts, question texts and sentence patterns that no question made for training ever uses, and words
that training shows only alone (`word` questions), never in a sentence.
"""
import hashlib
import random
from dataclasses import dataclass, field

import words as W

TEXT_TASKS = ["topic", "work", "intent", "language", "sentiment", "urgency", "record", "yes_topic", "yes_intent", "yes_language",
              "yes_sentiment", "yes_urgency", "yes_record", "score_mood", "score_urgency"]
IMAGE_TASKS = ["colour", "shape", "count", "yes_colour", "yes_shape", "yes_count"]
VIDEO_TASKS = ["motion", "direction", "yes_motion"]


def _rank(text):
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")


def part(items, held, salt, share=4):
    """The training or the held-out part of a list: one in `share` is held out, chosen by hash."""
    order = sorted(items, key=lambda x: _rank(salt + "|" + str(x)))
    cut = max(1, len(order) // share)
    return order[:cut] if held else order[cut:]


OPTION_PATTERNS = {
    "topic": ["{}", "about {}", "it is about {}", "anything to do with {}", "mostly {}", "something on {}", "the topic is {}", "{} news"],
    "work": ["{}", "it is {}", "help with {}", "a request for {}", "the task is {}", "this is {}"],
    "intent": ["{}", "it is about {}", "the wish is {}", "the customer means {}", "a message on {}", "concerns {}"],
    "language": ["{}", "in {}", "written in {}", "the text is in {}", "it is {}", "{} text"],
    "sentiment": ["{}", "it sounds {}", "the writer is {}", "overall {}", "a {} opinion", "{} in tone"],
    "urgency": ["{}", "it is {}", "priority: {}", "handle it as {}", "rather {}", "this is {}"],
    "value": ["{}", "it is {}", "the value {}", "exactly {}", "it says {}", "{} in the record"],
    "scale": ["{}", "it is {}", "overall {}", "{} in sum", "clearly {}"],
    "colour": ["{}", "mostly {}", "it is {}", "the colour {}", "{} background"],
    "shape": ["{}", "a {}", "it is a {}", "the shape of a {}", "{} in the picture"],
    "count": ["{}", "there are {}", "exactly {}", "{} in all", "{} of them"],
    "motion": ["{}", "it moves {}", "going {}", "the way is {}", "direction {}"],
}
INSTRUCTIONS = {
    "topic": ["What is this about?", "Which topic fits best?", "Choose the topic.", "What does the text deal with?", "Pick the subject of the text.",
              "What is the main theme?", "Sort this text by topic.", "Which subject is it?"],
    "work": ["What kind of work is this?", "What does the user want?", "Which task is it?", "Choose the kind of request.", "What should be done?",
             "What kind of task is asked for?", "Sort this request.", "Which kind of work is asked for?",
             "What is the user asking for?", "Pick the task.", "Which job is it?"],
    "intent": ["What does the customer want?", "Which intent is it?", "Why does the customer write?", "Route this message.", "Choose the reason of the message.",
               "What is the request about?", "Which desk should answer?", "What is the intent of the message?",
               "What is this message about?", "Sort this message.", "What does the writer need?"],
    "language": ["Which language is this?", "In which language is the text?", "Name the language.", "Choose the language.", "What language does the writer use?",
                 "The text is written in which language?"],
    "sentiment": ["What is the sentiment?", "How does the writer feel?", "Is the opinion good or bad?", "Choose the sentiment.", "Which mood has the text?",
                  "What is the tone of the review?",
                  "What does the writer think of it?", "Is the text positive or negative?", "How does the text sound?"],
    "urgency": ["How urgent is it?", "Which priority fits?", "Choose the urgency.", "How soon must this be done?", "How fast should we react?",
                "What is the priority of the message?",
                "How pressing is the request?", "Rank the message by urgency.", "When is it needed?"],
    "score_mood": ["How good is the opinion?", "Rate the review.", "How happy is the writer?", "Rate the sentiment.", "How positive is the text?",
                   "How much does the writer like it?", "Rate how good it was.", "What is the rating of the review?"],
    "score_urgency": ["Rate the urgency.", "How urgent is the message?", "How much of a hurry is there?", "Rate how fast this is needed.", "How urgent is this?",
                      "How pressing is it?", "Rate the time pressure.", "How quickly is it needed?"],
    "record": ["What is the {}?", "Which {} is it?", "Choose the {}.", "What does it say about the {}?", "Find the {}.", "Name the {}."],
    "yes_topic": ["Is this about {}?", "Is the topic {}?", "Does the text deal with {}?", "Is {} the subject?", "Does this belong to {}?", "Is it on {}?",
                  "Would you file this under {}?", "Is this text on {}?", "Are we reading about {} here?", "Has this to do with {}?"],
    "yes_intent": ["Does the customer mean {}?", "Is the message about {}?", "Is the intent {}?", "Is this a case of {}?", "Is it about {}?", "Does this concern {}?",
                   "Is this message a matter of {}?", "Does the writer ask for {}?", "Would you sort this under {}?", "Is {} what it is about?"],
    "yes_language": ["Is the text in {}?", "Is this {}?", "Is the language {}?", "Did someone write this in {}?", "Is it written in {}?",
                     "Is {} the language of the text?", "Does the writer use {}?", "Are these words {}?"],
    "yes_sentiment": ["Is the writer {}?", "Is the sentiment {}?", "Is this {}?", "Does the text sound {}?", "Is the opinion {}?",
                      "Would you call it {}?", "Does the author seem {}?", "Is the tone {}?", "Is the review {}?"],
    "yes_urgency": ["Is it {}?", "Is this {}?", "Is the priority {}?", "Should we handle it as {}?", "Is the urgency {}?",
                    "Would you call this {}?", "Is the message {}?", "Does this count as {}?", "Is the request {}?"],
    "yes_record": ["Is the {} {}?", "Does it say that the {} is {}?", "Is it true that the {} is {}?", "Is {1} the {0}?", "The {} is {}, right?", "Has the {} the value {}?"],
    "colour": ["What is the main colour?", "Which colour dominates?", "What colour is the picture mostly?", "Choose the background colour.", "Which colour is most of it?"],
    "shape": ["Which shape is shown?", "What is in the picture?", "Name the shape.", "Which shape do you see?", "What shape is drawn?",
              "What kind of shape is it?", "Choose the shape.", "Which figure is drawn?"],
    "count": ["How many shapes are there?", "Count the shapes.", "How many things are shown?", "What is the number of shapes?", "How many do you see?",
              "Give the number of shapes.", "How many figures are drawn?", "What is the count?"],
    "motion": ["Does anything move?", "Is the video still?", "Still or moving?", "What happens in the video?",
               "Is there any motion?", "Does the shape stay in its place?"],
    "direction": ["Which way does it move?", "Where does the shape go?", "In which direction is the motion?", "Where is it going?",
                  "Choose the direction.", "Which direction does the shape take?"],
    "yes_colour": ["Is the picture mostly {}?", "Is the main colour {}?", "Is the background {}?", "Is most of it {}?"],
    "yes_shape": ["Is there a {}?", "Does the picture show a {}?", "Is the shape a {}?", "Do you see a {}?"],
    "yes_count": ["Are there {} shapes?", "Do you see {} shapes?", "Is the number of shapes {}?", "Does it show {} shapes?"],
    "yes_motion": ["Does it move {}?", "Is the direction {}?", "Does the shape go {}?", "Is it moving {}?"],
}
INSTRUCTIONS["score_mood"] += INSTRUCTIONS["sentiment"]
SENTENCES = ["{who} {does}.", "Yesterday {who} {does}.", "We heard that {who} {does}.", "{who} {does}, and then {does2}.", "It seems {who} {does}.",
             "{who} {does} near the {thing}.", "My friend told me: {who} {does}.", "Last week {who} {does} once more.", "{thing}, {thing2} and {thing3}.",
             "A text about the {thing} and the {thing2}.", "I was thinking of the {thing}.", "The {thing} was all {who} could talk about.",
             "{who} {does} because of the {thing}.", "After the {thing} {who} {does}.", "Notes on {thing} and {thing2}.", "At noon {who} {does}.",
             "Do you know why {who} {does}?", "Before the {thing}, {who} {does}.", "Nobody expected the {thing} or the {thing2}.",
             "This morning {who} {does}; the {thing} was fine.", "What happened to the {thing}?", "I need a new {thing} and some {thing2}."]
POLITE = ["{}", "{}", "hello, {}", "{} please", "dear team, {}", "can you help me: {}", "hi, {}, thank you", "good day. {}", "listen, {}", "quick question: {}",
          "sorry to bother you, {}", "hi there! {}", "{}, thanks in advance", "good morning, {}"]
MOOD_TEXTS = ["{s} was {m}.", "{s} is {m}, {p}.", "{p}. {s} was {m}.", "I think {s} is {m}.", "{s}: {p}.", "In my view {s} was {m}.", "{m}! {p}.",
              "About {s}: {p}, simply {m}.", "We tried {s} and it was {m}.", "{p}, {s} is {m}.", "{s}? {p}.", "Yesterday {s} was {m}, {p}.", "{m}, {p}. That was {s}.",
              "My friends say {s} is {m}.", "To be honest, {p}.", "{s}, all in all: {m}.", "They told me about {s}, and {p}.", "For me {s} was {m}: {p}.",
              "{p}! I mean {s}.", "So {s} turned out {m}."]
URGENT_TEXTS = ["{r}, {u}.", "{u}: {r}.", "{r}. {u}.", "Hello, {r}; {u}.", "{u}, because {r}.", "Note that {r}. {u}!", "Hi team, {r}. {u}.", "{u}! {r}.", "About the list: {r}, {u}.",
                "{r} - {u}.", "Could you see to it that {r}? {u}.", "{u}. As you know, {r}.", "My boss says {r}, {u}.", "One more thing, {r}. {u}, thanks."]
OTHER = ["anything else", "other", "none of these", "something else", "anything but these", "no other fits"]
NEUTRAL_KEYS = [list("abcdefgh"), ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"],
                ["option1", "option2", "option3", "option4", "option5", "option6", "option7", "option8"]]
YES_NO = [None, None, None, ("no", "yes"), ("It is not so", "It is so"), ("wrong", "right")]
CONCEPTS = ([f"topic:{k}" for k in W.TOPICS] + [f"work:{k}" for k in W.WORK] + [f"intent:{k}" for k in W.INTENTS] +
            [f"language:{k}" for k in W.LANGUAGES] + [f"sentiment:{k}" for k in W.SENTIMENTS] + [f"urgency:{k}" for k in W.URGENCY_NAMES] +
            [f"mood:{k}" for k in range(5)] + sorted({f"value:{v}" for vs in W.FIELDS.values() for v in vs} | {"value:true", "value:false"}) +
            [f"colour:{k}" for k in W.COLOURS] + [f"shape:{k}" for k in W.SHAPES] + [f"count:{k}" for k in W.NUMBERS] +
            [f"motion:{k}" for k in W.MOTIONS] + ["motion:moving"])


def _keywords(table):
    """For each kind, the words that only its sentences have."""
    of = {kind: sorted({w for line in entry["says"] for w in line.replace("{x}", " ").replace(",", " ").split() if len(w) > 2})
          for kind, entry in table.items()}
    return {kind: [w for w in own if sum(w in other for other in of.values()) == 1] for kind, own in of.items()}


KEYWORDS = dict(intent=_keywords(W.INTENTS), work=_keywords(W.WORK))
CONCEPT_ID = {name: i for i, name in enumerate(CONCEPTS)}


@dataclass
class Question:
    task: str
    state: object
    kind: str                      # choice, noul or score
    instructions: str
    criteria: object               # as in a request
    answer: int                    # the right option's place
    state_concept: str = ""        # what the state says, where it says that whatever the question is
    found_concept: str = ""        # what of it the question is about
    option_concepts: list = field(default_factory=list)
    question_concept: str = ""     # what a yes/no question asks for
    picture: object = None         # drawn by pictures.py
    extra: tuple = ()


class Wordings:
    """The wordings one part (training or held-out) may use."""

    def __init__(self, held):
        self.held = held
        self.instructions = {k: part(v, held, "instructions " + k) for k, v in INSTRUCTIONS.items()}
        self.sentences = part(SENTENCES, held, "sentences")
        self.mood_texts, self.urgent_texts = part(MOOD_TEXTS, held, "mood"), part(URGENT_TEXTS, held, "urgent")
        self.polite = part(sorted(set(POLITE)), held, "polite") + (["{}"] if held else ["{}", "{}"])
        self._options, self._lists = {}, {}

    def option(self, rng, group, concept, names):
        """A wording of a concept, as an option says it."""
        key = (group, concept)
        if key not in self._options:
            self._options[key] = part([p.format(n) for p in OPTION_PATTERNS[group] for n in names], self.held, f"option {group} {concept}")
        return rng.choice(self._options[key])

    def items(self, items, salt):
        """Words for sentences: training leaves out one in five, which held-out sentences prefer."""
        if salt not in self._lists:
            self._lists[salt] = part(items, self.held, "words " + salt, 5)
        return self._lists[salt]

    def mixed(self, rng, items, salt):
        return rng.choice(self.items(items, salt) if not self.held or rng.random() < 0.5 else items)

    def scale(self, rng, scale):
        key = ("scale", scale[0])
        if key not in self._options:
            self._options[key] = part(OPTION_PATTERNS["scale"], self.held, "scale " + scale[0])
        pattern = rng.choice(self._options[key])
        return [pattern.format(x) for x in scale]


def sentence(text):
    return text[:1].upper() + text[1:]


class Maker:
    """Makes questions of one part. `seed` alone decides which."""

    def __init__(self, held, seed):
        self.held, self.rng, self.w = held, random.Random(f"{held} {seed}"), Wordings(held)

    # ---- states
    def topic_text(self, topic):
        t, r, w = W.TOPICS[topic], self.rng, self.w
        pick = lambda k: w.mixed(r, t[k], topic + k)
        return sentence(r.choice(w.sentences).format(who=pick("people"), does=pick("does"), does2=pick("does"), thing=pick("things"),
                                                     thing2=pick("things"), thing3=pick("things")))

    def filled(self, entry, salt, things):
        r, w = self.rng, self.w
        text = w.mixed(r, entry["says"], salt).format(x=w.mixed(r, things, salt + " x"))
        text = r.choice(w.polite).format(text.strip())
        return sentence(text) + r.choice([".", "", "?", "."]) if r.random() < 0.8 else text

    def work_text(self, kind):
        return self.filled(W.WORK[kind], kind, W.WORK[kind]["x"])

    def intent_text(self, kind):
        return self.filled(W.INTENTS[kind], kind, W.GOODS)

    def language_text(self, name):
        l, r, w = W.LANGUAGES[name], self.rng, self.w
        pick = lambda k: w.mixed(r, l[k], name + k)
        text = [f"{pick('who')} {pick('what')} {pick('when')}", f"{pick('who')} {pick('what')}", f"{pick('what')} {pick('when')}"][r.randrange(3)]
        return sentence(text) + r.choice([".", "", "!"])

    def mood_text(self, level):
        r, w, m = self.rng, self.w, W.MOODS[level]
        return sentence(r.choice(w.mood_texts).format(s=w.mixed(r, W.SUBJECTS, "subjects"), m=w.mixed(r, m["is_"], f"mood{level}"),
                                                      p=w.mixed(r, m["says"], f"mood says{level}")))

    def urgent_text(self, level):
        r, w = self.rng, self.w
        return sentence(r.choice(w.urgent_texts).format(r=w.mixed(r, W.REQUESTS, "requests"), u=w.mixed(r, W.URGENCY[level]["says"], f"urgency{level}")))

    def record(self):
        """(state, the record) as JSON or as a sentence."""
        r = self.rng
        keys = r.sample(sorted(W.FIELDS), r.randint(1, 4))
        record = {k: r.choice(W.FIELDS[k]) for k in keys}
        if r.random() < 0.3:
            record[r.choice([f for f in W.FLAGS if f not in record])] = r.random() < 0.5
        if r.random() < 0.6 or any(isinstance(v, bool) for v in record.values()):
            return record, record
        return sentence(" and ".join(f"the {k} is {v}" for k, v in record.items()) + "."), record

    # ---- questions
    def instruction(self, task):
        return self.rng.choice(self.w.instructions[task])

    def choice(self, task, group, state, right, names, count, other=0.0, **more):
        """A choice among concepts of a group: `names` maps each to its wordings."""
        r = self.rng
        wrong = [k for k in names if k != right]
        chosen = r.sample(wrong, min(count - 1, len(wrong)))
        rest = r.random() < other
        if rest and r.random() < 0.45 and len(wrong) > len(chosen):
            chosen.append(r.choice([k for k in wrong if k not in chosen]))    # the right one is not offered
            right_place = None
        else:
            chosen.append(right)
            right_place = right
        r.shuffle(chosen)
        texts = [self.w.option(r, group, k, names[k]) for k in chosen]
        prefix = dict(value="value").get(group, group)
        concepts = [f"{prefix}:{k}" for k in chosen]
        if rest:
            chosen, concepts = chosen + [None], concepts + [""]
            texts.append(r.choice(part(OTHER, self.held, "other")))
        answer = chosen.index(right_place)
        style = r.random()
        if style < 0.45:
            criteria = {t: None for t in texts}
        elif style < 0.75:
            keys = r.choice(NEUTRAL_KEYS)
            criteria = dict(zip(keys, texts))
        else:
            criteria = {(names[k][0] if k is not None else "other"): t for k, t in zip(chosen, texts)}
        if len(criteria) != len(texts):
            criteria = dict(zip(NEUTRAL_KEYS[0], texts))
        more.setdefault("instructions", self.instruction(task))
        return Question(task, state, "choice", more["instructions"], criteria, answer, more.get("says", f"{prefix}:{right}"), f"{prefix}:{right}",
                        concepts, "", more.get("picture"))

    def yes_no(self, task, group, state, truth, names, wording=None, picture=None, instructions=None, says=None):
        r = self.rng
        asked = truth if r.random() < 0.5 else r.choice([k for k in names if k != truth])
        pair = r.choice(YES_NO)
        criteria = None if pair is None else {"false": pair[0], "true": pair[1]}
        if instructions is None:
            key = ("yes", task, asked)
            if key not in self.w._options:
                self.w._options[key] = part([p.format(n) for p in INSTRUCTIONS[task] for n in (wording or names)[asked]], self.held, f"{task} {asked}")
            instructions = r.choice(self.w._options[key])
        else:
            instructions = instructions(asked)
        return Question(task, state, "noul", instructions, criteria, int(asked == truth), f"{group}:{truth}" if says is None else says, f"{group}:{truth}",
                        [], f"{group}:{asked}", picture)

    def concept_names(self, group):
        table = dict(topic=W.TOPICS, work=W.WORK, intent=W.INTENTS, language=W.LANGUAGES)
        if group in table:
            return {k: v["names"] for k, v in table[group].items()}
        if group == "colour":
            return {k: v[1:] for k, v in W.COLOURS.items()}
        return dict(sentiment=W.SENTIMENTS, urgency=W.URGENCY_NAMES, shape=W.SHAPES, count=W.NUMBERS, motion=W.MOTIONS)[group]

    def state_of(self, group):
        """(state, the concept of the group that it shows, what it says most exactly)."""
        r = self.rng
        if group == "sentiment":
            level = r.choice([0, 1, 2, 2, 3, 4])
            return self.mood_text(level), ["negative", "negative", "neutral", "positive", "positive"][level], f"mood:{level}"
        if group == "urgency":
            level = r.randrange(3)
            return self.urgent_text(level), ["low", "normal", "high"][level], f"urgency:{['low', 'normal', 'high'][level]}"
        concept = r.choice(sorted(self.concept_names(group)))
        if group == "language" and concept == "english" and r.random() < 0.6:
            topic = r.choice(sorted(W.TOPICS))
            return self.topic_text(topic), concept, f"topic:{topic}"
        return getattr(self, group + "_text")(concept), concept, f"{group}:{concept}"

    def make(self, task, scene=None):
        r = self.rng
        if task in ("topic", "work", "intent", "language", "sentiment", "urgency"):
            state, concept, says = self.state_of(task)
            count = dict(sentiment=r.choice([2, 3, 3]), urgency=r.choice([2, 3, 3])).get(task, r.choice([2, 3, 3, 4, 4, 5, 6]))
            return self.choice(task, task, state, concept, self.concept_names(task), count, 0.25 if task in ("topic", "work", "intent") else 0.0, says=says)
        if task.startswith("yes_") and task[4:] in ("topic", "intent", "language", "sentiment", "urgency"):
            group = task[4:]
            state, concept, says = self.state_of(group)
            return self.yes_no(task, group, state, concept, self.concept_names(group), says=says)
        if task in ("record", "yes_record"):
            return self.record_question(task)
        if task == "score_mood":
            return self.score_mood()
        if task == "score_urgency":
            level = r.randrange(3)
            levels = self.w.scale(r, r.choice(W.URGENCY_SCALES))
            names = ["urgency:low", "urgency:normal", "urgency:high"]
            return Question(task, self.urgent_text(level), "score", self.instruction(task), levels, level, names[level], names[level], names)
        if task == "word":
            return self.word()
        return self.about_picture(task, scene)

    def record_question(self, task):
        r = self.rng
        state, record = self.record()
        key = r.choice(sorted(record))
        value = record[key]
        if isinstance(value, bool):
            names, truth = {"true": ["true"], "false": ["false"]}, str(value).lower()
            values = names
        else:
            values, truth = {v: [v] for v in W.FIELDS[key]}, value
        if task == "record":
            return self.choice(task, "value", state, truth, values, r.randint(2, 4), instructions=self.instruction(task).format(key), says="")
        patterns = self.w.instructions[task]
        return self.yes_no(task, "value", state, truth, values, instructions=lambda asked: r.choice(patterns).format(key, asked), says="")

    def score_mood(self):
        r = self.rng
        level = r.randrange(5)
        scale = r.choice(W.MOOD_SCALES)
        if r.random() < 0.5:
            levels, answer, concepts = self.w.scale(r, scale), level, [f"mood:{i}" for i in range(5)]
        else:
            levels, answer, concepts = self.w.scale(r, scale[1:4]), [0, 0, 1, 2, 2][level], ["sentiment:negative", "sentiment:neutral", "sentiment:positive"]
        return Question("score_mood", self.mood_text(level), "score", self.instruction("score_mood"), levels, answer, f"mood:{level}", concepts[answer], concepts)

    def word(self):
        """Single words and phrases, the held-out ones too: how training gets to know them."""
        r = self.rng
        group = r.choice(["topic", "topic", "topic", "intent", "work", "language", "sentiment", "urgency"])
        if group == "sentiment":
            level = r.randrange(5)
            text, concept = r.choice(W.MOODS[level]["is_"] + W.MOODS[level]["says"]), ["negative", "negative", "neutral", "positive", "positive"][level]
        elif group == "urgency":
            level = r.randrange(3)
            text, concept = r.choice(W.URGENCY[level]["says"]), ["low", "normal", "high"][level]
        elif group in ("intent", "work"):
            concept = r.choice(sorted(KEYWORDS[group]))
            text = ", ".join(r.sample(KEYWORDS[group][concept], r.choice([1, 2, 3])))
        else:
            table = dict(topic=W.TOPICS, language=W.LANGUAGES)[group]
            concept = r.choice(sorted(table))
            lists = dict(topic=["people", "does", "things"], language=["who", "what", "when"])[group]
            text = ", ".join(r.sample([x for k in lists for x in table[concept][k]], r.choice([1, 1, 2, 3])))
        says = f"mood:{level}" if group == "sentiment" else f"{group}:{concept}"
        return self.choice(group, group, text, concept, self.concept_names(group), r.choice([2, 3, 4]), says=says)

    def about_picture(self, task, scene):
        group = task.removeprefix("yes_")
        if group == "direction":
            names = {k: v for k, v in W.MOTIONS.items() if k != "still"}
            return self.choice(task, "motion", "", scene.motion, names, self.rng.choice([2, 3, 4]), picture=scene)
        if task == "motion":
            names = dict(still=W.MOTIONS["still"], moving=["moving", "something moves", "in motion"])
            return self.choice(task, "motion", "", "still" if scene.motion == "still" else "moving", names, 2, picture=scene)
        truth = getattr(scene, group)
        names = self.concept_names(group)
        if task == "yes_motion":
            names = {k: v for k, v in names.items() if k != "still"}
        if task.startswith("yes_"):
            return self.yes_no(task, group, "", truth, names, picture=scene)
        return self.choice(task, group, "", truth, names, self.rng.choice([2, 3, 4, 5]), picture=scene)
