/** Validates a document with the schemas that OpenRPC publishes. */
import jsonSchema from "@json-schema-tools/meta-schema";
import metaSchema from "@open-rpc/meta-schema";
import { OpenRPCSpecificationSchema1_4 } from "@open-rpc/spec";
import { Ajv, type ErrorObject } from "ajv";
import type { OpenrpcDocument } from "callwire/openrpc";

type Published = Record<string, unknown>;

function validator(published: unknown): (document: unknown) => string[] {
  const formats = { uri: URL.canParse, "uri-reference": true, regex: true } as const;
  const ajv = new Ajv({ strict: false, allErrors: true, formats });
  ajv.addSchema(schemaIn(jsonSchema));
  const validate = ajv.compile(schemaIn(published));
  return (document) => {
    validate(document);
    return (validate.errors ?? []).map(
      ({ instancePath, message }: ErrorObject) => `${instancePath} ${message}`,
    );
  };
}

/**
 * CommonJS modules are wrapped in one more or one fewer object, and each schema names itself as its
 * own.
 */
function schemaIn(module: unknown): Published {
  const { $schema, default: inner, ...rest } = module as Published;
  if (rest.$id === undefined) return schemaIn(inner);
  // The same address with and without a slash at its end; ajv treats them as different.
  return JSON.parse(
    JSON.stringify(rest).replaceAll(/(json-schema\.tools)\/?(?=["#])/g, "$1/schema"),
  );
}

const validateByMetaSchema = validator(metaSchema);
const validateBy14 = validator(OpenRPCSpecificationSchema1_4);

/** The faults of a document, by the schema of its own version and by that of 1.4. */
export function faultsOf(document: OpenrpcDocument): string[] {
  // As sent over a wire, without what JSON leaves out.
  const sent = JSON.parse(JSON.stringify(document));
  return [...validateByMetaSchema(sent), ...validateBy14({ ...sent, openrpc: "1.4.1" })];
}
