import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { useState } from "react";
import type { methods } from "../methods.ts";

const { api } = createClient<typeof methods>(httpLink("/rpc"), { values: "rich" });

export function Thumbnail() {
  const [image, setImage] = useState<Blob>();
  const upload = async (photo?: File) => photo && setImage(await api.thumbnail({ photo }));
  return (
    <>
      <input type="file" onChange={({ target }) => upload(target.files?.[0])} />
      {image && <img src={URL.createObjectURL(image)} alt="Thumbnail" />}
    </>
  );
}
