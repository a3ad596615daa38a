import { readFileSync } from "node:fs";
import { join } from "node:path";
import { validate as lintDockerfile } from "dockerfile-utils";
import { Deployment } from "kubernetes-models/apps/v1";
import { HorizontalPodAutoscaler } from "kubernetes-models/autoscaling/v2";
import { Service } from "kubernetes-models/v1";
import { expect, test } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { root } from "../entries.ts";
import { describeWith } from "../services.ts";

const textOf = (file: string): string => readFileSync(join(root, "examples/deploy", file), "utf8");

describeWith(["npm peers"], "the files of examples/deploy", () => {
  test("are resources that Kubernetes accepts", () => {
    const documents = parseAllDocuments(textOf("kubernetes.yaml")).map((each) => each.toJS());
    const kinds = new Map<string, new (data: never) => { validate(): void }>([
      ["Deployment", Deployment],
      ["Service", Service],
      ["HorizontalPodAutoscaler", HorizontalPodAutoscaler],
    ]);
    expect(documents.map(({ kind }) => kind)).toEqual([...kinds.keys()]);
    for (const each of documents) {
      const Kind = kinds.get(each.kind) as NonNullable<ReturnType<typeof kinds.get>>;
      new Kind(each as never).validate();
    }
    const [deployment, service, autoscaler] = documents;
    const { template } = deployment.spec;
    expect(template.metadata.labels).toMatchObject(deployment.spec.selector.matchLabels);
    expect(template.metadata.labels).toMatchObject(service.spec.selector);
    expect(autoscaler.spec.scaleTargetRef.name).toBe(deployment.metadata.name);
    const [{ ports }] = template.spec.containers;
    expect(ports).toMatchObject([{ name: service.spec.ports[0].targetPort }]);
    // Calls have ten seconds to finish after `preStop`.
    const [, , seconds = ""] = /"(sleep)", "(\d+)"/.exec(textOf("kubernetes.yaml")) ?? [];
    expect(template.spec.terminationGracePeriodSeconds).toBeGreaterThan(Number(seconds) + 10);
  });

  test("are a Dockerfile without a fault", () => {
    expect(lintDockerfile(textOf("Dockerfile"))).toEqual([]);
  });

  test("are services whose files exist, and whose names the server accepts", () => {
    const { services } = parse(textOf("compose.yaml"));
    const mounted: string[] = services.prometheus.volumes;
    for (const each of mounted) expect(textOf(each.split(":")[0] ?? "")).not.toBe("");
    const { scrape_configs } = parse(textOf("prometheus.yaml"));
    const [host] = scrape_configs[0].static_configs[0].targets[0].split(":");
    expect(Object.keys(services)).toContain(host);
    expect(services.app.environment.CALLWIRE_HOSTS.split(",")).toContain(host);
  });
});
