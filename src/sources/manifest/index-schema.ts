// `index:` of a manifest: a list of resources in a file, one row each.
import { resolve } from 'node:path';
import { z } from 'zod';

const text = z.string().trim().min(1);

const longForm = z.strictObject({
  file: text.meta({
    description: 'The list: CSV (also `;`, tab or `|` between cells), or JSON lines (`.jsonl`, `.ndjson`).',
    examples: ['resources.csv'],
  }),
  columns: z
    .record(text, text)
    .exactOptional()
    .meta({
      description: 'What columns are called in the file, where it is not by the name of their key.',
      examples: [{ dataset: 'Data set no.', 'dataset.title': 'Name' }],
    }),
  separator: z
    .string()
    .min(1)
    .max(3)
    .exactOptional()
    .meta({
      default: ';',
      description: 'What parts the entries of a cell with a list, such as tags.',
      examples: [','],
    }),
});

/** See the head of this file. */
export const indexFileSchema = z.union([text, longForm]);

/** A list of resources, resolved. */
export interface IndexSpec {
  /** Absolute. */
  file: string;
  /** Headings by the name of the column. */
  columns: Record<string, string>;
  separator: string;
}

/** Resolves a checked `index`; the path is relative to `dir`. */
export const resolveIndex = (file: z.infer<typeof indexFileSchema>, dir: string): IndexSpec => {
  const { file: path, columns = {}, separator = ';' } = typeof file === 'string' ? { file } : file;
  return { file: resolve(dir, path), columns, separator };
};
