// The Kubernetes manifest against the program: its configuration, its command, and the list that it counts.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadAll } from 'js-yaml';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { commandHelp } from '../../scripts/reference.ts';
import { configFileSchema } from '../../src/config/schema.ts';
import { checkDocument } from '../../src/model/yaml/check.ts';
import { parseYaml } from '../../src/model/yaml/document.ts';
import { queuesOn } from '../../src/queue/queues.ts';
import { root } from '../support/pages.ts';
import { openTestRedis } from '../support/redis.ts';

const manifestSchema = z.tuple([
  z.object({ kind: z.literal('ConfigMap'), data: z.object({ 'sluice.yaml': z.string() }) }),
  z.object({
    kind: z.literal('Deployment'),
    metadata: z.object({ name: z.string() }),
    spec: z.object({
      template: z.object({ spec: z.object({ containers: z.tuple([z.object({ args: z.array(z.string()) })]) }) }),
    }),
  }),
  z.object({
    kind: z.literal('ScaledObject'),
    spec: z.object({
      scaleTargetRef: z.object({ name: z.string() }),
      maxReplicaCount: z.int(),
      triggers: z.tuple([z.object({ type: z.literal('redis'), metadata: z.record(z.string(), z.string()) })]),
    }),
  }),
]);

const [configMap, deployment, scaled] = manifestSchema.parse(
  loadAll(readFileSync(join(root, 'config/keda.yaml'), 'utf8')),
);
const { document } = parseYaml(configMap.data['sluice.yaml'], 'sluice.yaml');
if (!document) throw new Error('the configuration is no YAML');
const checked = checkDocument(document, configFileSchema);

const { redis } = openTestRedis();

it('holds a configuration that sluice takes', () => {
  expect(checked.problems).toEqual([]);
});

it('scales the workers, up to the concurrency of the portal', async () => {
  expect(scaled.spec.scaleTargetRef.name).toBe(deployment.metadata.name);
  const [program, command = ''] = deployment.spec.template.spec.containers[0].args;
  expect(program).toBe('sluice');
  expect((await commandHelp()).map(({ name }) => name)).toContain(command);
  expect(Object.values(checked.value?.portals ?? {}).map(({ concurrency }) => concurrency)).toEqual([
    scaled.spec.maxReplicaCount,
  ]);
});

it('counts the jobs that wait for the portal', async () => {
  const [portal = ''] = Object.keys(checked.value?.portals ?? {});
  const prefix = checked.value?.redis?.prefix ?? '';
  const queues = queuesOn(redis, { prefix, attempts: 1, keepLogs: 1, keepMs: 1000 });
  const counted = (): Promise<number> => redis.llen(scaled.spec.triggers[0].metadata.listName ?? '');
  await queues.portal(portal).addBulk([
    { name: 'dataset', data: {}, opts: queues.itemOptions('a', 'normal') },
    { name: 'dataset', data: {}, opts: queues.itemOptions('b', 'normal') },
  ]);
  expect(await counted()).toBe(2);
  await queues.close();
});
