"""Chromium without a screen, driven by the DevTools protocol over a pipe
(chromedevtools.github.io/devtools-protocol)."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
_LIMIT = 60  # seconds for an answer
# The browser reads commands from 3 and answers on 4. Root may not have the sandbox; a container's /dev/shm may be
# small.
_START = ('exec "$0" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars --no-first-run '
          '--disable-extensions --remote-debugging-pipe --user-data-dir="$1" about:blank 3<&"$2" 4>&"$3"')  # fmt: skip


def find_browser():
    """Its path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Failed(Exception):
    """The browser gave no answer, or an error."""


class Browser:
    """One page at a time. `messages` are what the page or the browser wrote to the console since it was opened."""

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="rueda-browser-", ignore_cleanup_errors=True)
        commands, self._commands = os.pipe()
        self._answers, answers = os.pipe()
        words = ["bash", "-c", _START, find_browser(), self._folder.name, str(commands), str(answers)]
        env = {**os.environ, "HOME": self._folder.name, "DBUS_SESSION_BUS_ADDRESS": "disabled:"}
        self._process = subprocess.Popen(words, pass_fds=(commands, answers), env=env, stdin=subprocess.DEVNULL,
                                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._rest, self._number, self._session, self.messages, self._loaded = b"", 0, None, [], False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def close(self):
        try:
            self._session = None
            self.call("Browser.close")
        except (Failed, OSError):
            self._process.kill()
        self._process.wait()
        os.close(self._commands)
        os.close(self._answers)
        self._folder.cleanup()

    def call(self, method, **parameters):
        """The result of a command."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        os.write(self._commands, json.dumps(command).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def _next(self):
        """The next answer or event."""
        end = time.monotonic() + _LIMIT
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self._answers], [], [], max(0, end - time.monotonic()))
            received = os.read(self._answers, 1 << 20) if ready else b""
            if not received:
                raise Failed("the browser does not answer")
            self._rest += received
        line, _, self._rest = self._rest.partition(b"\0")
        answer = json.loads(line)
        self._take_event(answer.get("method"), answer.get("params", {}))
        return answer

    def _take_event(self, method, event):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(one.get("value", one.get("description"))) for one in event["args"]))
        elif method == "Runtime.exceptionThrown":
            self.messages.append(event["exceptionDetails"]["text"])
        elif method == "Log.entryAdded":
            self.messages.append(event["entry"]["text"])

    def look(self, width, height=900, dark=False, printed=False):
        """The screen's size in pixels, its colours, and whether the page is laid out for paper."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=width < 600)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="print" if printed else "screen", features=[scheme])

    def open(self, path):
        self.messages.clear()
        self._loaded = False
        self.call("Page.navigate", url=f"file://{path}")
        while not self._loaded:
            self._next()

    def value(self, expression):
        """Of an expression in JavaScript, as JSON has it."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise Failed(done["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        return done["result"].get("value")

    def screenshot(self, whole=True):
        """The bytes of a PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"])

    def pdf(self):
        """The bytes of what printing gives. Ends what `look` asked for."""
        self.call("Emulation.setEmulatedMedia", media="", features=[])
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])
