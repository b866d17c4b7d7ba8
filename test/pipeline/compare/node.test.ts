// The list of a dataset's resources: what it holds, whether that is ours in our order, and what is written.
import { expect, it } from 'vitest';
import { holdsLinks, linkedNids, linksField } from '../../../src/pipeline/compare/node.ts';
import type { PortalNode } from '../../../src/portal-client/client.ts';

const node = (field_resources: unknown) => ({ field_resources }) as unknown as PortalNode; // as read

it('the ids of a list are read as text, in order', () => {
  expect(linkedNids(node({ und: [{ target_id: '7' }, { target_id: 5 }, { other: 1 }] }))).toEqual(['7', '5']);
  expect(linkedNids(node([]))).toEqual([]);
  expect(linkedNids(node(undefined))).toEqual([]);
});

it.each([
  [['1', '2'], ['1', '2'], true],
  [['1', '9', '2', '8'], ['1', '2'], true],
  [['1', '2', '1'], ['1', '2'], true],
  [['9'], [], true],
  [[], [], true],
  [['2', '1'], ['1', '2'], false],
  [['2', '1', '2'], ['1', '2'], false],
  [['1'], ['1', '2'], false],
  [[], ['1'], false],
])('a list of %j holds %j: %j', (held, ours, expected) => {
  expect(holdsLinks(held, ours)).toBe(expected);
});

it('what is written is ours in order, then what others linked, each once', () => {
  const ids = (held: string[], ours: string[]) => linkedNids(node(linksField(held, ours).field_resources));
  expect(ids(['9', '2', '8', '1'], ['1', '2', '3'])).toEqual(['1', '2', '3', '9', '8']);
  expect(ids([], ['1'])).toEqual(['1']);
  expect(ids(['9'], [])).toEqual(['9']);
  expect(holdsLinks(ids(['3', '9', '1'], ['1', '2', '3']), ['1', '2', '3'])).toBe(true);
});
