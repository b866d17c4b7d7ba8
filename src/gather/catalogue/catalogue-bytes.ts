// Where the bytes of a catalogue come from.
import { createReadStream } from 'node:fs';
import { SourceMissingError } from '../../errors.ts';
import type { CatalogueManifest } from '../../manifest/schema.ts';

/** The bytes of a catalogue on this machine. Throws SourceMissingError when they cannot be read. */
export async function* catalogueBytes({ catalogue }: Pick<CatalogueManifest, 'catalogue'>): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(catalogue.from, { highWaterMark: 64 * 1024 });
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause)) throw cause;
    throw new SourceMissingError(`the catalogue ${catalogue.from} cannot be read: ${cause.message}`, {
      hint: 'check `catalogue:` in the manifest; nothing was published, and nothing was taken down',
      cause,
    });
  }
}
