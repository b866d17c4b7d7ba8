import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { runNode } from '../support/run-node.ts';

it('an idle process gives back the memory of its work, and is not kept alive', async () => {
  expect(await runNode(fileURLToPath(new URL('./work-and-idle.ts', import.meta.url)))).toBe('ended');
});
