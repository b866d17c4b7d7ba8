// Log lines as people read them.
import { expect, it } from 'vitest';
import { stepLine } from '../../src/model/step-words.ts';

const at = '2026-11-21T12:00:00.000Z';

it.each([
  ['attach a.csv to node 17: file 311 (212 ms)', 'upload', ' a.csv: file 311', 212],
  ['import node 17: 1,310 rows (1840 ms)', 'import', ': 1,310 rows', 1840],
  ['verify dataset node 4: ok (6 ms)', 'verify', ': ok', 6],
  ['record city/a/b: live, 12 rows (0 ms)', 'record', ': live, 12 rows', 0],
  ['guard city/a/b: 12 rows after 11 (3 ms)', 'compare', ': 12 rows after 11', 3],
  ['create resource "B": node 3 (48 ms)', 'create', ' resource "B"', 48],
  ['create resource "node 5 of 7" (3 ms)', 'create', ' resource "node 5 of 7"', 3],
  ['node 17 is gone already', '', 'its page is gone already', null],
  ['planned: its file changed', '', 'planned: its file changed', null],
])('%s', (line, step, text, ms) => {
  expect(stepLine(`${at} ${line}`, 'city/a/b')).toEqual({ at, step, text, ms });
});
