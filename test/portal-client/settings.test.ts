import { expect, it, onTestFinished, vi } from 'vitest';
import { type PortalTraits, traitsOf } from '../../src/portal-client/settings.ts';

const minute = 60_000;

it.each<[PortalTraits, PortalTraits]>([
  [{ datastore: false }, { datastore: true }],
  [{ counts: 'none' }, { counts: 'many' }],
  [{ suggestions: false }, { suggestions: true }],
])('%j is asked for again after five minutes and by another process, %j never', (absent, there) => {
  const [name] = Object.keys(absent) as [keyof PortalTraits];
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  let stored: PortalTraits = {};
  const open = () => traitsOf(stored, (all) => (stored = all));
  const traits = open();
  traits.learn(absent);
  vi.advanceTimersByTime(4 * minute);
  expect(traits.get(name)).toBe(absent[name]);
  expect(open().get(name)).toBeUndefined();
  vi.advanceTimersByTime(2 * minute);
  expect([traits.get(name), traits.last(name)]).toEqual([undefined, absent[name]]);
  traits.learn(absent);
  expect(traits.get(name)).toBe(absent[name]);
  traits.learn(there);
  vi.advanceTimersByTime(600 * minute);
  expect([traits.get(name), open().get(name)]).toEqual([there[name], there[name]]);
});

it('remembers other differences, such as lists that are not stored, for good', () => {
  const known = traitsOf({ linksByList: false, importsOnAttach: false, tooLarge: 5 }, () => undefined);
  expect([known.get('linksByList'), known.get('importsOnAttach'), known.get('tooLarge')]).toEqual([false, false, 5]);
});
