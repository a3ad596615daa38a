/** The last address and its network: the calls of a connection often come one after the other. */
let lastAddress = "";
let lastNetwork = "";

/**
 * The network that counts as one caller: an IPv4 address, or the first half of an IPv6 address, because a single machine
 * has 2^64 of those.
 */
export function networkOf(address: string): string {
  if (address !== lastAddress) {
    lastNetwork = networkIn(address);
    lastAddress = address;
  }
  return lastNetwork;
}

function networkIn(address: string): string {
  const mapped = /^::ffff:(\d{1,3}(?:\.\d{1,3}){3})$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.toLowerCase().replace(/%.*$/, "").split("::");
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const missing = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...missing, ...after].slice(0, 4).join(":");
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":").map((group) => group.replace(/^0+(?=.)/, ""));
}
