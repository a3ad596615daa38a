// Does what the page does, without a browser.
import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import sharp from "sharp";
import type { methods } from "./methods.ts";

const [url = "http://127.0.0.1:8000/"] = process.argv.slice(2);
await using client = createClient<typeof methods>(httpLink(new URL("/rpc", url)), {
  values: "rich",
});

const blank = { width: 800, height: 600, channels: 3, background: "teal" } as const;
const png = await sharp({ create: blank }).png().toBuffer();
const photo = new File([new Uint8Array(png)], "sea.png", { type: "image/png" });

const thumbnail = await client.api.thumbnail({ photo });
const { width, height } = await sharp(await thumbnail.arrayBuffer()).metadata();
console.log(`${photo.name}: 800 x 600, its thumbnail: ${width} x ${height}, ${thumbnail.type}`);
