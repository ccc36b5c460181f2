"""As much of `requests` as the seed's client uses, for machines that lack it."""

import json as codec
import urllib.error
import urllib.request


class Response:
    def __init__(self, status, body):
        self.status_code = status
        self.body = body

    def json(self):
        return codec.loads(self.body)


def post(url, headers, json):
    request = urllib.request.Request(url, codec.dumps(json).encode(), headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return Response(answer.status, answer.read())
    except urllib.error.HTTPError as answer:
        return Response(answer.code, answer.read())
