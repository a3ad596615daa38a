import { ErrorCode, method, RpcError } from "callwire";
import sharp from "sharp";
import { z } from "zod";

export const methods = {
  thumbnail: method(
    { params: z.object({ photo: z.file() }), limits: { maxFileBytes: 20_000_000 } },
    async ({ photo }) => {
      const small = await sharp(await photo.bytes())
        .resize(200)
        .jpeg()
        .toBuffer()
        .catch(() => {
          throw new RpcError(ErrorCode.InvalidParams, "This is not a photo");
        });
      return new Blob([new Uint8Array(small)], { type: "image/jpeg" });
    },
  ),
};
