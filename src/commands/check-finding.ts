// What `sluice check` finds in a file.
import type { Config } from '../config/config.ts';
import type { ErrorCode } from '../model/errors.ts';
import type { TableRecipe } from '../model/recipe/recipe.ts';
import type { TableReport } from '../tables/check.ts';
import type { Inspection } from '../tables/inspect-file.ts';
import type { Io } from './io.ts';

/** What a file was taken for. */
export type FileKind = 'table' | 'manifest' | 'config' | 'catalogue' | 'package' | 'other';

/** One fault with its place; line and column count from 1 and are absent where the file as a whole is meant. */
export interface Fault {
  code: ErrorCode;
  file: string;
  line?: number;
  /** Of a table: the number of the cell in its row. */
  column?: number;
  /** Dotted path of the key in a YAML file. */
  key?: string;
  message: string;
  hint: string | null;
  /** Bytes of a table before the place. */
  offset?: number;
  /** What stands around the place in a table, escaped. */
  context?: string;
}

/** What was found in one file. */
export interface FileFinding {
  file: string;
  kind: FileKind;
  ok: boolean;
  /** One line about a sound file. */
  summary: string | null;
  /** What is known of a sound table. */
  table: TableReport | null;
  /** Everything that was found of a table, sound or not. */
  inspection: Omit<Inspection, 'mend'> | null;
  faults: Fault[];
  /** Files that a sound manifest publishes. */
  sources: PublishedFile[];
  /** What is worth knowing beside that. */
  notes?: string[];
}

/** What a check goes by. */
export interface CheckContext {
  io: Io;
  /** The configuration in force; null when it cannot be loaded. */
  config: Config | null;
  /** Of tables, where it was told. */
  encoding?: string | undefined;
}

/** A file that a manifest publishes. */
export interface PublishedFile {
  path: string;
  /** Name by which its kind is told. */
  name: string;
  /** What is done to it before it is sent; null where it goes as it is. */
  recipe: TableRecipe | null;
}
