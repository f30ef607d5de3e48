"""What schemathesis must know beside the schema: rules that JSON Schema cannot say, which the descriptions do."""

import json

import schemathesis


def text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def repeats(values):
    values = list(values)
    return len(set(values)) < len(values)


def level_text(level):
    return level["label"] + (": " + level["description"] if level.get("description") else "")


def breaks_rule(question):
    """Whether two levels have the same text, or two choices the same value."""
    if question["type"] == "score" and "levels" in question:
        return repeats(level_text(level) for level in question["levels"])
    if question["type"] == "score":
        return repeats(text(level) for level in question["criteria"])
    if question["type"] == "choice" and "choices" in question:
        return repeats((type(choice["value"]), choice["value"]) for choice in question["choices"])
    return False


@schemathesis.hook
def filter_case(_context, case):
    try:
        questions = case.body["questions"]
        return not any(breaks_rule(question) for question in (
            questions.values() if isinstance(questions, dict) else questions))
    except (AttributeError, KeyError, TypeError):
        return True  # broken otherwise, on purpose
