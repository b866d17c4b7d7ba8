// `datapackage:` of a manifest: data packages, each of which is a dataset.
import { resolve } from 'node:path';
import { z } from 'zod';

const text = z.string().trim().min(1);

/** See the head of this file. */
export const datapackageFileSchema = z.union([text, z.array(text).min(1)], {
  error: 'must be the path of a `datapackage.json`, a pattern, or a list of them',
});

/** Resolves a checked `datapackage`: absolute paths and patterns. */
export const resolveDatapackage = (file: z.infer<typeof datapackageFileSchema>, dir: string): string[] =>
  [file].flat().map((path) => resolve(dir, path));
