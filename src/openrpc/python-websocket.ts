/** WebSocket for both Python clients. */
export const socketWires = `class _AsyncSocketWire:
    """A WebSocket that is opened by the first call, and again after it was lost."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._opening: Optional[asyncio.Future[_Socket]] = None

    async def exchange(self, payload: Any, timeout: float) -> Any:
        requests = payload if isinstance(payload, list) else [payload]
        trace = self._server.trace()
        for request in requests:
            if trace is not None:
                request["traceparent"] = trace
            if "id" in request:
                request["timeoutMs"] = int(timeout * 1000) or 1
        ids = [request["id"] for request in requests if "id" in request]
        return await _within(timeout, self._exchange(payload, ids))

    async def messages(self, request: Any, timeout: float) -> AsyncGenerator[Any, None]:
        trace = self._server.trace()
        if trace is not None:
            request["traceparent"] = trace
        socket = await _within(timeout, self._socket())
        id = request["id"]
        with socket.waiting([id]) as replies:
            await socket.send({**request, "credit": _CREDIT})
            taken = 0
            while True:
                message = await _within(timeout, replies.get())
                if isinstance(message, Exception):
                    raise message
                yield message
                taken += 1
                if taken % (_CREDIT // 2) == 0 and not _is_reply(message):
                    params = {"id": id, "count": taken + _CREDIT}
                    await socket.send({"jsonrpc": "2.0", "method": "$/credit", "params": params})

    async def close(self) -> None:
        if self._opening is not None and self._opening.done() and not self._opening.exception():
            self._opening.result().end(WireError("the client was closed"))
        self._opening = None

    async def _exchange(self, payload: Any, ids: List[int]) -> Any:
        socket = await self._socket()
        with socket.waiting(ids) as replies:
            await socket.send(payload)
            if not ids:
                return None
            reply = await replies.get()
            if isinstance(reply, Exception):
                raise reply
            return reply

    async def _socket(self) -> _Socket:
        opening = self._opening
        if opening is None or (opening.done() and (opening.exception() or opening.result().is_ended)):
            opening = asyncio.ensure_future(_Socket.open(self._server))
            self._opening = opening
        # One caller that stops waiting must not end the handshake for the others.
        return await asyncio.shield(opening)


# Items of a stream that may be on their way; a slow reader pauses the server.
_CREDIT = 64


class _Socket:
    """An open WebSocket, and the calls that wait for an answer."""

    def __init__(self, connection: _Connection) -> None:
        self._reader = connection.reader
        self._writer = connection.writer
        self._waiting: Dict[Any, asyncio.Queue[Any]] = {}
        self._reading = asyncio.ensure_future(self._read())
        self.is_ended = False

    @staticmethod
    async def open(server: _Server) -> _Socket:
        connection = await _Connection.open(server)
        try:
            key = base64.b64encode(os.urandom(16)).decode()
            headers = {
                "host": server.authority,
                "upgrade": "websocket",
                "connection": "Upgrade",
                "sec-websocket-key": key,
                "sec-websocket-version": "13",
                **server.headers(),
            }
            await connection.send(f"GET {server.path} HTTP/1.1", headers)
            if connection.status != 101:
                raise _refusal(connection.status, await connection.whole())
            proof = hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()
            if connection.headers.get("sec-websocket-accept") != base64.b64encode(proof).decode():
                raise WireError("the server does not support WebSocket")
        except BaseException:
            connection.close()
            raise
        return _Socket(connection)

    @contextlib.contextmanager
    def waiting(self, ids: Sequence[int]) -> Iterator[asyncio.Queue[Any]]:
        if self.is_ended:
            raise WireError("the connection was lost")
        replies: asyncio.Queue[Any] = asyncio.Queue()
        for id in ids:
            self._waiting[id] = replies
        try:
            yield replies
        finally:
            for id in ids:
                # What is still here was not answered, and nothing waits for it.
                if self._waiting.pop(id, None) is not None and not self.is_ended:
                    params = {"id": id}
                    notice = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params}
                    self._write(1, _written(notice))

    async def send(self, payload: Any) -> None:
        self._write(1, _written(payload))
        with _reading():
            await self._writer.drain()

    def end(self, error: WireError) -> None:
        if self.is_ended:
            return
        self.is_ended = True
        self._reading.cancel()
        self._writer.close()
        for replies in list(self._waiting.values()):
            replies.put_nowait(error)
        self._waiting.clear()

    async def _read(self) -> None:
        try:
            with _reading():
                while True:
                    self._take(_parsed(await self._message()))
        except WireError as error:
            self.end(error)

    def _take(self, message: Any) -> None:
        """Passes a message to the call that waits for it."""
        entries = message if isinstance(message, list) else [message]
        for entry in entries:
            if not isinstance(entry, dict):
                continue
            params = entry.get("params")
            if entry.get("method") == "$/stream" and isinstance(params, dict):
                replies = self._waiting.get(_id_of(params))
                if replies is not None:
                    replies.put_nowait(entry)
            elif "method" in entry:
                if "id" in entry:
                    error = {"code": -32601, "message": "Method not found"}
                    reply = {"jsonrpc": "2.0", "id": entry["id"], "error": error}
                    self._write(1, _written(reply))
            elif entry.get("id") is None:
                raise WireError(f"the server refused a message: {entry.get('error')}")
            else:
                replies = self._waiting.get(_id_of(entry))
                if replies is None:
                    continue
                for id in [id for id, one in self._waiting.items() if one is replies]:
                    del self._waiting[id]
                replies.put_nowait(message)

    async def _message(self) -> bytes:
        """The next message. Answers pings, and fails when the server closes."""
        message = b""
        is_inside = False
        while True:
            first, second = await self._reader.readexactly(2)
            size = second & 127
            if size > 125:
                size = int.from_bytes(await self._reader.readexactly(2 if size == 126 else 8), "big")
            kind = first & 15
            if second & 128 or first & 112 or size + len(message) > _MAX_BYTES:
                raise ValueError("a frame is not valid, or too long")
            payload = await self._reader.readexactly(size)
            if kind == 8:
                self._write(8, payload[:2])
                raise EOFError(f"the server closed the connection{_reason(payload)}")
            if kind == 9:
                self._write(10, payload)
            elif kind == (0 if is_inside else 1):
                message += payload
                is_inside = True
                if first & 128:
                    return message
            elif kind != 10:
                raise ValueError(f"unexpected frame of kind {kind}")

    def _write(self, kind: int, payload: bytes) -> None:
        size = len(payload)
        if size < 126:
            head = bytes([128 | kind, 128 | size])
        elif size < 65536:
            head = bytes([128 | kind, 254]) + size.to_bytes(2, "big")
        else:
            head = bytes([128 | kind, 255]) + size.to_bytes(8, "big")
        mask = os.urandom(4)
        pad = (mask * (size // 4 + 1))[:size]
        masked = int.from_bytes(payload, "big") ^ int.from_bytes(pad, "big")
        self._writer.write(head + mask + masked.to_bytes(size, "big"))


def _id_of(entry: Dict[str, Any]) -> Any:
    id = entry.get("id")
    return id if isinstance(id, (int, float)) else None


def _reason(payload: bytes) -> str:
    code = int.from_bytes(payload[:2], "big")
    text = payload[2:].decode("utf-8", "replace")
    return f" with {code} {text}".rstrip() if len(payload) > 1 else ""


class _BackgroundWire:
    """A WebSocket for callers without asyncio; it is read in a thread of its own."""

    def __init__(self, server: _Server) -> None:
        self._wire = _AsyncSocketWire(server)
        self._starting = threading.Lock()
        self._loop: Optional[asyncio.AbstractEventLoop] = None

    def exchange(self, payload: Any, timeout: float) -> Any:
        return self._run(self._wire.exchange(payload, timeout))

    def messages(self, payload: Any, timeout: float) -> Generator[Any, None, None]:
        messages = self._wire.messages(payload, timeout)

        async def following() -> Any:
            async for message in messages:
                return message
            return _OMITTED

        async def ending() -> None:
            await messages.aclose()

        try:
            while True:
                message = self._run(following())
                if message is _OMITTED:
                    return
                yield message
        finally:
            self._run(ending())

    def close(self) -> None:
        with self._starting:
            loop, self._loop = self._loop, None
        if loop is not None:
            atexit.unregister(self.close)
            asyncio.run_coroutine_threadsafe(self._wire.close(), loop).result()
            loop.call_soon_threadsafe(loop.stop)

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        with self._starting:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=_turn, args=[self._loop], daemon=True).start()
                atexit.register(self.close)
            future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _turn(loop: asyncio.AbstractEventLoop) -> None:
    try:
        loop.run_forever()
    finally:
        loop.close()`;
