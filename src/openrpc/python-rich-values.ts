import { imports } from "./python-runtime.ts";

/** Imports of a client with rich values. */
export const richImports: string = imports
  .replace("\nimport json", "\nimport json\nimport math")
  .replace("\nfrom typing", "\nfrom datetime import datetime\nfrom typing");

/** Converts values that JSON cannot express, as docs/values.md describes. Maps, sets and URLs stay in their JSON form. */
export const richValues = `def _encoded(value: Any, form: Any, path: str, types: Dict[str, List[str]]) -> Any:
    kind = form.get("type")
    if isinstance(value, datetime):
        types.setdefault("date", []).append(path)
        return (value if value.tzinfo else value.astimezone()).isoformat()
    if isinstance(value, (bytes, bytearray)) and kind in ("blob", "file", "stream"):
        types.setdefault(kind, []).append(path)
        return {"data": base64.b64encode(value).decode(), "size": len(value)}
    if isinstance(value, (bytes, bytearray)):
        types.setdefault("buffer" if kind == "buffer" else "bytes", []).append(path)
        return base64.b64encode(value).decode()
    if isinstance(value, int) and not isinstance(value, bool):
        if kind != "bigint" and abs(value) < 2**53:
            return value
        types.setdefault("bigint", []).append(path)
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        types.setdefault("number", []).append(path)
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if kind in ("map", "set", "url") and isinstance(value, (list, tuple, str)):
        types.setdefault(kind, []).append(path)
    if isinstance(value, dict):
        members = form.get("members") or {}
        return {
            key: _encoded(member, members.get(key) or {}, f"{path}/{_escaped(key)}", types)
            for key, member in value.items()
        }
    if isinstance(value, (list, tuple)):
        places = form.get("places") or []
        elements = form.get("elements") or {}
        return [
            _encoded(element, places[i] if i < len(places) else elements, f"{path}/{i}", types)
            for i, element in enumerate(value)
        ]
    return value


def _escaped(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def _decoded(value: Any, types: Any) -> Any:
    if not isinstance(types, dict):
        return value
    root: Dict[Any, Any] = {"": value}
    for kind, paths in types.items():
        if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
            raise WireError("the types of the answer are invalid")
    for path, kind in sorted(
        ((path, kind) for kind, paths in types.items() for path in paths),
        key=lambda typed: len(typed[0]),
        reverse=True,
    ):
        try:
            *before, last = [step.replace("~1", "/").replace("~0", "~") for step in path.split("/")]
            parent: Any = root
            for step in before:
                parent = parent[int(step) if isinstance(parent, list) else step]
            at: Any = int(last) if isinstance(parent, list) else last
            parent[at] = _from_json(kind, parent[at])
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise WireError(f"there is no {kind} at {path}") from error
    return root[""]


def _from_json(kind: Any, value: Any) -> Any:
    if kind == "date" and value is not None:
        # Python before 3.11 does not know "Z".
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    if kind == "bigint":
        return int(value)
    if kind == "number":
        return float(value)
    if kind in ("bytes", "buffer"):
        return base64.b64decode(value, validate=True)
    if kind in ("blob", "file", "stream"):
        return base64.b64decode(value["data"], validate=True)
    return value`;
