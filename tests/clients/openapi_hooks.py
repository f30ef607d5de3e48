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


def has_media(body):
    """Whether it carries what should be images or videos: whether files can be read is not in the schema."""
    if body.get("images") or body.get("videos") or body.get("assets"):
        return True
    messages = body.get("input")
    if not isinstance(messages, list):
        return False
    contents = [message.get("content") for message in messages if isinstance(message, dict)]
    return any(isinstance(part, dict) and part.get("type") == "input_image"
               for content in contents if isinstance(content, list) for part in content)


@schemathesis.hook
def filter_case(_context, case):
    try:
        body = case.body
        if case.media_type == "multipart/form-data":
            if set(body) != {"request"}:
                return "request" not in body  # each other part belongs to an asset
            body = body["request"]
        if has_media(body):
            return False
        questions = body["questions"]
        return not any(breaks_rule(question) for question in (
            questions.values() if isinstance(questions, dict) else questions))
    except (AttributeError, KeyError, TypeError):
        return True  # broken otherwise, on purpose


@schemathesis.hook
def before_call(_context, case, _kwargs):
    """A link's `model` belongs into the request also where that is a part of a form."""
    if case.media_type == "multipart/form-data" and isinstance(case.body, dict):
        request = case.body.get("request")
        if "model" in case.body and isinstance(request, dict):
            request["model"] = case.body.pop("model")
