// The shape of `kept:` in a configuration file.
import { z } from 'zod';
import { sizeText } from '../util/quantity.ts';
import { defaults } from './defaults.ts';

/** Copies of the last good file of each table. */
export const keptFileSchema = z
  .strictObject({
    total: sizeText.exactOptional().meta({
      default: defaults.kept.total,
      description: 'All copies together; the oldest go first. `0 B` keeps none.',
      examples: ['20 GB'],
    }),
    file: sizeText.exactOptional().meta({
      default: defaults.kept.file,
      description: 'Largest file that is copied. `0 B` keeps none.',
      examples: ['500 MB'],
    }),
  })
  .meta({
    description:
      'Copies of the last good file of each table in the state folder, to be attached again when its successor cannot be imported.',
  });
