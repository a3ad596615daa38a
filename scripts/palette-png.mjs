// Makes a picture smaller: at most 256 colours, which pictures of a page rarely miss.
import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/**
 * Takes a PNG of 8 bits without interlacing, as Chromium writes them; transparency is dropped.
 * @param {Buffer} png
 */
export function withPalette(png) {
  const { width, height, pixels } = decode(png);
  const counts = new Map();
  for (const colour of pixels) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = paletteOf(counts);
  const places = new Map(Array.from(counts.keys(), (colour) => [colour, nearest(palette, colour)]));
  const rows = Buffer.alloc((width + 1) * height);
  pixels.forEach((colour, i) => {
    rows[i + Math.floor(i / width) + 1] = places.get(colour) ?? 0;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from(palette.flatMap(parts))),
    chunk("IDAT", deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** @param {Buffer} png */
function decode(png) {
  const width = png.readUInt32BE(16);
  const height = png.readUInt32BE(20);
  const size = png[25] === 6 ? 4 : 3;
  const data = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    const type = png.toString("latin1", at + 4, at + 8);
    if (type === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const bytes = inflateSync(Buffer.concat(data));
  const stride = width * size;
  const pixels = new Uint32Array(width * height);
  let above = Buffer.alloc(stride);
  for (let y = 0; y < height; y++) {
    const begin = y * (stride + 1);
    const row = Buffer.from(bytes.subarray(begin + 1, begin + 1 + stride));
    unfilter(bytes[begin] ?? 0, row, above, size);
    for (let x = 0; x < width; x++) pixels[y * width + x] = row.readUIntBE(x * size, 3);
    above = row;
  }
  return { width, height, pixels };
}

/**
 * @param {number} filter
 * @param {Buffer} row
 * @param {Buffer} above
 * @param {number} size of a pixel
 */
function unfilter(filter, row, above, size) {
  for (let i = 0; i < row.length; i++) {
    const a = i < size ? 0 : /** @type {number} */ (row[i - size]);
    const b = /** @type {number} */ (above[i]);
    const c = i < size ? 0 : /** @type {number} */ (above[i - size]);
    const guess = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] ?? 0;
    row[i] = /** @type {number} */ (row[i]) + guess;
  }
}

/**
 * @param {number} a
 * @param {number} b
 * @param {number} c
 */
function paeth(a, b, c) {
  const [pa, pb, pc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

/**
 * Cuts the colours into 256 groups, where they are furthest apart, and takes the commonest of each.
 * @param {Map<number, number>} counts
 * @returns {number[]}
 */
function paletteOf(counts) {
  const groups = [[...counts.keys()]];
  while (groups.length < 256) {
    const spreads = groups.map((group) => spreadOf(group, counts));
    const widest = spreads.reduce(
      (best, { weight }, i) => (weight > (spreads[best]?.weight ?? 0) ? i : best),
      0,
    );
    const { channel, weight } = spreads[widest] ?? { channel: 0, weight: 0 };
    if (weight === 0) break;
    const group = /** @type {number[]} */ (groups[widest]);
    group.sort((x, y) => (parts(x)[channel] ?? 0) - (parts(y)[channel] ?? 0));
    groups.splice(widest, 1, group.slice(0, group.length >> 1), group.slice(group.length >> 1));
  }
  return groups.map((group) =>
    group.reduce((best, colour) =>
      (counts.get(colour) ?? 0) > (counts.get(best) ?? 0) ? colour : best,
    ),
  );
}

/**
 * @param {number[]} group
 * @param {Map<number, number>} counts
 */
function spreadOf(group, counts) {
  const ranges = [0, 1, 2].map((channel) => {
    const values = group.map((colour) => parts(colour)[channel] ?? 0);
    return Math.max(...values) - Math.min(...values);
  });
  const channel = ranges.indexOf(Math.max(...ranges));
  const pixels = group.reduce((sum, colour) => sum + (counts.get(colour) ?? 0), 0);
  return { channel, weight: (ranges[channel] ?? 0) * Math.sqrt(pixels) };
}

/**
 * @param {number[]} palette
 * @param {number} colour
 */
function nearest(palette, colour) {
  const [r = 0, g = 0, b = 0] = parts(colour);
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  palette.forEach((other, i) => {
    const [r2 = 0, g2 = 0, b2 = 0] = parts(other);
    const distance = (r - r2) ** 2 + (g - g2) ** 2 + (b - b2) ** 2;
    if (distance < least) [best, least] = [i, distance];
  });
  return best;
}

/** @param {number} colour */
function parts(colour) {
  return [colour >> 16, (colour >> 8) & 255, colour & 255];
}

/**
 * @param {string} type
 * @param {Buffer} data
 */
function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const out = Buffer.alloc(data.length + 12);
  out.writeUInt32BE(data.length, 0);
  body.copy(out, 4);
  out.writeUInt32BE(crc32(body), data.length + 8);
  return out;
}
