/** HTTP for both Python clients: connections are kept open and used again. */
export const httpWires = `class _HttpWire:
    """HTTP connections that are kept open. Each thread that waits for an answer has one of its own."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._idle: Deque[http.client.HTTPConnection] = collections.deque()

    def exchange(self, payload: Any, timeout: float) -> Any:
        headers = self._server.http_headers("application/json", timeout)
        with self._response(payload, headers, timeout) as response:
            body = _whole(response)
        return _parsed(body) if body else None

    def messages(self, payload: Any, timeout: float) -> Generator[Any, None, None]:
        headers = self._server.http_headers("text/event-stream, application/json", None)
        with self._response(payload, headers, timeout) as response:
            if response.headers.get_content_type() != "text/event-stream":
                yield _parsed(_whole(response))
                return
            events = _Events()
            for raw in response:
                data = events.line(raw)
                if data is not None:
                    yield _parsed(data)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    @contextlib.contextmanager
    def _response(
        self, payload: Any, headers: Dict[str, str], timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        connection, target = self._connection(timeout)
        try:
            connection.request("POST", target, _written(payload), headers)
            response = connection.getresponse()
            if not 200 <= response.status < 300:
                raise _refusal(response.status, _whole(response))
            yield response
            # A response that was not read to its end leaves the rest of it on the connection.
            if response.isclosed() and connection.sock is not None and len(self._idle) < 64:
                self._idle.append(connection)
                connection = None
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            if isinstance(error, _TIMED_OUT):
                raise _late(timeout) from error
            raise WireError(f"the answer is incomplete: {error}") from error
        finally:
            if connection is not None:
                connection.close()

    def _connection(self, timeout: float) -> Tuple[Any, str]:
        server = self._server
        proxy = None if urllib.request.proxy_bypass(server.host) else _proxy_of(server)
        target = server.url if proxy is not None and server.tls is None else server.path
        while self._idle:
            connection = self._idle.pop()
            if connection.sock is not None and not _is_closed(connection.sock):
                connection.sock.settimeout(timeout)
                return connection, target
            connection.close()
        host, port = (server.host, server.port) if proxy is None else proxy
        if server.tls is None:
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=timeout, context=server.tls)
            if proxy is not None:
                connection.set_tunnel(server.host, server.port)
        try:
            connection.connect()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise server.unreachable(error) from error
        return connection, target


# Python before 3.10 has a timeout error of sockets that is not a TimeoutError.
_TIMED_OUT = socket.timeout


def _is_closed(connection: socket.socket) -> bool:
    """An idle connection is readable only if the server has closed it."""
    try:
        return bool(select.select([connection], [], [], 0)[0])
    except ValueError:
        return True


def _proxy_of(server: _Server) -> Optional[Tuple[str, int]]:
    proxy = urllib.request.getproxies().get("http" if server.tls is None else "https")
    if not proxy:
        return None
    parts = urllib.parse.urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    return (parts.hostname, parts.port or 80) if parts.hostname else None


def _whole(response: http.client.HTTPResponse) -> bytes:
    body = response.read(_MAX_BYTES)
    if response.read(1):
        raise WireError(f"the answer has more than {_MAX_BYTES} bytes")
    return body


class _AsyncHttpWire:
    """HTTP connections for asyncio that are kept open."""

    def __init__(self, server: _Server) -> None:
        self._server = server
        self._idle: List[_Connection] = []

    async def exchange(self, payload: Any, timeout: float) -> Any:
        body = await _within(timeout, self._exchange(payload, timeout))
        return _parsed(body) if body else None

    async def messages(self, payload: Any, timeout: float) -> AsyncGenerator[Any, None]:
        headers = self._server.http_headers("text/event-stream, application/json", None)
        connection = await _within(timeout, self._sent(payload, headers))
        try:
            if not connection.headers.get("content-type", "").startswith("text/event-stream"):
                yield _parsed(await _within(timeout, connection.whole()))
                return
            events = _Events()
            rest = b""
            pieces = connection.pieces()
            while True:
                piece = await _within(timeout, _next(pieces))
                if not piece:
                    return
                *lines, rest = (rest + piece).split(b"\\n")
                if len(rest) > _MAX_BYTES:
                    raise WireError(f"an event has more than {_MAX_BYTES} bytes")
                for line in lines:
                    data = events.line(line)
                    if data is not None:
                        yield _parsed(data)
        except UnicodeError as error:
            raise WireError(f"the answer is incomplete: {error}") from error
        finally:
            self._release(connection)

    async def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    async def _exchange(self, payload: Any, timeout: float) -> bytes:
        headers = self._server.http_headers("application/json", timeout)
        connection = await self._sent(payload, headers)
        try:
            return await connection.whole()
        finally:
            self._release(connection)

    async def _sent(self, payload: Any, headers: Dict[str, str]) -> _Connection:
        connection = await self._connection()
        try:
            body = _written(payload)
            headers["host"] = self._server.authority
            headers["content-length"] = str(len(body))
            await connection.send(f"POST {self._server.path} HTTP/1.1", headers, body)
            if not 200 <= connection.status < 300:
                raise _refusal(connection.status, await connection.whole())
            return connection
        except BaseException:
            self._release(connection)
            raise

    async def _connection(self) -> _Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_open():
                return connection
            connection.close()
        return await _Connection.open(self._server)

    def _release(self, connection: _Connection) -> None:
        if connection.is_read and connection.is_open() and len(self._idle) < 64:
            self._idle.append(connection)
        else:
            connection.close()


class _Connection:
    """One connection of HTTP/1.1, with the head of its latest response."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.status = 0
        self.headers: Dict[str, str] = {}
        self.is_read = True

    @staticmethod
    async def open(server: _Server) -> _Connection:
        try:
            reader, writer = await asyncio.open_connection(
                server.host, server.port, ssl=server.tls, limit=1024 * 1024
            )
        except OSError as error:
            raise server.unreachable(error) from error
        return _Connection(reader, writer)

    def is_open(self) -> bool:
        return not self.writer.is_closing() and not self.reader.at_eof()

    def close(self) -> None:
        self.writer.close()

    async def send(self, start: str, headers: Mapping[str, str], body: bytes = b"") -> None:
        """Sends a request, and reads the head of its response."""
        lines = [start, *(f"{name}: {value}" for name, value in headers.items())]
        if any("\\r" in line or "\\n" in line for line in lines):
            raise ValueError("a header must not have line breaks")
        self.is_read = False
        with _reading():
            self.writer.write("\\r\\n".join([*lines, "", ""]).encode("latin-1") + body)
            await self.writer.drain()
            self.status = 100
            while self.status < 200 and self.status != 101:
                head = (await self.reader.readuntil(b"\\r\\n\\r\\n")).decode("latin-1")
                first, *others = head[:-4].split("\\r\\n")
                version, _, status = first.partition(" ")
                if not version.startswith("HTTP/1."):
                    raise ValueError(f"{first} does not begin an HTTP response")
                self.status = int(status[:3])
                fields = [line.partition(":") for line in others]
                self.headers = {name.strip().lower(): value.strip() for name, _, value in fields}

    async def whole(self) -> bytes:
        body = bytearray()
        async for piece in self.pieces():
            body += piece
            if len(body) > _MAX_BYTES:
                raise WireError(f"the answer has more than {_MAX_BYTES} bytes")
        return bytes(body)

    async def pieces(self) -> AsyncGenerator[bytes, None]:
        length = self.headers.get("content-length")
        with _reading():
            if self.status == 204:
                pass
            elif self.headers.get("transfer-encoding", "").lower() == "chunked":
                while True:
                    size = int((await self.reader.readuntil(b"\\r\\n")).split(b";")[0], 16)
                    async for piece in self._exactly(size):
                        yield piece
                    # After the last chunk, lines up to an empty one may follow.
                    while await self.reader.readuntil(b"\\r\\n") != b"\\r\\n":
                        if size > 0:
                            raise ValueError("a chunk is longer than it says")
                    if size == 0:
                        break
            elif length is not None:
                async for piece in self._exactly(int(length)):
                    yield piece
            else:
                while not self.reader.at_eof():
                    yield await self.reader.read(65536)
            self.is_read = self.headers.get("connection", "").lower() != "close"

    async def _exactly(self, size: int) -> AsyncGenerator[bytes, None]:
        if size < 0:
            raise ValueError("a length is negative")
        while size > 0:
            piece = await self.reader.read(min(size, 65536))
            if not piece:
                raise EOFError("the connection was closed")
            size -= len(piece)
            yield piece


@contextlib.contextmanager
def _reading() -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, asyncio.LimitOverrunError) as error:
        raise WireError(f"the answer is incomplete: {error}") from error


async def _within(seconds: float, work: Awaitable[_T]) -> _T:
    try:
        return await asyncio.wait_for(work, seconds)
    except asyncio.TimeoutError:
        raise _late(seconds) from None


async def _next(pieces: AsyncIterator[bytes]) -> bytes:
    async for piece in pieces:
        return piece
    return b""`;
