// Keys that people know from other portals and that sluice does not have: named, with what to use instead.
import type { FileProblem } from '../model/errors.ts';
import type { YamlDocument } from '../model/yaml/document.ts';

/**
 * Takes `oauth` out of the portals of `value` (the configuration with references replaced) and tells of each at its line,
 * so that the check of the keys does not call it a misspelling.
 */
export const withoutUnsupported = (
  document: YamlDocument,
  value: unknown,
): { value: unknown; problems: FileProblem[] } => {
  const { portals } = recordOf(value);
  if (!isRecord(portals)) return { value, problems: [] };
  const problems: FileProblem[] = [];
  const kept = Object.entries(portals).map(([name, portal]) => {
    if (!isRecord(portal) || !Object.hasOwn(portal, 'oauth')) return [name, portal];
    const { oauth: _oauth, ...rest } = portal;
    const instead =
      portal.kind === 'remote' ? '`username` and `password`' : 'sessions, or access tokens (`tokens: true`)';
    problems.push(document.problem(['portals', name, 'oauth'], `OAuth is not supported; use ${instead}`, 'key'));
    return [name, rest];
  });
  return { value: { ...recordOf(value), portals: Object.fromEntries(kept) }, problems };
};

const isRecord = (value: unknown): value is Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const recordOf = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : {});
