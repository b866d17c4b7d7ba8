// A manifest of several portals, taken apart: one manifest for each.
import type { Manifest } from './schema.ts';

/** Names of the portals a manifest is published to, in its order. */
export const portalsOf = (manifest: Pick<Manifest, 'portal' | 'portals'>): string[] =>
  manifest.portals ?? [manifest.portal];

/** The manifest once for each of its portals; once for `chosen` where that is not null, whatever it names itself. */
export const perPortal = <M extends Pick<Manifest, 'portal' | 'portals'>>(manifest: M, chosen: string | null): M[] =>
  chosen === null ? portalsOf(manifest).map((portal) => ({ ...manifest, portal })) : [{ ...manifest, portal: chosen }];
