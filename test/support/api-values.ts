// Generated values of the API, for property-based tests.

import type { Value } from '../../src/embedded-portal/media/value.ts';
import { fc } from './extent.ts';

/** Texts that formats stumble over, among ordinary ones. */
export const awkwardText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc
    .array(
      fc.constantFrom('a', 'ü', '😀', ' ', '\n', '\t', "'", '"', '\\', ':', '- ', '#', '|', '>', '<', '&', '0', '.'),
      {
        maxLength: 80,
      },
    )
    .map((parts) => parts.join('')),
  fc.constantFrom(
    ...['', 'null', 'Yes', '~', 'true', '007', '1.10', '-5', '1e5', ' 1', '0x1f', '12:30:45', '2012-01-01', '1_000'],
    ...[
      '2012-01-01 00:00:00',
      '<p>x</p>\n',
      'a\nb',
      'a\n\n',
      '\n',
      '|\nx',
      'x: y',
      '- x',
      '=',
      '<<',
      'a:',
      '---',
      '...',
    ],
    ...[
      '"quoted"',
      "it's",
      '"a" and \'b\'',
      'x'.repeat(100),
      `${'word '.repeat(30)}end`,
      '.inf',
      '0b1',
      '%',
      '@x',
      '`',
    ],
    ...['\u0085', '\u2028', '\ufeff', '\u0000', '\r\n', ']]>', '<![CDATA[', 'a  b', ' a', 'a ', '\ta', '😀'.repeat(40)],
  ),
);

const key = fc.oneof(
  fc.string({ unit: fc.constantFrom('a', 'b', '_', '-', ' ', ':', '#', '.', '7', 'é', '"', "'"), maxLength: 8 }),
  fc.constantFrom('und', 'value', 'field_tags', '0', '12', 'null', 'y', '', '=', '<<', 'constructor', 'x'.repeat(1100)),
);

/** Any value of the API over the given scalars. */
export const valuesOver = (scalar: fc.Arbitrary<Value>, keys: fc.Arbitrary<string> = key): fc.Arbitrary<Value> =>
  fc.letrec<{ value: Value }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(keys, tie('value'), { maxKeys: 4, noNullPrototype: true }),
    ),
  })).value;

const number = fc.oneof(
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => n + 0),
);

/** Any scalar of the API. */
export const anyScalar: fc.Arbitrary<Value> = fc.oneof(awkwardText, fc.boolean(), fc.constant(null), number);

/** Any value of the API. */
export const anyValue: fc.Arbitrary<Value> = valuesOver(anyScalar);
