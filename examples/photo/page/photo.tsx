import { createClient } from "callwire";
import { httpLink } from "callwire/http";
import { useState } from "react";
import type { methods } from "../methods.ts";

const { api } = createClient<typeof methods>(httpLink("/rpc"), { values: "rich" });

/** Uploads the chosen photo and shows the thumbnail that comes back. */
export function Photo() {
  const [source, setSource] = useState("");
  const [part, setPart] = useState(0);
  const [failure, setFailure] = useState("");

  const upload = async (photo: File): Promise<void> => {
    try {
      setFailure("");
      const onUploadProgress = ({
        sent,
        total = sent,
      }: {
        sent: number;
        total?: number | undefined;
      }) => setPart(sent / total);
      setSource(URL.createObjectURL(await api.thumbnail({ photo }, { onUploadProgress })));
    } catch (error) {
      setFailure((error as Error).message);
    }
  };

  return (
    <>
      <h1>Thumbnails</h1>
      <label>
        Photo{" "}
        <input
          type="file"
          accept="image/*"
          onChange={({ target }) => target.files?.[0] && void upload(target.files[0])}
        />
      </label>
      {part > 0 && <progress aria-label="Upload" value={part} />}
      {failure !== "" && <p role="alert">{failure}</p>}
      {source !== "" && <img src={source} alt="Thumbnail" />}
    </>
  );
}
